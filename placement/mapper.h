/*
 * The mapper: which rank on which node, by the cost.
 */
#ifndef BERTH_MAPPER_H
#define BERTH_MAPPER_H

#include "cost.h"

/*
 * Improves *best, a placement whose cost is *cost. What comes out is never worse by cost_better();
 * where nothing better is found, *best stays as it is. Deterministic: the same job and start give
 * the same placement. How it searches is in mapper.c.
 */
int mapper_solve(const struct job *job, struct cost_model *model, struct placement *best,
                 struct cost *cost, struct berth_error *err);

#endif
