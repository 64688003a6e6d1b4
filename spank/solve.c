/*
 * The thin layer between the plugin and the engine: which files and commands describe the cluster,
 * and what makes a user's own map fit a step. Runs in srun with the user's rights.
 */
#include "config.h"

#include "../placement/meshspec.h"
#include "../placement/plan.h"
#include "../placement/units.h"
#include "solve.h"
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct cluster *read_model(const char *path, struct berth_error *err)
{
    size_t size;
    char *bytes = cluster_slurp(path, &size, err);
    struct cluster *model = bytes ? cluster_read_model(path, bytes, size, err) : NULL;

    free(bytes);
    return model;
}

struct cluster *solve_cluster(const struct site *site, const char *nodelist,
                              struct berth_error *err)
{
    struct cluster *cluster = slurm_cluster(site->topology, nodelist, true, err);
    struct cluster *model = NULL;

    if (!cluster || !site->model)
        return cluster;
    model = read_model(site->model, err);
    if (!model || cluster_merge(cluster, model, err)) {
        cluster_free(cluster);
        cluster = NULL;
    }
    cluster_free(model);
    return cluster;
}

static int parse_mesh(const struct options *options, int world, struct berth_mesh *mesh,
                      struct traffic *traffic, struct berth_error *err)
{
    if (meshspec_parse(options->mesh, options->order, world, mesh, err))
        return -1;
    return traffic_parse_or_reference(options->traffic, mesh, traffic, err);
}

static int solve_plan(const struct options *options, struct cluster *cluster,
                      const struct seats *seats, struct solution *out, struct berth_error *err)
{
    struct berth_mesh mesh;
    struct traffic traffic;
    struct job job = {0};
    struct plan plan;

    if (parse_mesh(options, seats->world, &mesh, &traffic, err) ||
        job_init(&job, cluster, &mesh, &traffic, seats->names, seats->ranks, 0, seats->n_nodes,
                 err))
        return -1;
    job.blocks = seats->blocks;
    if (!plan_solve(&job, &plan, err)) {
        out->map = plan_map(&job, &plan, &plan.planned, err);
        out->predicted = true;
        out->planned = plan.planned_cost.seconds;
        out->name = plan.name_cost.seconds;
        out->topology = plan.topology_cost.seconds;
        snprintf(out->why, sizeof(out->why), "%s", plan.why);
        plan_clear(&plan);
    }
    job_clear(&job);
    return out->map ? 0 : -1;
}

/* One launcher per node: its ranks must be consecutive, and the nodes in the order of their ranks.
 */
static bool is_blocks(const struct berth_map *map, int node)
{
    const int *ranks;
    int n = berth_map_node_ranks(map, node, &ranks);
    for (int i = 1; i < n; i++)
        if (ranks[i] != ranks[0] + i)
            return false;
    if (node == 0)
        return ranks[0] == 0;
    const int *before;
    int n_before = berth_map_node_ranks(map, node - 1, &before);
    return n_before > 0 && ranks[0] == before[0] + n_before;
}

static int check_map(const struct berth_map *map, const char *path, const struct seats *seats,
                     struct berth_error *err)
{
    if (berth_map_world(map) != seats->world || berth_map_nodes(map) != seats->n_nodes)
        return berth_error_set(
            err, BERTH_ENO, "%.200s: it has %d ranks on %d nodes, this step %d on %d", path,
            berth_map_world(map), berth_map_nodes(map), seats->world, seats->n_nodes);
    for (int i = 0; i < seats->n_nodes; i++) {
        int node = berth_map_node(map, seats->names[i]);
        int ranks = node < 0 ? 0 : berth_map_node_ranks(map, node, NULL);
        if (node < 0)
            return berth_error_set(err, BERTH_ENO,
                                   "%.200s: it does not name this step's node %.100s", path,
                                   seats->names[i]);
        if (ranks != seats->ranks[i])
            return berth_error_set(err, BERTH_ENO,
                                   "%.200s: it puts %d ranks on %.100s, this step %d", path, ranks,
                                   seats->names[i], seats->ranks[i]);
        if (seats->blocks && !is_blocks(map, node))
            return berth_error_set(
                err, BERTH_ENO,
                "%.200s: with one launcher per node the ranks of %.100s must be one "
                "block, nodes in rank order",
                path, seats->names[i]);
    }
    return 0;
}

int solve_map(const struct options *options, struct cluster *cluster, const struct seats *seats,
              struct solution *out, struct berth_error *err)
{
    memset(out, 0, sizeof(*out));
    if (!options->map)
        return solve_plan(options, cluster, seats, out, err);
    out->map = berth_map_open(options->map, err);
    if (out->map && !check_map(out->map, options->map, seats, err))
        return 0;
    solution_clear(out);
    return -1;
}

void solution_clear(struct solution *solution)
{
    berth_map_close(solution->map);
    memset(solution, 0, sizeof(*solution));
}

void solve_report(const struct solution *solution, const char *mode, char *buf, size_t size)
{
    const struct berth_map *map = solution->map;
    char planned[TEXT_MAX], name[TEXT_MAX], topology[TEXT_MAX];
    size_t used = (size_t)snprintf(
        buf, size, "%s, %d ranks on %d nodes, order %.60s (fastest first), map %s\n", mode,
        berth_map_world(map), berth_map_nodes(map), berth_map_order(map), berth_map_hash(map));
    if (!solution->predicted || used >= size)
        return;
    used += (size_t)snprintf(
        buf + used, size - used,
        "predicted communication per step: %s as planned, %s in name order, %s in "
        "topology order\n",
        text_seconds(solution->planned, planned), text_seconds(solution->name, name),
        text_seconds(solution->topology, topology));
    if (solution->why[0] && used < size)
        snprintf(buf + used, size - used, "%s\n", solution->why);
}

void solve_master(const struct berth_map *map, const struct cluster *cluster, char *buf,
                  size_t size)
{
    const char *name = berth_map_node_name(map, berth_map_node_of(map, 0));
    int node = cluster ? cluster_find_node(cluster, name) : -1;
    const char *addr = node < 0 ? NULL : cluster->nodes[node].addr;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;

    if (addr && getaddrinfo(name, NULL, &hints, &found))
        snprintf(buf, size, "%s", addr);
    else
        snprintf(buf, size, "%s", name);
    if (found)
        freeaddrinfo(found);
}
