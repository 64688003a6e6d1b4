/*
 * Measures latency and rate point to point. Rank 0 knows the switches and directs: it tells every
 * rank its partner, all pairs exchange at once, and it collects what the pairs saw. Transfers are
 * what a ring makes of the links: both directions at once, in rounds of one chunk, the next round
 * only when both chunks have arrived.
 */
#include "links.h"
#include "error.h"
#include "statistics.h"
#include "transfer.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PING_BYTES 8
#define PING_COUNT 200
/* Like a ring's: longer than a shaper's burst, and many in a second. */
#define CHUNK (1024 * 1024)
/* Seconds of an exchange: filling the links, counting, and going on while others still count. */
#define FILL 0.3
#define COUNT 1.5
#define DRAIN 0.2

enum order { ORDER_END, ORDER_PING, ORDER_EXCHANGE };

struct links {
    MPI_Comm world;
    int me, n;
    struct transfer transfer;
    char *out, *in;              /* CHUNK each */
    int *partner;                /* rank 0: of every rank, -1 for none */
    double *seen;                /* rank 0: what every pair's lower rank saw, else 0 */
    int *place;                  /* rank 0: of every node, how many before it have the same leaf */
    const struct berth_map *map; /* rank 0 */
};

/* ---- what every rank does ---- */

/* Half the median round trip, seconds. */
static double ping(struct links *l, int partner)
{
    double took[PING_COUNT];
    int i;

    for (i = 0; i < PING_COUNT; i++) {
        double start = MPI_Wtime();
        if (l->me < partner)
            MPI_Send(l->out, PING_BYTES, MPI_BYTE, partner, 0, l->world);
        MPI_Recv(l->in, PING_BYTES, MPI_BYTE, partner, 0, l->world, MPI_STATUS_IGNORE);
        if (l->me > partner)
            MPI_Send(l->out, PING_BYTES, MPI_BYTE, partner, 0, l->world);
        took[i] = (MPI_Wtime() - start) / 2;
    }
    return l->me < partner ? statistics_median(took, PING_COUNT) : 0;
}

/* Bytes per second in each direction; the first byte of the lower rank's chunk says if it is the
 * last. */
static double exchange(struct links *l, int partner)
{
    double start = MPI_Wtime(), now = start, from = 0, to = 0;
    long rounds = -1;
    bool lead = l->me < partner, last = false;

    while (!last) {
        last = now - start > FILL + COUNT + DRAIN;
        l->out[0] = last;
        transfer_receive(&l->transfer, l->in, CHUNK, partner, 0);
        transfer_send(&l->transfer, l->out, CHUNK, partner, 0);
        transfer_wait(&l->transfer);
        now = MPI_Wtime();
        if (!lead)
            last = l->in[0];
        if (rounds < 0 && now - start >= FILL) {
            from = now;
            rounds = 0;
        } else if (rounds >= 0 && (rounds == 0 || now - start <= FILL + COUNT)) {
            to = now;
            rounds++;
        }
    }
    return lead && rounds > 0 ? (double)rounds * CHUNK / (to - from) : 0;
}

/* Carries out one order of rank 0's; false at the end. */
static bool obey(struct links *l, enum order order)
{
    int code = order, partner;
    double saw = 0;

    MPI_Bcast(&code, 1, MPI_INT, 0, l->world);
    if (code == ORDER_END)
        return false;
    MPI_Scatter(l->partner, 1, MPI_INT, &partner, 1, MPI_INT, 0, l->world);
    if (partner >= 0)
        saw = code == ORDER_PING ? ping(l, partner) : exchange(l, partner);
    MPI_Gather(&saw, 1, MPI_DOUBLE, l->seen, 1, MPI_DOUBLE, 0, l->world);
    return true;
}

/* ---- what rank 0 decides ---- */

static void clear_pairs(struct links *l)
{
    int i;

    for (i = 0; i < l->n; i++)
        l->partner[i] = -1;
}

static void pair(struct links *l, int a, int b)
{
    l->partner[a] = b;
    l->partner[b] = a;
}

