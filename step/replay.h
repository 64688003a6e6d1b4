/*
 * The replay of one training step's communication (the meaning of each item: traffic.h). Every call
 * but replay_free is collective over the communicators' world.
 */
#ifndef BERTH_REPLAY_H
#define BERTH_REPLAY_H

#include "berth_mpi.h"
#include "traffic.h"

#define REPLAY_BYTES_MAX 2147483644.0 /* of one item, per rank: MPI counts are int */
#define REPLAY_COUNT_MAX 1e6          /* operations of one item in a step */

struct replay;

/*
 * Allocates all that the steps need. `mesh`, `traffic` and `comms` must outlive it. BERTH_EINPUT
 * for an item too large to replay. Not collective: callers agree on failure themselves.
 */
struct replay *replay_new(const struct berth_mesh *mesh, const struct traffic *traffic,
                          const struct berth_mpi *comms, struct berth_error *err);
void replay_free(struct replay *replay);

/* Runs each item once on real numbers, with its additions, and verifies every element. */
int replay_check(struct replay *replay, struct berth_error *err);

/* One step; adds nothing, allocates nothing. seconds[i]: what this rank spent in item i. */
void replay_step(struct replay *replay, double *seconds);

#endif
