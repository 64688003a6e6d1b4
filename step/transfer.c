/*
 * Transfers: MPI keeps messages of one sender, tag and communicator in order, so message after
 * message lands where it belongs.
 */
#include "transfer.h"
#include <time.h>

#define NAP 100000 /* ns between two looks: a hundredth of what a chunk takes on the wire */

static int message_bytes(const struct transfer *t, size_t left)
{
    return (int)(left < t->message ? left : t->message);
}

void transfer_receive(struct transfer *t, void *in, size_t bytes, int from, int tag)
{
    size_t at;

    for (at = 0; at < bytes; at += t->message)
        MPI_Irecv((char *)in + at, message_bytes(t, bytes - at), MPI_BYTE, from, tag, t->comm,
                  &t->requests[t->n++]);
}

void transfer_send(struct transfer *t, const void *out, size_t bytes, int to, int tag)
{
    size_t at;

    for (at = 0; at < bytes; at += t->message)
        MPI_Isend((const char *)out + at, message_bytes(t, bytes - at), MPI_BYTE, to, tag, t->comm,
                  &t->requests[t->n++]);
}

static void wait_all(int n, MPI_Request *requests)
{
    const struct timespec nap = {.tv_nsec = NAP};
    int done = 0;

    for (;;) {
        MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        if (done)
            return;
        nanosleep(&nap, NULL);
    }
}

void transfer_wait(struct transfer *t)
{
    wait_all(t->n, t->requests);
    t->n = 0;
}

void transfer_barrier(MPI_Comm comm)
{
    MPI_Request request;

    MPI_Ibarrier(comm, &request);
    wait_all(1, &request);
}