/* The rank that speaks for a node, or its second one; -1 if it has none. */
static int speaker(const struct links *l, int node, int index)
{
    const int *ranks;
    int n = berth_map_node_ranks(l->map, node, &ranks);

    return index < n ? ranks[index] : -1;
}

static const char *leaf_of(const struct links *l, int node)
{
    return berth_map_path_switch(l->map, node, 0, 0);
}

static bool same_leaf(const struct links *l, int a, int b)
{
    const char *x = leaf_of(l, a), *y = leaf_of(l, b);

    return x && y ? strcmp(x, y) == 0 : x == y;
}

static bool is_under(const struct links *l, int node, const char *name)
{
    const char *at;
    int level;

    for (level = 0; (at = berth_map_path_switch(l->map, node, 0, level)); level++)
        if (strcmp(at, name) == 0)
            return true;
    return false;
}

static double measure_ping(struct links *l, int a, int b)
{
    clear_pairs(l);
    pair(l, a, b);
    obey(l, ORDER_PING);
    return l->seen[a < b ? a : b];
}

/* All pairs at once. Returns the median of the pairs' rates; *total (may be NULL) is their sum. */
static double measure_rate(struct links *l, double *total)
{
    double sum = 0;
    int i, n = 0;

    obey(l, ORDER_EXCHANGE);
    for (i = 0; i < l->n; i++) {
        sum += l->seen[i];
        if (l->seen[i] > 0)
            l->seen[n++] = l->seen[i];
    }
    if (total)
        *total = sum;
    return statistics_median(l->seen, n);
}

static void set_number(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, json_real(value));
}

/* Within nodes: every node that has two ranks, at once for the rate. */
static void measure_inside(struct links *l, json_t *node)
{
    int i, a = -1, b = -1;

    for (i = berth_map_nodes(l->map) - 1; i >= 0; i--)
        if (speaker(l, i, 1) >= 0) {
            a = speaker(l, i, 0);
            b = speaker(l, i, 1);
        }
    if (a < 0)
        return;
    set_number(node, "inner_latency", measure_ping(l, a, b));
    for (i = 0; i < berth_map_nodes(l->map); i++)
        if (speaker(l, i, 1) >= 0)
            pair(l, speaker(l, i, 0), speaker(l, i, 1));
    set_number(node, "inner_rate", measure_rate(l, NULL));
}

/*
 * Pairs nodes that have no partner yet: of one leaf, or of any two (within = false, and then one
 * pair only, since the rate of several would be an uplink's). Returns the pairs made; *a and *b are
 * the last.
 */
static int pair_nodes(struct links *l, bool within, int *a, int *b)
{
    int i, j, n = berth_map_nodes(l->map), pairs = 0;

    clear_pairs(l);
    for (i = 0; i < n; i++) {
        int x = speaker(l, i, 0);
        for (j = i + 1; j < n && x >= 0 && l->partner[x] < 0; j++) {
            int y = speaker(l, j, 0);
            if (y < 0 || l->partner[y] >= 0 || (within ? !same_leaf(l, i, j) : pairs > 0))
                continue;
            pair(l, *a = x, *b = y);
            pairs++;
        }
    }
    return pairs;
}

/* Between nodes. Returns the one-way latency between two nodes of a leaf, 0 if there are none. */
static double measure_nodes(struct links *l, json_t *node)
{
    bool within = true;
    double latency;
    int a, b;

    if (pair_nodes(l, true, &a, &b) == 0) {
        within = false;
        if (pair_nodes(l, false, &a, &b) == 0)
            return 0;
    }
    set_number(node, "rate", measure_rate(l, NULL));
    latency = measure_ping(l, a, b);
    set_number(node, "latency", latency / 2); /* two nodes' links */
    return within ? latency : 0;
}

/*
 * Next node outside `name`, one of every leaf before the second of any, so that other leaves'
 * uplinks are loaded evenly and are not what limits. -1: no more.
 */
