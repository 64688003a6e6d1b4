/*
 * The cost of a placement: bytes over every link and predicted communication time of one step.
 *
 * Each traffic item runs as NCCL's ring would run it, all groups of the axis at once, in the group's
 * rank order (facts: NCCL connects nodes in the order of first appearance of their ranks):
 *   allreduce               every ring edge carries 2 (n-1)/n bytes, in 2 (n-1) rounds
 *   reducescatter,allgather every ring edge carries   (n-1)/n bytes, in   (n-1) rounds
 *   alltoall                every ordered pair carries bytes/n, in n-1 rounds
 *   p2p                     traffic.h
 * Edges inside a node load the node's inside, others the two nodes' links and every uplink on the way
 * to the common switch, each direction on its own. An item takes
 *   count * (max over links of bytes / rate  +  rounds * the largest latency of an edge)
 * and the step is the sum over items of that, times the exposed share.
 *
 * Where a rate is unknown: node 50 GB/s (one 400 Gb/s NIC) and 2 us, inside a node 300 GB/s and 1 us,
 * an uplink half of what the nodes or switches below it can send (2:1 oversubscription).
 */
#ifndef BERTH_COST_H
#define BERTH_COST_H

#include "job.h"

#define COST_NODE_RATE 50e9
#define COST_NODE_LATENCY 2e-6
#define COST_INNER_RATE 300e9
#define COST_INNER_LATENCY 1e-6
#define COST_SWITCH_LATENCY 0.5e-6
#define COST_OVERSUBSCRIPTION 2.0

struct cost_item {
    double seconds;    /* exposed time per step */
    double busy;       /* before the exposed share */
    double bytes_leaf; /* bytes per step that leave a leaf switch, all uplinks, upward */
    long edges_leaf;   /* edges of its rings (or pairs) that leave a leaf */
};

struct cost {
    double seconds; /* predicted exposed communication of one step */
    int n_items;
    struct cost_item items[TRAFFIC_ITEMS_MAX]; /* as job->traffic.items */
    int n_switches;
    double *up, *down;  /* bytes per step through the uplink of each switch of the cluster */
    double bytes_leaf;  /* sum over leaves of up */
    double worst_share; /* largest busy share: bytes/rate of the worst uplink, seconds per step */
    int worst_switch;   /* its switch, -1 when nothing leaves a leaf */
};

int cost_evaluate(const struct job *job, const struct placement *p, struct cost *out,
                  struct berth_error *err);
void cost_clear(struct cost *cost);

/* Uplink rate and latency in force for a switch, and the rates of a node, defaults filled in. */
double cost_uplink_rate(const struct cluster *c, int sw);
double cost_node_rate(const struct cluster *c, int node);

/* {"seconds": ..., "axes": {...}, "uplinks": {...}, "default": {...}} for the map's "cost" key. */
json_t *cost_json(const struct job *job, const struct cost *planned, const struct cost *name,
                  const struct cost *topology);

#endif
