/*
 * Replays a step: every item's operation as neighbour exchange on its axis's communicator, whose
 * rank order is the ring order, chunks sent whole as a plain ring does. All groups of an axis run
 * at once; a barrier on the world, outside the timing, keeps axes from overlapping. Timed steps
 * move the bytes and leave the additions out: on the GPUs that this stands for they are hidden, on
 * a busy test machine they would not be.
 */
#include "replay.h"
#include "error.h"
#include "transfer.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 4 /* a chain's rank receives and sends two buffers at once */

struct exchange {
    struct transfer transfer;
    int n, me, next, prev;
    size_t total; /* elements of the full buffer */
    int32_t *data, *incoming;
    bool add; /* reductions really add */
};

struct replay {
    const struct berth_mesh *mesh;
    const struct traffic *traffic;
    const struct berth_mpi *comms;
    int32_t *data, *incoming;
    MPI_Request requests[REQUESTS];
    int micro_batches;
};

/* ---- one operation ---- */

static size_t chunk_at(const struct exchange *x, int chunk)
{
    return (size_t)chunk * x->total / (size_t)x->n;
}

static size_t chunk_bytes(const struct exchange *x, int chunk)
{
    return (chunk_at(x, chunk + 1) - chunk_at(x, chunk)) * sizeof(int32_t);
}

static void add(int32_t *sum, const int32_t *more, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        sum[i] += more[i];
}

/* Index on a ring of n, for steps of at most n either way. */
static int around(int index, int n)
{
    return (index + 2 * n) % n;
}

/*
 * One turn of a ring: n-1 rounds, each of which sends on whole what the last one received. `start`
 * is the first chunk sent. With `reduce`, what arrives is added to this rank's own before it goes
 * on; else it replaces it.
 */
static void ring(struct exchange *x, int start, bool reduce)
{
    int32_t *to = reduce ? x->incoming : x->data;
    int round;

    for (round = 1; round < x->n; round++) {
        int out = around(start - round + 1, x->n), in = around(start - round, x->n);
        transfer_receive(&x->transfer, to + chunk_at(x, in), chunk_bytes(x, in), x->prev, 0);
        transfer_send(&x->transfer, x->data + chunk_at(x, out), chunk_bytes(x, out), x->next, 0);
        transfer_wait(&x->transfer);
        if (reduce && x->add)
            add(x->data + chunk_at(x, in), x->incoming + chunk_at(x, in),
                chunk_bytes(x, in) / sizeof(int32_t));
    }
}

/* After it, this rank holds the sum of chunk `me`. */
static void reduce_scatter(struct exchange *x)
{
    ring(x, around(x->me - 1, x->n), true);
}

/* Starts with chunk `me`, ends with all. */
static void all_gather(struct exchange *x)
{
    ring(x, x->me, false);
}

/* Where the chunk from a rank lands: all are as long as mine, so their places are a chunk's most
 * apart. */
static size_t landing(const struct exchange *x, int from)
{
    return (size_t)from * (x->total / (size_t)x->n + 1);
}

/* n-1 rounds of pairs. */
static void all_to_all(struct exchange *x)
{
    int round;

    for (round = 1; round < x->n; round++) {
        int to = around(x->me + round, x->n), from = around(x->me - round, x->n);
        transfer_receive(&x->transfer, x->incoming + landing(x, from), chunk_bytes(x, x->me), from,
                         0);
        transfer_send(&x->transfer, x->data + chunk_at(x, to), chunk_bytes(x, to), to, 0);
        transfer_wait(&x->transfer);
    }
}

/* From the predecessor to the successor; on a chain also back, both directions at once. */
static void neighbours(struct exchange *x, bool chain)
{
    size_t bytes = x->total * sizeof(*x->data);

    if (!chain || x->me > 0)
        transfer_receive(&x->transfer, x->incoming, bytes, x->prev, 0);
    if (chain && x->me < x->n - 1)
        transfer_receive(&x->transfer, x->incoming + x->total, bytes, x->next, 1);
    if (!chain || x->me < x->n - 1)
        transfer_send(&x->transfer, x->data, bytes, x->next, 0);
    if (chain && x->me > 0)
        transfer_send(&x->transfer, x->data, bytes, x->prev, 1);
    transfer_wait(&x->transfer);
}