static int next_outside(const struct links *l, const char *name)
{
    int i, best = -1;

    for (i = 0; i < berth_map_nodes(l->map); i++) {
        int rank = speaker(l, i, 0);
        if (rank < 0 || l->partner[rank] >= 0 || !leaf_of(l, i) || is_under(l, i, name))
            continue;
        if (best < 0 || l->place[i] < l->place[best])
            best = i;
    }
    return best;
}

/*
 * The uplink of switch `name`: as many pairs across it as there are nodes, at once. A leaf of one
 * node shows its node's rate, and never needs more.
 */
static void measure_uplink(struct links *l, const char *name, double leaf_latency, json_t *list)
{
    json_t *entry;
    double latency, total;
    int i, a = -1, b = -1;

    clear_pairs(l);
    for (i = 0; i < berth_map_nodes(l->map); i++) {
        int x = speaker(l, i, 0), other;
        if (x < 0 || !is_under(l, i, name) || (other = next_outside(l, name)) < 0)
            continue;
        pair(l, a = x, b = speaker(l, other, 0));
    }
    if (a < 0)
        return;
    measure_rate(l, &total);
    latency = leaf_latency > 0 ? (measure_ping(l, a, b) - leaf_latency) / 2 : 0;
    entry = json_pack("{s:s, s:f}", "name", name, "uplink", total);
    set_number(entry, "latency", latency > 0 ? latency : 0); /* one of the two uplinks on the way */
    json_array_append_new(list, entry);
}

/* True if an earlier node (or level) has named this switch: each is measured once. */
static bool is_listed(const json_t *list, const char *name)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry) if (strcmp(json_string_value(json_object_get(entry, "name")),
                                                  name) == 0) return true;
    return false;
}

static void find_places(struct links *l)
{
    int i, j;

    for (i = 0; i < berth_map_nodes(l->map); i++)
        for (j = l->place[i] = 0; j < i; j++)
            l->place[i] += same_leaf(l, i, j);
}

static json_t *direct(struct links *l)
{
    json_t *node = json_object(), *list = json_array();
    const char *name;
    double latency;
    int i, level;

    find_places(l);
    measure_inside(l, node);
    latency = measure_nodes(l, node);
    for (i = 0; i < berth_map_nodes(l->map); i++)
        for (level = 0; (name = berth_map_path_switch(l->map, i, 0, level)); level++)
            if (!is_listed(list, name))
                measure_uplink(l, name, latency, list);
    obey(l, ORDER_END);
    return json_pack("{s:i, s:{s:o}, s:o}", "berth_cluster", 1, "defaults", "node", node,
                     "switches", list);
}

int links_measure(const struct berth_map *map, MPI_Comm world, json_t **model,
                  struct berth_error *err)
{
    struct links l = {.world = world, .map = map};
    int ready, result = -1;

    *model = NULL;
    MPI_Comm_size(world, &l.n);
    MPI_Comm_rank(world, &l.me);
    l.out = calloc(1, CHUNK);
    l.in = calloc(1, CHUNK);
    l.partner = calloc((size_t)l.n, sizeof(*l.partner));
    l.seen = calloc((size_t)l.n, sizeof(*l.seen));
    l.transfer.comm = world;
    l.transfer.message = TRANSFER_EAGER;
    l.transfer.requests = calloc(2 * transfer_messages(&l.transfer, CHUNK), sizeof(MPI_Request));
    l.place = calloc(l.me == 0 ? (size_t)berth_map_nodes(map) : 1, sizeof(*l.place));
    ready = l.out && l.in && l.partner && l.seen && l.place && l.transfer.requests;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, world);
    if (!ready) {
        berth_error_memory(err);
        goto out;
    }
    if (l.me == 0)
        *model = direct(&l);
    else
        while (obey(&l, ORDER_END))
            ;
    result = 0;
out:
    free(l.out);
    free(l.in);
    free(l.partner);
    free(l.seen);
    free(l.place);
    free(l.transfer.requests);
    return result;
}
