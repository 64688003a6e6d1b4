/*
 * The plan: solves a job, says in a sentence when there is nothing to gain, and makes the rank map.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#define LITTLE 0.03 /* a gain below this share of the step is called little */

static bool one_leaf(const struct job *job)
{
    for (int i = 1; i < job->n_nodes; i++) {
        const struct cluster_node *a = &job->cluster->nodes[job->nodes[0]];
        const struct cluster_node *b = &job->cluster->nodes[job->nodes[i]];
        if ((a->n_leaves ? a->leaves[0] : -1) != (b->n_leaves ? b->leaves[0] : -1))
            return false;
    }
    return true;
}

/* Why the map is worth little, judged against the order that is sorted by switch. */
static void explain(const struct job *job, struct plan *plan)
{
    double before = plan->topology_cost.seconds, after = plan->planned_cost.seconds;

    if (after < before * (1 - LITTLE))
        return;
    if (job->n_nodes == 1)
        strcpy(plan->why, "nothing to gain: the job has one node, and every group stays inside it");
    else if (plan->name_cost.seconds <= 0)
        strcpy(plan->why, "nothing to gain: the traffic names no axis with more than one rank");
    else if (job->cluster->n_switches == 0)
        strcpy(plan->why, "nothing to gain: no switch topology is known, so all nodes look alike");
    else if (one_leaf(job))
        strcpy(plan->why, "nothing to gain: all nodes are under one leaf switch, so all orders of "
                          "them cost the same");
    else if (plan->topology_cost.bytes_leaf <= 0)
        strcpy(plan->why,
               "nothing to gain over topology order: it already keeps every group under one leaf");
    else if (after < before * (1 - 1e-6))
        snprintf(plan->why, sizeof(plan->why),
                 "little to gain over topology order: %.1f %% of the step's communication",
                 100 * (1 - after / before));
    else if (plan->topology_cost.worst_seconds < before * 0.5)
        strcpy(plan->why, "nothing to gain over topology order: the nodes' own links set the pace, "
                          "not the uplinks");
    else
        strcpy(plan->why, "nothing to gain over topology order: the busiest uplink is as busy in "
                          "every order found");
}

int plan_solve(const struct job *job, struct plan *plan, struct berth_error *err)
{
    struct cost_model *model = cost_model_new(job, err);
    int rv = -1;

    *plan = (struct plan){0};
    if (!model)
        return -1;
    if (placement_default(job, PLACEMENT_NAME, &plan->name, err) ||
        placement_default(job, PLACEMENT_TOPOLOGY, &plan->topology, err) ||
        placement_init(&plan->planned, job->mesh.world, err) ||
        cost_init(&plan->name_cost, job, err) || cost_init(&plan->topology_cost, job, err) ||
        cost_init(&plan->planned_cost, job, err))
        goto out;
    cost_evaluate(model, &plan->name, &plan->name_cost);
    cost_evaluate(model, &plan->topology, &plan->topology_cost);
    bool sorted = cost_better(&plan->topology_cost, &plan->name_cost);
    memcpy(plan->planned.node, sorted ? plan->topology.node : plan->name.node,
           (size_t)job->mesh.world * sizeof(int));
    cost_evaluate(model, &plan->planned, &plan->planned_cost);
    if (mapper_solve(job, model, &plan->planned, &plan->planned_cost, err))
        goto out;
    explain(job, plan);
    rv = 0;
out:
    cost_model_free(model);
    if (rv)
        plan_clear(plan);
    return rv;
}

void plan_clear(struct plan *plan)
{
    placement_clear(&plan->planned);
    placement_clear(&plan->name);
    placement_clear(&plan->topology);
    cost_clear(&plan->planned_cost);
    cost_clear(&plan->name_cost);
    cost_clear(&plan->topology_cost);
}

/* ---- the map's "cost" and "source" ---- */

static json_t *axes_json(const struct job *job, const struct cost *cost)
{
    json_t *axes = json_object();

    for (int i = 0; axes && i < job->traffic.n; i++) {
        const struct traffic_item *item = &job->traffic.items[i];
        const char *name = job->mesh.axes[item->axis].name;
        json_t *axis = json_object_get(axes, name);
        if (!axis) {
            axis = json_pack("{s:f,s:f,s:I}", "seconds", 0.0, "bytes_above_leaf", 0.0,
                             "edges_above_leaf", (json_int_t)0);
            if (json_object_set_new(axes, name, axis)) {
                json_decref(axes);
                return NULL;
            }
        }
        json_real_set(json_object_get(axis, "seconds"),
                      json_real_value(json_object_get(axis, "seconds")) + cost->items[i].seconds);
        json_real_set(json_object_get(axis, "bytes_above_leaf"),
                      json_real_value(json_object_get(axis, "bytes_above_leaf")) +
                          cost->items[i].bytes_leaf);
        json_integer_set(json_object_get(axis, "edges_above_leaf"),
                         json_integer_value(json_object_get(axis, "edges_above_leaf")) +
                             cost->items[i].edges_leaf);
    }
    return axes;
}

static json_t *uplinks_json(const struct job *job, const struct cost *cost)
{
    json_t *links = json_object();

    for (int s = 0; links && s < cost->n_switches; s++)
        if ((cost->up[s] > 0 || cost->down[s] > 0) &&
            json_object_set_new(links, job->cluster->switches[s].name,
                                json_pack("{s:f,s:f}", "up", cost->up[s], "down", cost->down[s]))) {
            json_decref(links);
            return NULL;
        }
    return links;
}

