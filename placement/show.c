/*
 * From a rank map back to a cluster and a job, and what follows from them: who crosses which
 * switch, the cost of this order and of Slurm's own.
 */
#include "show.h"
#include <stdlib.h>
#include <string.h>

/* Switches in the order in which siblings shall stand. */
static int *switch_order(const struct cluster *c, bool by_name)
{
    char **names = calloc(c->n_switches + 1, sizeof(*names));
    int *order = calloc(c->n_switches + 1, sizeof(*order));
    for (int s = 0; names && s < c->n_switches; s++)
        names[s] = c->switches[s].name;
    if (names && by_name)
        qsort(names, c->n_switches, sizeof(*names), input_name_compare);
    for (int s = 0; names && order && s < c->n_switches; s++)
        order[s] = cluster_find_switch(c, names[s]);
    if (!names) {
        free(order);
        order = NULL;
    }
    free(names);
    return order;
}

int tree_init(struct tree *tree, const struct cluster *c, bool by_name, struct berth_error *err)
{
    int *order = switch_order(c, by_name);
    tree->root = -1;
    tree->child = calloc(c->n_switches + 1, sizeof(int));
    tree->sibling = calloc(c->n_switches + 1, sizeof(int));
    if (!order || !tree->child || !tree->sibling) {
        free(order);
        tree_clear(tree);
        return berth_error_memory(err);
    }
    for (int s = 0; s < c->n_switches; s++)
        tree->child[s] = -1;
    for (int i = c->n_switches - 1; i >= 0; i--) {
        int parent = c->switches[order[i]].parent;
        int *head = parent >= 0 ? &tree->child[parent] : &tree->root;
        tree->sibling[order[i]] = *head;
        *head = order[i];
    }
    free(order);
    return 0;
}

void tree_clear(struct tree *tree)
{
    free(tree->child);
    free(tree->sibling);
    tree->child = tree->sibling = NULL;
}

/* ---- the cluster that a map describes ---- */

static int add_path(struct cluster *c, const struct berth_map *map, const struct berth_path *path,
                    int node, struct berth_error *err)
{
    for (int i = 0; i < path->n_switches; i++) {
        int known = c->n_switches, sw = cluster_add_switch(c, path->switches[i]);
        int below = i ? cluster_find_switch(c, path->switches[i - 1]) : -1;
        if (sw < 0)
            return berth_error_memory(err);
        if (sw == known)
            c->switches[sw].parent = -1;
        if (below >= 0 && c->switches[below].parent >= 0 && c->switches[below].parent != sw)
            return berth_error_set(err, BERTH_EINPUT,
                                   "nodes[%d].paths: switch %.100s is below %.100s here and below "
                                   "%.100s on another node",
                                   node, path->switches[i - 1], path->switches[i],
                                   c->switches[c->switches[below].parent].name);
        if (below >= 0)
            c->switches[below].parent = sw;
    }
    int at = cluster_find_node(c, map->nodes[node].name);
    int leaf = path->n_switches ? cluster_find_switch(c, path->switches[0]) : -1;
    if (leaf >= 0 && cluster_attach(c, at, leaf) < 0)
        return berth_error_memory(err);
    return 0;
}

static int add_node(struct cluster *c, const struct berth_map *map, int node,
                    struct berth_error *err)
{
    const struct berth_map_node *n = &map->nodes[node];
    int at = cluster_add_node(c, n->name);
    if (at < 0)
        return berth_error_memory(err);
    if (n->shape >= 0) {
        c->nodes[at].shape = cluster_add_shape(c, &map->shapes[n->shape]);
        c->nodes[at].gpus = map->shapes[n->shape].n_gpus;
        if (c->nodes[at].shape < 0)
            return berth_error_memory(err);
    }
    for (int i = 0; i < n->n_paths; i++)
        if (add_path(c, map, &map->paths[map->node_paths[n->first_path + i]], node, err) < 0)
            return -1;
    return 0;
}