static bool is_axis(const struct replay *replay, const struct traffic_item *item, const char *name)
{
    return strcmp(replay->mesh->axes[item->axis].name, name) == 0;
}

static void run(const struct replay *replay, const struct traffic_item *item, struct exchange *x)
{
    if (x->n == 1)
        return;
    switch (item->kind) {
    case TRAFFIC_ALLREDUCE:
        reduce_scatter(x);
        all_gather(x);
        break;
    case TRAFFIC_REDUCESCATTER:
        reduce_scatter(x);
        break;
    case TRAFFIC_ALLGATHER:
        all_gather(x);
        break;
    case TRAFFIC_ALLTOALL:
        all_to_all(x);
        break;
    case TRAFFIC_P2P:
        neighbours(x, traffic_is_chain(item, replay->mesh));
        break;
    }
}

static struct exchange exchange_of(struct replay *replay, const struct traffic_item *item)
{
    struct exchange x = {.transfer.comm = berth_mpi_axis(replay->comms, item->axis),
                         .transfer.requests = replay->requests,
                         .transfer.message = (size_t)REPLAY_BYTES_MAX,
                         .data = replay->data,
                         .incoming = replay->incoming};

    MPI_Comm_size(x.transfer.comm, &x.n);
    MPI_Comm_rank(x.transfer.comm, &x.me);
    x.next = around(x.me + 1, x.n);
    x.prev = around(x.me - 1, x.n);
    x.total = (size_t)ceil(item->bytes / sizeof(int32_t));
    return x;
}

/* ---- a step ---- */

/*
 * Operations of an item in micro-batch m of M. What a step does once stands after the last one, as
 * gradients do: m == M.
 */
static long repeats(const struct replay *replay, const struct traffic_item *item, int m)
{
    long count = lround(item->count);
    int all = replay->micro_batches;
    bool at_end = count <= 1 || is_axis(replay, item, "dp") || is_axis(replay, item, "shard");

    if (at_end || m == all)
        return at_end && m == all ? count : 0;
    return count * (m + 1) / all - count * m / all;
}

void replay_step(struct replay *replay, double *seconds)
{
    MPI_Comm world = berth_mpi_world(replay->comms);
    int m, i;

    for (i = 0; i < replay->traffic->n; i++)
        seconds[i] = 0;
    for (m = 0; m <= replay->micro_batches; m++) {
        for (i = 0; i < replay->traffic->n; i++) {
            const struct traffic_item *item = &replay->traffic->items[i];
            struct exchange x = exchange_of(replay, item);
            long times = repeats(replay, item, m);
            double start;

            if (times == 0)
                continue;
            transfer_barrier(world);
            start = MPI_Wtime();
            while (times-- > 0)
                run(replay, item, &x);
            seconds[i] += MPI_Wtime() - start;
        }
    }
}

/* ---- the check: small integers, so that sums are exact ---- */

/* What rank `from` of a group puts at element e, as a value that differs for every neighbour. */
static int32_t pattern(int from, size_t e)
{
    return (int32_t)(((size_t)from * 7919 + e) % 10007);
}

static void fill(const struct exchange *x, bool own_chunk_only)
{
    size_t first = own_chunk_only ? chunk_at(x, x->me) : 0, e;
    size_t last = own_chunk_only ? chunk_at(x, x->me + 1) : x->total;

    memset(x->data, 0, x->total * sizeof(*x->data));
    for (e = first; e < last; e++)
        x->data[e] = pattern(x->me, e);
}

static int32_t sum(int n, size_t e)
{
    int32_t total = 0;
    int i;

    for (i = 0; i < n; i++)
        total += pattern(i, e);
    return total;
}

/* Elements first..last of `got` must be what `from` has at `shift` further; from -1: everybody's
 * sum. */
static size_t count_wrong(const struct exchange *x, const int32_t *got, size_t first, size_t last,
                          int from, size_t shift)
{
    size_t e, wrong = 0;

    for (e = first; e < last; e++)
        wrong += got[e] != (from < 0 ? sum(x->n, e) : pattern(from, e + shift));
    return wrong;
}

static size_t wrong_gathered(const struct exchange *x)
{
    size_t wrong = 0;
    int i;

    for (i = 0; i < x->n; i++)
        wrong += count_wrong(x, x->data, chunk_at(x, i), chunk_at(x, i + 1), i, 0);
    return wrong;
}

