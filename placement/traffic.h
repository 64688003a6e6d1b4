/*
 * What each axis sends in one training step (spec.md 2).
 */
#ifndef BERTH_TRAFFIC_H
#define BERTH_TRAFFIC_H

#include "../lib/error.h"
#include "../lib/mesh.h"
#include <stddef.h>

enum traffic_kind {
    TRAFFIC_ALLREDUCE,
    TRAFFIC_REDUCESCATTER,
    TRAFFIC_ALLGATHER,
    TRAFFIC_ALLTOALL,
    /*
     * Neighbours. On pp, which is a chain: every rank sends `bytes` to its successor and the same
     * back to its predecessor at once, as Megatron's send_forward_recv_backward does in the steady
     * state of 1F1B. On any other axis (cp: ring attention): `bytes` to the successor, around the
     * ring.
     */
    TRAFFIC_P2P,
};

struct traffic_item {
    int axis; /* index into the mesh's axes, derived ones included */
    enum traffic_kind kind;
    double bytes;   /* the full buffer of one rank, per operation */
    double count;   /* operations per step */
    double exposed; /* share that compute does not hide, 0..1 */
};

#define TRAFFIC_ITEMS_MAX 64

struct traffic {
    int n;
    struct traffic_item items[TRAFFIC_ITEMS_MAX];
    bool reference; /* nobody said: this is the reference model */
};

/*
 * `axis:collective:bytes[:count[:exposed]]`, joined by ',' or '+'. bytes: 8MB = 8e6, 8MiB = 8*2^20
 * (B, KB, MB, GB, TB; KiB ...; a bare number is bytes). BERTH_EINPUT names the item and the field.
 */
int traffic_parse(const char *text, const struct berth_mesh *mesh, struct traffic *traffic,
                  struct berth_error *err);

/* The traffic of the documented reference model at the mesh's sizes (traffic.c says which). */
void traffic_reference(const struct berth_mesh *mesh, struct traffic *traffic);

/* The first where `text` is not NULL, else the second. */
int traffic_parse_or_reference(const char *text, const struct berth_mesh *mesh,
                               struct traffic *traffic, struct berth_error *err);

/* True for p2p on pp: a chain, no ring. */
bool traffic_is_chain(const struct traffic_item *item, const struct berth_mesh *mesh);

const char *traffic_kind_name(enum traffic_kind kind); /* "allreduce" */
/* One item as text, "dp:allreduce:8000000:1:1"; into buf, returns buf. */
const char *traffic_format(const struct traffic_item *item, const struct berth_mesh *mesh,
                           char *buf, size_t size);

#endif