static struct cluster *cluster_of_map(const struct berth_map *map, struct berth_error *err)
{
    struct cluster *c = cluster_new();
    if (!c || !(c->source = strdup("the map"))) {
        berth_error_memory(err);
        goto fail;
    }
    for (int i = 0; i < map->n_nodes; i++)
        if (add_node(c, map, i, err) < 0)
            goto fail;
    if (cluster_finish(c, c->source, err) == 0)
        return c;
fail:
    cluster_free(c);
    return NULL;
}

/* Nodes that nothing puts under a switch get one of their own, so that everything else need not
 * ask. */
static int attach_rest(struct view *view, struct berth_error *err)
{
    struct cluster *c = view->cluster;
    view->switches = c->n_switches > 0;
    for (int i = 0; i < view->map->n_nodes; i++) {
        int node = cluster_find_node(c, view->map->nodes[i].name);
        if (c->nodes[node].n_leaves > 0)
            continue;
        int known = c->n_switches, none = cluster_add_switch(c, SHOW_NO_SWITCH);
        if (none == known)
            c->switches[none].parent = -1;
        if (none < 0 || cluster_attach(c, node, none) < 0)
            return berth_error_memory(err);
    }
    return cluster_finish(c, c->source, err);
}

static bool has_rates(const struct cluster *c)
{
    for (int i = 0; i < c->n_switches; i++)
        if (c->switches[i].uplink > 0)
            return true;
    for (int i = 0; i < c->n_nodes; i++)
        if (c->nodes[i].rate > 0)
            return true;
    return false;
}

static int load_cluster(struct view *view, const struct input *files, struct berth_error *err)
{
    view->cluster = cluster_of_map(view->map, err);
    if (!view->cluster)
        return -1;
    if (files->n_files > 0) {
        struct cluster *more = cluster_read_files(files->files, files->n_files, err);
        int rc = more ? cluster_merge(view->cluster, more, err) : -1;
        cluster_free(more);
        if (rc < 0)
            return -1;
    }
    view->rates = has_rates(view->cluster);
    return attach_rest(view, err);
}

/* ---- the job ---- */

/* The map's nodes that have ranks, as Slurm sorts them. */
static char **sorted_names(const struct berth_map *map, int *n)
{
    char **names = calloc(map->n_nodes + 1, sizeof(*names));
    *n = 0;
    for (int i = 0; names && i < map->n_nodes; i++)
        if (map->nodes[i].n_ranks > 0)
            names[(*n)++] = map->nodes[i].name;
    if (names)
        qsort(names, *n, sizeof(*names), input_name_compare);
    return names;
}

static int load_traffic(struct view *view, struct traffic *traffic, struct berth_error *err)
{
    const char *text = berth_map_traffic(view->map);
    view->reference =
        !text || json_is_true(json_object_get(view->map->source, "reference_traffic"));
    if (traffic_parse_or_reference(text, &view->map->mesh, traffic, err) < 0)
        return berth_error_prefix(err, "source.traffic");
    return 0;
}

static int load_job(struct view *view, struct berth_error *err)
{
    const struct berth_map *map = view->map;
    struct traffic traffic;
    int n = 0, rc = -1;
    char **names = sorted_names(map, &n);
    int *slots = calloc(n + 1, sizeof(*slots));
    view->at = calloc(map->n_nodes + 1, sizeof(*view->at));
    view->leaf = calloc(n + 1, sizeof(*view->leaf));
    if (!names || !slots || !view->at || !view->leaf) {
        berth_error_memory(err);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        int node = berth_map_node(map, names[i]);
        slots[i] = map->nodes[node].n_ranks;
        view->at[node] = i;
        view->leaf[i] = view->cluster->nodes[cluster_find_node(view->cluster, names[i])].leaves[0];
    }
    if (load_traffic(view, &traffic, err) == 0)
        rc = job_init(&view->job, view->cluster, &map->mesh, &traffic, names, slots, 0, n, err);
out:
    free(names);
    free(slots);
    return rc;
}

