/*
 * Transfers in slices: MPI keeps messages of one sender, tag and communicator in order, so slice
 * after slice lands where it belongs.
 */
#include "transfer.h"

static int slice_bytes(size_t left)
{
    return left < TRANSFER_SLICE ? (int)left : TRANSFER_SLICE;
}

void transfer_receive(struct transfer *t, void *in, size_t bytes, int from, int tag)
{
    size_t at;

    for (at = 0; at < bytes; at += TRANSFER_SLICE)
        MPI_Irecv((char *)in + at, slice_bytes(bytes - at), MPI_BYTE, from, tag, t->comm,
                  &t->requests[t->n++]);
}

void transfer_send(struct transfer *t, const void *out, size_t bytes, int to, int tag)
{
    size_t at;

    for (at = 0; at < bytes; at += TRANSFER_SLICE)
        MPI_Isend((const char *)out + at, slice_bytes(bytes - at), MPI_BYTE, to, tag, t->comm,
                  &t->requests[t->n++]);
}

void transfer_wait(struct transfer *t)
{
    MPI_Waitall(t->n, t->requests, MPI_STATUSES_IGNORE);
    t->n = 0;
}
