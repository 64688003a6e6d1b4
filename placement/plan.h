/*
 * The plan: the placement chosen for a job beside the two that Slurm would make, and its rank map.
 */
#ifndef BERTH_PLAN_H
#define BERTH_PLAN_H

#include "mapper.h"

struct plan {
    struct placement planned, name, topology;
    struct cost planned_cost, name_cost, topology_cost;
    char why[256]; /* one sentence when there is little or nothing to gain, else "" */
};

/* Solves the job. Planned is never slower, by the cost, than the other two. */
int plan_solve(const struct job *job, struct plan *plan, struct berth_error *err);
void plan_clear(struct plan *plan);

/*
 * The rank map of one of the plan's placements: nodes in the order of their lowest rank, slot i =
 * the node's i-th GPU, shapes and paths from the cluster. Its cost is that of `which`, beside
 * Slurm's defaults; its source says the topology and the traffic. NULL on error.
 */
struct berth_map *plan_map(const struct job *job, const struct plan *plan,
                           const struct placement *which, struct berth_error *err);

/* {"seconds", "axes", "uplinks", "default"}: the map's "cost". NULL: no memory. */
json_t *plan_cost_json(const struct job *job, const struct plan *plan, const struct cost *which);

#endif