static int evaluate(struct view *view, struct berth_error *err)
{
    struct cost_model *model = cost_model_new(&view->job, err);
    int rc = -1;
    if (!model)
        return -1;
    if (cost_init(&view->planned_cost, &view->job, err) < 0 ||
        cost_init(&view->name_cost, &view->job, err) < 0)
        goto out;
    cost_evaluate(model, &view->planned, &view->planned_cost);
    cost_evaluate(model, &view->name, &view->name_cost);
    rc = 0;
out:
    cost_model_free(model);
    return rc;
}

int view_init(struct view *view, const struct berth_map *map, const struct input *files,
              struct berth_error *err)
{
    memset(view, 0, sizeof(*view));
    view->map = map;
    if (load_cluster(view, files, err) < 0 || load_job(view, err) < 0 ||
        placement_init(&view->planned, map->mesh.world, err) < 0 ||
        placement_default(&view->job, PLACEMENT_NAME, &view->name, err) < 0)
        return -1;
    for (int r = 0; r < map->mesh.world; r++)
        view->planned.node[r] = view->at[berth_map_node_of(map, r)];
    return evaluate(view, err);
}

void view_clear(struct view *view)
{
    cost_clear(&view->planned_cost);
    cost_clear(&view->name_cost);
    placement_clear(&view->planned);
    placement_clear(&view->name);
    job_clear(&view->job);
    free(view->at);
    free(view->leaf);
    cluster_free(view->cluster);
    memset(view, 0, sizeof(*view));
}

/* ---- questions ---- */

const char *view_traffic_text(const struct view *view, char *buf, size_t size)
{
    char bytes[TEXT_MAX];
    size_t used = 0;
    snprintf(buf, size, "none");
    for (int i = 0; i < view->job.traffic.n && used < size; i++) {
        const struct traffic_item *item = &view->job.traffic.items[i];
        used += snprintf(buf + used, size - used, "%s%s %s %s", i ? ", " : "",
                         view->map->mesh.axes[item->axis].name, traffic_kind_name(item->kind),
                         text_bytes(item->bytes, bytes));
        if (item->count != 1 && used < size)
            used += snprintf(buf + used, size - used, " x%.6g", item->count);
        if (item->exposed != 1 && used < size)
            used += snprintf(buf + used, size - used, " (%.3g%% exposed)", 100 * item->exposed);
    }
    return buf;
}

double view_load(const struct cost *cost, int sw)
{
    return cost->up[sw] > cost->down[sw] ? cost->up[sw] : cost->down[sw];
}

bool view_is_loaded(const struct view *view, int sw)
{
    return view_load(&view->planned_cost, sw) + view_load(&view->name_cost, sw) > 0 &&
           strcmp(view->cluster->switches[sw].name, SHOW_NO_SWITCH) != 0;
}

int view_main_axis(const struct view *view)
{
    const struct traffic *traffic = &view->job.traffic;
    const struct berth_mesh *mesh = &view->map->mesh;
    double bytes[BERTH_AXES_MAX] = {0};
    int best = 0;
    for (int i = 0; i < traffic->n; i++) {
        double planned = view->planned_cost.items[i].bytes_leaf;
        double name = view->name_cost.items[i].bytes_leaf;
        bytes[traffic->items[i].axis] += planned > name ? planned : name;
    }
    for (int a = 1; a < berth_mesh_count(mesh); a++)
        if (bytes[a] > bytes[best] ||
            (bytes[a] == bytes[best] && mesh->axes[a].size > mesh->axes[best].size))
            best = a;
    return best;
}

enum group_form view_form(const struct view *view, int axis)
{
    const struct traffic *traffic = &view->job.traffic;
    bool ring = false, pairs = false, chain = false;
    for (int i = 0; i < traffic->n; i++) {
        if (traffic->items[i].axis != axis)
            continue;
        if (traffic->items[i].kind == TRAFFIC_ALLTOALL)
            pairs = true;
        else if (traffic_is_chain(&traffic->items[i], &view->map->mesh))
            chain = true;
        else
            ring = true;
    }
    return ring ? GROUP_RING : pairs ? GROUP_PAIRS : chain ? GROUP_CHAIN : GROUP_RING;
}

