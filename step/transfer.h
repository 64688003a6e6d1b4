/*
 * Moving buffers to and from neighbours in slices, all of them under way at once. NCCL's rings do
 * the same (8 slices of a chunk in flight per channel), and a slice that fits MPI's eager limit
 * needs no handshake: on a loaded link a handshake waits behind the data of the other direction,
 * which costs whole chunks up to a third of the rate, the shorter the more.
 */
#ifndef BERTH_TRANSFER_H
#define BERTH_TRANSFER_H

#include <mpi.h>
#include <stddef.h>

#define TRANSFER_SLICE \
    61440 /* bytes; under Open MPI's eager limit for TCP, 64 KiB with its header */

struct transfer {
    MPI_Comm comm;
    MPI_Request *requests; /* the caller's, with room for all slices between two waits */
    int n;
};

/* Slices of a buffer. */
static inline size_t transfer_slices(size_t bytes)
{
    return (bytes + TRANSFER_SLICE - 1) / TRANSFER_SLICE;
}

void transfer_receive(struct transfer *t, void *in, size_t bytes, int from, int tag);
void transfer_send(struct transfer *t, const void *out, size_t bytes, int to, int tag);
void transfer_wait(struct transfer *t); /* until all have arrived and `out` may be written again */

#endif
