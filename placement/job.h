/*
 * What is to be placed: some nodes of a cluster with a number of slots each, a mesh, its traffic.
 * And a placement: for each rank, the node it runs on.
 */
#ifndef BERTH_JOB_H
#define BERTH_JOB_H

#include "cluster.h"
#include "traffic.h"

struct job {
    struct cluster *cluster;
    struct berth_mesh mesh;
    struct traffic traffic;
    int n_nodes;
    int *nodes;  /* indices into cluster->nodes, in Slurm's own order */
    int *slots;  /* ranks that each of them takes; sum = mesh.world */
    bool blocks; /* each node's ranks must be one contiguous block (one launcher per node) */
};

/*
 * Makes a job of `n` nodes: `names` in Slurm's order, with slots[i] ranks on names[i], or `each` on
 * every one if slots is NULL. A node that no switch of the cluster lists is BERTH_EINPUT, by name;
 * where the cluster has no switches at all it is added. BERTH_ENO when the slots do not make the
 * world.
 */
int job_init(struct job *job, struct cluster *cluster, const struct berth_mesh *mesh,
             const struct traffic *traffic, char *const *names, const int *slots, int each, int n,
             struct berth_error *err);
void job_clear(struct job *job);

/* node[r] is the index into job->nodes of rank r. On a node, local rank follows rank. */
struct placement {
    int world;
    int *node;
};
int placement_init(struct placement *p, int world, struct berth_error *err);
void placement_clear(struct placement *p);

enum placement_order {
    PLACEMENT_NAME,     /* Slurm's block distribution over its own node order */
    PLACEMENT_TOPOLOGY, /* the same over nodes sorted by switch, as 26.05 and the cloud scripts do
                         */
};
int placement_default(const struct job *job, enum placement_order order, struct placement *out,
                      struct berth_error *err);

/*
 * Ranks 0 .. world-1, taken in the order `ranks` (NULL: ascending), onto the job's nodes in the
 * order `order` (indices into job->nodes), each filled to its slots.
 */
void placement_pour(const struct job *job, const int *ranks, const int *order,
                    struct placement *out);

/* The job's nodes sorted by the switches above them, from the root; equal ones keep Slurm's order.
 */
int *job_topology_order(const struct job *job);

#endif