void view_trace(const struct view *view, const struct placement *p, int axis, int group, int *mark,
                struct trace *out)
{
    const struct berth_mesh *mesh = &view->map->mesh;
    enum group_form form = view_form(view, axis);
    int n = mesh->axes[axis].size, first = p->node[berth_mesh_member(mesh, axis, group, 0)];
    int before = -1;
    long together = 0, edges = 0;
    *out = (struct trace){.ranks = n, .nodes = 1};
    for (int i = 0; i < n; i++) {
        int node = p->node[berth_mesh_member(mesh, axis, group, i)], leaf = view->leaf[node];
        out->nodes = node == first ? out->nodes : 2;
        out->leaves += mark[leaf] == 0;
        together += mark[leaf]++;
        if (leaf == before)
            continue;
        edges += before >= 0;
        before = leaf;
        if (out->n_stops < TRACE_STOPS)
            out->stops[out->n_stops] = leaf;
        out->n_stops++;
    }
    out->closed = form == GROUP_RING && out->n_stops > 1;
    if (out->closed && before != view->leaf[first])
        edges++;
    out->crossings = form == GROUP_PAIRS ? (long)n * (n - 1) / 2 - together : edges;
    for (int i = 0; i < n; i++)
        mark[view->leaf[p->node[berth_mesh_member(mesh, axis, group, i)]]] = 0;
}

#define TRACE_TAIL 42 /* room for " -> ... (N more), crosses M uplinks" */

const char *trace_text(const struct view *view, const struct trace *trace, int axis, char *buf,
                       size_t size)
{
    const struct cluster_switch *switches = view->cluster->switches;
    enum group_form form = view_form(view, axis);
    int shown = trace->n_stops < TRACE_STOPS ? trace->n_stops : TRACE_STOPS;
    size_t used = 0;
    if (trace->leaves == 1) {
        snprintf(buf, size, "inside %s%.255s", trace->nodes == 1 ? "one node of " : "",
                 switches[trace->stops[0]].name);
        return buf;
    }
    if (form == GROUP_PAIRS) {
        snprintf(buf, size, "over %d leaves, %ld of %ld pairs between leaves", trace->leaves,
                 trace->crossings, (long)trace->ranks * (trace->ranks - 1) / 2);
        return buf;
    }
    for (int i = 0; i < shown; i++) {
        const char *name = switches[trace->stops[i]].name;
        if (used + strlen(name) + TRACE_TAIL > size) {
            shown = i;
            break;
        }
        used += snprintf(buf + used, size - used, "%s%s", i ? " -> " : "", name);
    }
    if (used < size && shown < trace->n_stops)
        used += snprintf(buf + used, size - used, " -> ... (%d more)", trace->n_stops - shown);
    if (used < size)
        snprintf(buf + used, size - used, ", crosses %ld uplink%s", trace->crossings,
                 trace->crossings == 1 ? "" : "s");
    return buf;
}

int view_reach(const struct view *view, const struct placement *p, int axis, struct reach *out,
               struct berth_error *err)
{
    int *mark = calloc(view->cluster->n_switches + 1, sizeof(*mark));
    struct trace trace;
    if (!mark)
        return berth_error_memory(err);
    *out = (struct reach){.groups = berth_mesh_groups(&view->map->mesh, axis)};
    for (int g = 0; g < out->groups; g++) {
        view_trace(view, p, axis, g, mark, &trace);
        out->one_node += trace.nodes == 1;
        out->one_leaf += trace.nodes > 1 && trace.leaves == 1;
        out->crossing += trace.leaves > 1;
        if (trace.crossings > out->worst_crossings) {
            out->worst_crossings = trace.crossings;
            out->worst = g;
        }
    }
    free(mark);
    return 0;
}
