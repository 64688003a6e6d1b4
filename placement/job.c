/*
 * Jobs and the two placements that Slurm itself would make: by name and by switch.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

static int node_index(struct cluster *cluster, const char *name, struct berth_error *err)
{
    int node = cluster_find_node(cluster, name);
    if (node >= 0 && (cluster->nodes[node].n_leaves > 0 || cluster->n_switches == 0))
        return node;
    if (cluster->n_switches > 0)
        return berth_error_set(err, BERTH_EINPUT, "node %.100s is under no switch of %.200s", name,
                               cluster->source ? cluster->source : "the topology");
    node = cluster_add_node(cluster, name);
    return node < 0 ? berth_error_memory(err) : node;
}

static int slots_fit(const struct job *job, struct berth_error *err)
{
    long total = 0;
    bool even = true;
    for (int i = 0; i < job->n_nodes; i++) {
        total += job->slots[i];
        even = even && job->slots[i] == job->slots[0];
    }
    if (total == job->mesh.world)
        return 0;
    if (even)
        return berth_error_set(
            err, BERTH_ENO,
            "the mesh has %d ranks, but %d nodes with %d slots each take %ld; change the "
            "mesh or the number of nodes",
            job->mesh.world, job->n_nodes, job->slots[0], total);
    return berth_error_set(
        err, BERTH_ENO,
        "the mesh has %d ranks, but the %d nodes have %ld slots; change the mesh or the "
        "number of nodes",
        job->mesh.world, job->n_nodes, total);
}

int job_init(struct job *job, struct cluster *cluster, const struct berth_mesh *mesh,
             const struct traffic *traffic, char *const *names, const int *slots, int each, int n,
             struct berth_error *err)
{
    *job = (struct job){.cluster = cluster, .mesh = *mesh, .traffic = *traffic, .n_nodes = n};
    bool *taken = NULL;
    int rv = -1;

    if (n < 1)
        return berth_error_set(err, BERTH_EINPUT, "there are no nodes to place ranks on");
    job->nodes = calloc((size_t)n, sizeof(int));
    job->slots = calloc((size_t)n, sizeof(int));
    if (!job->nodes || !job->slots) {
        berth_error_memory(err);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        if ((job->nodes[i] = node_index(cluster, names[i], err)) < 0)
            goto out;
        job->slots[i] = slots ? slots[i] : each;
        if (job->slots[i] < 1) {
            berth_error_set(err, BERTH_EINPUT, "node %.100s has no slots", names[i]);
            goto out;
        }
    }
    if (!(taken = calloc((size_t)cluster->n_nodes, sizeof(bool)))) {
        berth_error_memory(err);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        if (taken[job->nodes[i]]) {
            berth_error_set(err, BERTH_EINPUT, "node %.100s is listed twice", names[i]);
            goto out;
        }
        taken[job->nodes[i]] = true;
    }
    rv = slots_fit(job, err);
out:
    free(taken);
    if (rv)
        job_clear(job);
    return rv;
}

void job_clear(struct job *job)
{
    free(job->nodes);
    free(job->slots);
    job->nodes = job->slots = NULL;
    job->n_nodes = 0;
}

int placement_init(struct placement *p, int world, struct berth_error *err)
{
    *p = (struct placement){.world = world, .node = malloc((size_t)world * sizeof(int))};
    return p->node ? 0 : berth_error_memory(err);
}

void placement_clear(struct placement *p)
{
    free(p->node);
    p->node = NULL;
}

void placement_pour(const struct job *job, const int *ranks, const int *order,
                    struct placement *out)
{
    int next = 0;
    for (int i = 0; i < job->n_nodes; i++)
        for (int s = 0; s < job->slots[order[i]]; s++, next++)
            out->node[ranks ? ranks[next] : next] = order[i];
}

/* A node's key: its switches from the root down, by index, so that siblings stand together. */
#define DEPTH_MAX 64
struct sort_key {
    int node;
    int depth;
    int path[DEPTH_MAX]; /* root first */
};

static int key_compare(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    for (int i = 0; i < x->depth && i < y->depth; i++)
        if (x->path[i] != y->path[i])
            return x->path[i] < y->path[i] ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

int *job_topology_order(const struct job *job)
{
    size_t n = (size_t)job->n_nodes;
    struct sort_key *keys = malloc(n * sizeof(*keys));
    int *order = malloc(n * sizeof(int));

    if (!keys || !order) {
        free(keys);
        free(order);
        return NULL;
    }
    for (int i = 0; i < job->n_nodes; i++) {
        int up[DEPTH_MAX];
        keys[i].node = i;
        keys[i].depth = cluster_path(job->cluster, job->nodes[i], 0, up, DEPTH_MAX);
        if (keys[i].depth > DEPTH_MAX)
            keys[i].depth = DEPTH_MAX;
        for (int k = 0; k < keys[i].depth; k++)
            keys[i].path[k] = up[keys[i].depth - 1 - k];
    }
    qsort(keys, n, sizeof(*keys), key_compare);
    for (size_t i = 0; i < n; i++)
        order[i] = keys[i].node;
    free(keys);
    return order;
}

int placement_default(const struct job *job, enum placement_order order, struct placement *out,
                      struct berth_error *err)
{
    int *nodes;

    if (placement_init(out, job->mesh.world, err))
        return -1;
    if (order == PLACEMENT_TOPOLOGY) {
        nodes = job_topology_order(job);
    } else if ((nodes = malloc((size_t)job->n_nodes * sizeof(int)))) {
        for (int i = 0; i < job->n_nodes; i++)
            nodes[i] = i;
    }
    if (!nodes) {
        placement_clear(out);
        return berth_error_memory(err);
    }
    placement_pour(job, NULL, nodes, out);
    free(nodes);
    return 0;
}
