/*
 * libberth-mpi: communicators per axis over MPI, in the map's ring order. It runs everything that a
 * GPU job would do with its NCCL communicators on nodes without GPUs.
 *
 *     struct berth_mpi *comms = berth_mpi_create(map, MPI_COMM_WORLD, &err);
 *     MPI_Comm dp = berth_mpi_axis(comms, berth_map_axis(map, "dp"));   // rank in dp == coordinate
 */
#ifndef BERTH_MPI_H
#define BERTH_MPI_H

#include "berth.h"
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct berth_mpi;

/*
 * Collective over `parent`, whose size must be the map's world. Each process takes its rank in the
 * map from $BERTH_RANK, else its rank in parent. All processes compare their map's hash, world and
 * rank first: on any disagreement every process returns NULL with the same sentence, which names
 * the first process that differs, and no communicator is left behind.
 */
BERTH_PUBLIC struct berth_mpi *berth_mpi_create(const struct berth_map *map, MPI_Comm parent,
                                                struct berth_error *err);
BERTH_PUBLIC void berth_mpi_free(struct berth_mpi *comms); /* collective */

BERTH_PUBLIC int berth_mpi_rank(const struct berth_mpi *comms); /* this process's rank in the map */
/* All ranks, ordered by their rank in the map. */
BERTH_PUBLIC MPI_Comm berth_mpi_world(const struct berth_mpi *comms);
/* My group of an axis, ordered by coordinate; MPI_COMM_NULL for an axis the map does not have. */
BERTH_PUBLIC MPI_Comm berth_mpi_axis(const struct berth_mpi *comms, int axis);

#ifdef __cplusplus
}
#endif
#endif
