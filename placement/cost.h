/*
 * The cost of a placement: bytes over every link and predicted communication time of one step.
 *
 * Each traffic item runs as NCCL's ring would run it, all groups of the axis at once, in the
 * group's rank order (NCCL connects nodes in the order of first appearance of their ranks):
 *   allreduce               every ring edge carries 2 (n-1)/n bytes, in 2 (n-1) rounds
 *   reducescatter,allgather every ring edge carries   (n-1)/n bytes, in   (n-1) rounds
 *   alltoall                every ordered pair carries bytes/n, in n-1 rounds
 *   p2p                     traffic.h
 * An edge inside a node loads the inner port of its sender; any other loads the two nodes' links
 * and every uplink on the way to the common switch, each direction on its own. An item takes count
 * * (max over links of bytes / rate  +  rounds * the largest latency of an edge) and the step is
 * the sum over items of that, times the exposed share.
 *
 * Where a rate is unknown: a node has 50 GB/s (one 400 Gb/s NIC) per slot or GPU and 2 us, a rank
 * 300 GB/s and 1 us inside its node, and an uplink half of what stands below it (2:1
 * oversubscription).
 */
#ifndef BERTH_COST_H
#define BERTH_COST_H

#include "job.h"

#define COST_NIC_RATE 50e9
#define COST_NODE_LATENCY 2e-6
#define COST_INNER_RATE 300e9
#define COST_INNER_LATENCY 1e-6
#define COST_SWITCH_LATENCY 0.5e-6
#define COST_OVERSUBSCRIPTION 2.0

struct cost_item {
    double seconds;    /* exposed time per step */
    double busy;       /* before the exposed share */
    double bytes_leaf; /* bytes per step that leave a leaf, summed over leaves */
    long edges_leaf;   /* edges of its rings (or pairs) that leave a leaf */
};

struct cost {
    double seconds;        /* predicted exposed communication of one step */
    double uplink_seconds; /* sum over uplinks and directions of bytes / rate: breaks ties */
    int n_items;
    struct cost_item items[TRAFFIC_ITEMS_MAX]; /* as job->traffic.items */
    int n_switches;
    double *up, *down;    /* bytes per step through the uplink of each switch of the cluster */
    double bytes_leaf;    /* sum over leaves of up */
    int worst_switch;     /* switch whose uplink is busy longest, -1 when nothing leaves a leaf */
    double worst_seconds; /* and for how long per step */
};

/* The job's rates and switches with defaults filled in; evaluates any number of placements. */
struct cost_model;
struct cost_model *cost_model_new(const struct job *job, struct berth_error *err);
void cost_model_free(struct cost_model *model);
double cost_uplink_rate(const struct cost_model *model, int sw); /* bytes/s, each direction */
double cost_node_rate(const struct cost_model *model, int node); /* node: index into job->nodes */

/* Makes the arrays of a cost; then cost_evaluate can fill it again and again. */
int cost_init(struct cost *cost, const struct job *job, struct berth_error *err);
void cost_clear(struct cost *cost);
void cost_evaluate(struct cost_model *model, const struct placement *p, struct cost *out);

/* True if `a` is better than `b`: in time, or as fast (to 1e-9) with less time on uplinks. */
bool cost_better(const struct cost *a, const struct cost *b);

#endif
