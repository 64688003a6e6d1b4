/*
 * Moving buffers to and from neighbours, whole or cut into messages that are all under way at once.
 * Waiting sleeps between looks: on a test cluster many ranks share few cores, and one that spins
 * takes the time that another needs to keep its link busy.
 */
#ifndef BERTH_TRANSFER_H
#define BERTH_TRANSFER_H

#include <mpi.h>
#include <stddef.h>

/*
 * A message that fits Open MPI's eager limit for TCP, 64 KiB with its header, needs no handshake:
 * on a loaded link a handshake waits behind the data of the other direction. So rates are measured
 * in these.
 */
#define TRANSFER_EAGER 61440

struct transfer {
    MPI_Comm comm;
    MPI_Request *requests; /* the caller's, with room for all messages between two waits */
    int n;
    size_t message; /* bytes, at most; INT_MAX at most */
};

/* Messages of a buffer. */
static inline size_t transfer_messages(const struct transfer *t, size_t bytes)
{
    return (bytes + t->message - 1) / t->message;
}

void transfer_receive(struct transfer *t, void *in, size_t bytes, int from, int tag);
void transfer_send(struct transfer *t, const void *out, size_t bytes, int to, int tag);
void transfer_barrier(MPI_Comm comm);
void transfer_wait(struct transfer *t); /* until all have arrived and `out` may be written again */

#endif