static json_t *one_cost_json(const struct job *job, const struct cost *cost)
{
    return json_pack("{s:f,s:o,s:f,s:o}", "seconds", cost->seconds, "axes", axes_json(job, cost),
                     "bytes_above_leaf", cost->bytes_leaf, "uplinks", uplinks_json(job, cost));
}

json_t *plan_cost_json(const struct job *job, const struct plan *plan, const struct cost *which)
{
    json_t *cost = one_cost_json(job, which);
    json_t *defaults = json_pack("{s:o,s:o}", "name", one_cost_json(job, &plan->name_cost),
                                 "topology", one_cost_json(job, &plan->topology_cost));

    int failed =
        json_object_set_new(cost, "unit", json_string("seconds and bytes per step and direction"));
    failed |= json_object_set_new(cost, "default", defaults);
    if (failed) {
        json_decref(cost);
        return NULL;
    }
    return cost;
}

static json_t *source_json(const struct job *job)
{
    char *text = malloc(TRAFFIC_ITEMS_MAX * 120), *end = text;
    json_t *source = NULL;

    if (!text)
        return NULL;
    *end = 0;
    for (int i = 0; i < job->traffic.n; i++) {
        if (i)
            *end++ = ',';
        traffic_format(&job->traffic.items[i], &job->mesh, end, 119);
        end += strlen(end);
    }
    source =
        json_pack("{s:s,s:s,s:b}", "topology", job->cluster->source ? job->cluster->source : "none",
                  "traffic", text, "reference_traffic", job->traffic.reference);
    free(text);
    return source;
}

/* ---- the map ---- */

/* A shape for a node of which only the number of GPUs is known. */
static int counted_shape(struct berth_map *map, int gpus)
{
    struct berth_shape shape = {.n_gpus = gpus};
    int index;

    if (!(shape.gpus = calloc((size_t)gpus, sizeof(*shape.gpus))))
        return -1;
    for (int i = 0; i < gpus; i++)
        shape.gpus[i] = (struct berth_gpu){.index = i, .numa = -1};
    index = berth_map_add_shape(map, &shape);
    free(shape.gpus);
    return index;
}

static int add_paths(struct berth_map *map, const struct cluster *c, int node, int *paths, int room)
{
    int up[BERTH_LEVELS_MAX], n = c->nodes[node].n_leaves < room ? c->nodes[node].n_leaves : room;

    for (int k = 0; k < n; k++) {
        const char *names[BERTH_LEVELS_MAX];
        int depth = cluster_path(c, node, k, up, BERTH_LEVELS_MAX); /* cluster_finish's limit */
        for (int i = 0; i < depth; i++)
            names[i] = c->switches[up[i]].name;
        if ((paths[k] = berth_map_add_path(map, NULL, names, depth)) < 0)
            return -1;
    }
    return n;
}

static int add_node(struct berth_map *map, const struct job *job, int at, const int *ranks, int n,
                    int *slots, struct berth_error *err)
{
    const struct cluster *c = job->cluster;
    const struct cluster_node *node = &c->nodes[job->nodes[at]];
    int shape = -1, gpus = node->gpus, paths[BERTH_PATHS_MAX];

    if (node->shape >= 0) {
        shape = berth_map_add_shape(map, &c->shapes[node->shape]);
        gpus = c->shapes[node->shape].n_gpus;
    } else if (gpus > 0) {
        shape = counted_shape(map, gpus);
    }
    if (shape < 0 && gpus > 0)
        return berth_error_memory(err);
    /* more ranks than GPUs: neighbours share one */
    for (int i = 0; i < n; i++)
        slots[i] = gpus <= 0 ? -1 : n <= gpus ? i : (int)((long)i * gpus / n);
    int n_paths = add_paths(map, c, job->nodes[at], paths, BERTH_PATHS_MAX);
    if (n_paths < 0)
        return berth_error_memory(err);
    return berth_map_add_node(map, node->name, shape, ranks, slots, n, paths, n_paths, err);
}

struct berth_map *plan_map(const struct job *job, const struct plan *plan,
                           const struct placement *which, struct berth_error *err)
{
    const struct cost *cost = which == &plan->name       ? &plan->name_cost
                              : which == &plan->topology ? &plan->topology_cost
                                                         : &plan->planned_cost;
    size_t world = (size_t)job->mesh.world, nodes = (size_t)job->n_nodes;
    struct berth_map *map = berth_map_new(&job->mesh);
    int *ranks = malloc(world * sizeof(int)), *slots = malloc(world * sizeof(int));
    int *start = malloc(nodes * sizeof(int)), *filled = calloc(nodes, sizeof(int));
    int *order = malloc(nodes * sizeof(int)), n = 0, rv = -1;

    if (!map || !ranks || !slots || !start || !filled || !order) {
        berth_error_memory(err);
        goto out;
    }
    start[0] = 0;
    for (int i = 1; i < job->n_nodes; i++)
        start[i] = start[i - 1] + job->slots[i - 1];
    for (int r = 0; r < job->mesh.world; r++) {
        int node = which->node[r];
        if (filled[node] == 0)
            order[n++] = node;
        ranks[start[node] + filled[node]++] = r;
    }
    for (int i = 0; i < n; i++)
        if (add_node(map, job, order[i], &ranks[start[order[i]]], filled[order[i]], slots, err))
            goto out;
    map->cost = plan_cost_json(job, plan, cost);
    map->source = source_json(job);
    if (!map->cost || !map->source) {
        berth_error_memory(err);
        goto out;
    }
    rv = berth_map_finish(map, err);
out:
    free(ranks);
    free(slots);
    free(start);
    free(filled);
    free(order);
    if (rv) {
        berth_map_close(map);
        map = NULL;
    }
    return map;
}
