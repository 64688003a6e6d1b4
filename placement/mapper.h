/*
 * The mapper: which rank on which node.
 */
#ifndef BERTH_MAPPER_H
#define BERTH_MAPPER_H

#include "cost.h"

/*
 * Finds a placement; never worse by its own cost than Slurm's name order or topology order.
 * Deterministic: the same job gives the same placement. Everything about how is in mapper.c.
 */
int mapper_solve(const struct job *job, struct placement *out, struct berth_error *err);

/* What was decided, with the costs of the alternatives; cleared with plan_clear. */
struct plan {
    struct placement planned, name, topology;
    struct cost planned_cost, name_cost, topology_cost;
    char why[256]; /* one sentence when there is little or nothing to gain, else "" */
};
int plan_solve(const struct job *job, struct plan *plan, struct berth_error *err);
void plan_clear(struct plan *plan);

/*
 * The rank map of a placement: nodes in order of their lowest rank, slots 0.. on each, shapes and paths
 * from the cluster, cost and source filled in. NULL on error.
 */
struct berth_map *plan_map(const struct job *job, const struct plan *plan,
                           const struct placement *which, struct berth_error *err);

#endif