static size_t wrong_exchanged(const struct exchange *x)
{
    size_t wrong = 0, mine = chunk_at(x, x->me), length = chunk_bytes(x, x->me) / sizeof(int32_t);
    int i;

    for (i = 0; i < x->n; i++)
        if (i != x->me)
            wrong += count_wrong(x, x->incoming + landing(x, i), 0, length, i, mine);
    return wrong;
}

static size_t wrong_neighbours(const struct exchange *x, bool chain)
{
    size_t wrong = 0;

    if (!chain || x->me > 0)
        wrong += count_wrong(x, x->incoming, 0, x->total, x->prev, 0);
    if (chain && x->me < x->n - 1)
        wrong += count_wrong(x, x->incoming + x->total, 0, x->total, x->next, 0);
    return wrong;
}

static size_t wrong_elements(const struct replay *replay, const struct traffic_item *item,
                             const struct exchange *x)
{
    switch (item->kind) {
    case TRAFFIC_ALLREDUCE:
        return count_wrong(x, x->data, 0, x->total, -1, 0);
    case TRAFFIC_REDUCESCATTER:
        return count_wrong(x, x->data, chunk_at(x, x->me), chunk_at(x, x->me + 1), -1, 0);
    case TRAFFIC_ALLGATHER:
        return wrong_gathered(x);
    case TRAFFIC_ALLTOALL:
        return wrong_exchanged(x);
    case TRAFFIC_P2P:
        return wrong_neighbours(x, traffic_is_chain(item, replay->mesh));
    }
    return 0;
}

int replay_check(struct replay *replay, struct berth_error *err)
{
    MPI_Comm world = berth_mpi_world(replay->comms);
    int i;

    for (i = 0; i < replay->traffic->n; i++) {
        const struct traffic_item *item = &replay->traffic->items[i];
        struct exchange x = exchange_of(replay, item);
        unsigned long long wrong = 0;
        char text[128];

        x.add = true;
        fill(&x, item->kind == TRAFFIC_ALLGATHER);
        run(replay, item, &x);
        if (x.n > 1)
            wrong = wrong_elements(replay, item, &x);
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world);
        if (wrong)
            return berth_error_set(err, BERTH_ENO, "%s: %llu elements arrived wrong",
                                   traffic_format(item, replay->mesh, text, sizeof(text)), wrong);
    }
    return 0;
}

/* ---- making one ---- */

static int micro_batches(const struct replay *replay)
{
    double most = 1;
    int i;

    for (i = 0; i < replay->traffic->n; i++) {
        const struct traffic_item *item = &replay->traffic->items[i];
        if (traffic_is_chain(item, replay->mesh))
            most = fmax(most, item->count);
    }
    return (int)lround(most);
}

struct replay *replay_new(const struct berth_mesh *mesh, const struct traffic *traffic,
                          const struct berth_mpi *comms, struct berth_error *err)
{
    double most = sizeof(int32_t);
    struct replay *replay;
    char text[128];
    size_t bytes;
    int i;

    for (i = 0; i < traffic->n; i++) {
        most = fmax(most, traffic->items[i].bytes);
        if (most > REPLAY_BYTES_MAX || traffic->items[i].count > REPLAY_COUNT_MAX) {
            berth_error_set(err, BERTH_EINPUT,
                            "%s is over 2 GB per rank or a million operations, too much to replay: "
                            "give less with --traffic",
                            traffic_format(&traffic->items[i], mesh, text, sizeof(text)));
            return NULL;
        }
    }
    replay = calloc(1, sizeof(*replay));
    if (!replay)
        goto memory;
    replay->mesh = mesh;
    replay->traffic = traffic;
    replay->comms = comms;
    replay->micro_batches = micro_batches(replay);
    /* A chain's rank receives two whole buffers; an all-to-all's chunks may be an element longer.
     */
    bytes = (size_t)ceil(most) + sizeof(int32_t);
    replay->data = calloc(1, bytes);
    replay->incoming = calloc(1, 2 * bytes + (size_t)mesh->world * sizeof(int32_t));
    if (replay->data && replay->incoming)
        return replay;
memory:
    berth_error_memory(err);
    replay_free(replay);
    return NULL;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    free(replay->data);
    free(replay->incoming);
    free(replay);
}
