/*
 * What is to be placed: some nodes of a cluster with a number of slots each, a mesh, its traffic. And
 * a placement: for each rank, the node it runs on.
 */
#ifndef BERTH_JOB_H
#define BERTH_JOB_H

#include "cluster.h"
#include "traffic.h"

struct job {
    const struct cluster *cluster;
    struct berth_mesh mesh;
    struct traffic traffic;
    int n_nodes;
    int *nodes; /* indices into cluster->nodes, in Slurm's own order */
    int *slots; /* ranks that each of them takes; sum = mesh.world */
    bool blocks; /* each node's ranks must be one contiguous block (one launcher per node) */
};

/* Makes a job: `names` in Slurm's order, slots[i] ranks on names[i] (or `each` on all if slots is NULL).
 * A name that the cluster does not have is added to nothing: BERTH_EINPUT names it unless `cluster` has no
 * switches at all. BERTH_ENO when the slots do not make the world: says both numbers. */
int job_init(struct job *job, const struct cluster *cluster, const struct berth_mesh *mesh,
             const struct traffic *traffic, char *const *names, const int *slots, int each, int n,
             struct berth_error *err);
void job_clear(struct job *job);

/* Placement: node[r] is the index into job->nodes of rank r. On a node, local rank follows rank. */
struct placement {
    int world;
    int *node;
};
void placement_clear(struct placement *p);

enum placement_order {
    PLACEMENT_NAME,     /* Slurm's block distribution over its own node order */
    PLACEMENT_TOPOLOGY, /* the same over nodes sorted by switch, as 26.05 and the cloud scripts do */
};
int placement_default(const struct job *job, enum placement_order order, struct placement *out,
                      struct berth_error *err);

#endif
