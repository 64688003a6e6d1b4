/*
 * berth show as text: the mesh, who runs where, how far each axis's groups reach, and what goes
 * over each leaf's uplink beside Slurm's name order. Large maps are summarised, never cut silently.
 */
#include "hostlist.h"
#include "meshspec.h"
#include "show.h"
#include <stdlib.h>
#include <string.h>

#define NODES_FULL 64 /* up to so many nodes each has its line; above, each leaf has */
#define LEAVES_SHOWN 32
#define GROUPS_SHOWN 4
#define BAR_WIDTH 24
#define LIST_MAX 72

static void heading(const struct show_options *o, FILE *out, const char *text)
{
    fprintf(out, o->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* "tp 0-7, pp 1, dp 3": the coordinates that these ranks cover. */
static char *coords_text(const struct berth_mesh *mesh, const int *ranks, int n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int a = 0; out && a < mesh->n_axes; a++) {
        int most = mesh->axes[a].size, found = 0;
        bool *seen = calloc(most, sizeof(*seen));
        int *values = calloc(most, sizeof(*values));
        for (int i = 0; seen && values && i < n; i++)
            seen[berth_mesh_coord(mesh, a, ranks[i])] = true;
        for (int v = 0; seen && values && v < most; v++)
            if (seen[v])
                values[found++] = v;
        char *list = values ? berth_ranges_format(values, found) : NULL;
        fprintf(out, "%s%s %.*s%s", a ? ", " : "", mesh->axes[a].name, LIST_MAX / 2,
                list ? list : "?", list && strlen(list) > LIST_MAX / 2 ? "..." : "");
        free(seen);
        free(values);
        free(list);
    }
    if (out)
        fclose(out);
    return text;
}

/* "ranks 0-7  tp 0-7, dp 3" */
static void print_ranks(const struct view *view, const int *ranks, int n, FILE *out)
{
    char *list = berth_ranges_format(ranks, n);
    char *coords = coords_text(&view->map->mesh, ranks, n);
    fprintf(out, "rank%s %.*s%s  (%s)", text_plural(n), LIST_MAX, list ? list : "?",
            list && strlen(list) > LIST_MAX ? "..." : "", coords ? coords : "?");
    free(list);
    free(coords);
}

static void print_mesh(const struct view *view, FILE *out)
{
    const struct berth_mesh *mesh = &view->map->mesh;
    const struct berth_map *map = view->map;
    fprintf(out, "%d rank%s on %d node%s, order %s: %s is the fastest axis\n", mesh->world,
            text_plural(mesh->world), map->n_nodes, text_plural(map->n_nodes), mesh->order,
            mesh->axes[0].name);
    fputs("(PyTorch's DeviceMesh lists the fastest last:", out);
    for (int a = mesh->n_axes - 1; a >= 0; a--)
        fprintf(out, " %s=%d", mesh->axes[a].name, mesh->axes[a].size);
    fputs(")\n", out);
    for (int a = 0; a < berth_mesh_count(mesh); a++) {
        const struct berth_axis *axis = &mesh->axes[a];
        int groups = berth_mesh_groups(mesh, a);
        fprintf(out, "  %-8s %5d ranks in a group, neighbours %d apart, %d group%s", axis->name,
                axis->size, axis->stride, groups, text_plural(groups));
        for (int i = 0; i < axis->over_count; i++)
            fprintf(out, "%s%s", i ? "+" : ", over ", mesh->axes[axis->over_first + i].name);
        fputc('\n', out);
    }
    char traffic[512];
    fprintf(out, "traffic per step: %s%s\n", view->reference ? "reference model: " : "",
            view_traffic_text(view, traffic, sizeof(traffic)));
    fprintf(out, "%s\n", map->hash);
}

/* ---- who runs where ---- */

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

/* The map's nodes of one leaf, in the map's order: `nodes`, n of them. */
static int print_leaf(const struct view *view, int leaf, const int *nodes, int n, FILE *out,
                      struct berth_error *err)
{
    const struct berth_map *map = view->map;
    const char **names = calloc(n, sizeof(*names));
    int *ranks = NULL, count = 0, rc = -1;
    char *list = NULL;
    for (int i = 0; i < n; i++)
        count += map->nodes[nodes[i]].n_ranks;
    ranks = calloc(count + 1, sizeof(*ranks));
    if (!names || !ranks) {
        berth_error_memory(err);
        goto out;
    }
    count = 0;
    for (int i = 0; i < n; i++) {
        const struct berth_map_node *node = &map->nodes[nodes[i]];
        names[i] = node->name;
        memcpy(ranks + count, map->node_ranks + node->first, node->n_ranks * sizeof(*ranks));
        count += node->n_ranks;
    }
    qsort(names, n, sizeof(*names), input_name_compare);
    qsort(ranks, count, sizeof(*ranks), compare_int);
    list = hostlist_compress(names, n);
    fprintf(out, "  %s  %d node%s %.*s%s  ", view->cluster->switches[leaf].name, n, text_plural(n),
            LIST_MAX, list ? list : "", list && strlen(list) > LIST_MAX ? "..." : "");
    print_ranks(view, ranks, count, out);
    fputc('\n', out);
    rc = 0;
out:
    free(names);
    free(ranks);
    free(list);
    return rc;
}

static void print_node(const struct view *view, int node, FILE *out)
{
    const struct berth_map_node *n = &view->map->nodes[node];
    fprintf(out, "    %-12s ", n->name);
    if (n->n_ranks > 0)
        print_ranks(view, view->map->node_ranks + n->first, n->n_ranks, out);
    else
        fputs("spare", out);
    fputc('\n', out);
}

static int leaf_of(const struct view *view, int map_node)
{
    int node = cluster_find_node(view->cluster, view->map->nodes[map_node].name);
    return view->cluster->nodes[node].leaves[0];
}

/* Nodes of the map gathered by leaf, leaves in the order of their first node. */
static int print_places(const struct view *view, FILE *out, struct berth_error *err)
{
    const struct berth_map *map = view->map;
    int n_switches = view->cluster->n_switches, shown = 0, leaves = 0, rc = -1;
    int *count = calloc(n_switches + 1, sizeof(*count));
    int *start = calloc(n_switches + 1, sizeof(*start));
    int *nodes = calloc(map->n_nodes + 1, sizeof(*nodes));
    int *order = calloc(n_switches + 1, sizeof(*order));
    if (!count || !start || !nodes || !order) {
        berth_error_memory(err);
        goto out;
    }
    for (int i = 0; i < map->n_nodes; i++)
        if (count[leaf_of(view, i)]++ == 0)
            order[leaves++] = leaf_of(view, i);
    for (int k = 1; k < leaves; k++)
        start[order[k]] = start[order[k - 1]] + count[order[k - 1]];
    for (int i = 0; i < map->n_nodes; i++)
        nodes[start[leaf_of(view, i)]++] = i;
    for (int k = 0; k < leaves && k < LEAVES_SHOWN; k++, shown++) {
        int leaf = order[k], first = start[leaf] - count[leaf];
        if (print_leaf(view, leaf, nodes + first, count[leaf], out, err) < 0)
            goto out;
        for (int i = 0; map->n_nodes <= NODES_FULL && i < count[leaf]; i++)
            print_node(view, nodes[first + i], out);
    }
    if (shown < leaves)
        fprintf(out, "  ... %d more leaves (--node NAME or --rank R shows one)\n", leaves - shown);
    rc = 0;
out:
    free(count);
    free(start);
    free(nodes);
    free(order);
    return rc;
}

/* ---- groups ---- */

static void print_group(const struct view *view, int axis, int group, int *mark, FILE *out)
{
    struct trace trace;
    char text[512];
    view_trace(view, &view->planned, axis, group, mark, &trace);
    fprintf(out, "  %s group %d: %d rank%s, %s\n", view->map->mesh.axes[axis].name, group,
            trace.ranks, text_plural(trace.ranks),
            trace_text(view, &trace, axis, text, sizeof(text)));
}

static void print_rest(const struct reach *reach, int more, FILE *out)
{
    const char *alike = reach->one_node == reach->groups   ? ", all alike: each on one node"
                        : reach->one_leaf == reach->groups ? ", all alike: each inside one leaf"
                                                           : "";
    fprintf(out, "  ... %d more%s\n", more, alike);
    if (!*alike)
        fprintf(out, "  of all %d: %d on one node, %d inside one leaf, %d across leaves\n",
                reach->groups, reach->one_node, reach->one_leaf, reach->crossing);
}

static int print_axis(const struct view *view, int axis, bool all, FILE *out,
                      struct berth_error *err)
{
    struct reach reach;
    int *mark = calloc(view->cluster->n_switches + 1, sizeof(*mark));
    if (!mark)
        return berth_error_memory(err);
    if (view_reach(view, &view->planned, axis, &reach, err) < 0) {
        free(mark);
        return -1;
    }
    int shown = all || reach.groups <= 2 * GROUPS_SHOWN ? reach.groups : GROUPS_SHOWN;
    for (int g = 0; g < shown; g++)
        print_group(view, axis, g, mark, out);
    if (shown < reach.groups && reach.crossing > 0 && reach.worst >= shown)
        print_group(view, axis, reach.worst, mark, out);
    if (shown < reach.groups)
        print_rest(&reach, reach.groups - shown, out);
    free(mark);
    return 0;
}

/* ---- cost ---- */

static void print_item(const struct view *view, int i, FILE *out)
{
    const struct traffic_item *item = &view->job.traffic.items[i];
    const struct cost_item *planned = &view->planned_cost.items[i],
                           *name = &view->name_cost.items[i];
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
    fprintf(out, "  %-8s %-13s %9s %9s", view->map->mesh.axes[item->axis].name,
            traffic_kind_name(item->kind), text_bytes(planned->bytes_leaf, a),
            text_bytes(name->bytes_leaf, b));
    if (view->rates)
        fprintf(out, " %11s %9s", text_seconds(planned->seconds, c),
                text_seconds(name->seconds, d));
    fputc('\n', out);
}

static void print_recorded(const struct view *view, FILE *out)
{
    json_t *cost = view->map->cost,
           *usual = json_object_get(json_object_get(cost, "default"), "name");
    json_t *planned = json_object_get(cost, "seconds"), *name = json_object_get(usual, "seconds");
    char a[TEXT_MAX], b[TEXT_MAX];
    if (!json_is_number(planned))
        return;
    fprintf(out, "  when it was made: %s per step", text_seconds(json_number_value(planned), a));
    if (json_is_number(name))
        fprintf(out, ", Slurm's name order %s", text_seconds(json_number_value(name), b));
    fputc('\n', out);
}

static void print_cost(const struct view *view, FILE *out)
{
    char a[TEXT_MAX], b[TEXT_MAX];
    fprintf(out, "  %-22s %9s %9s%s\n", "", "this map", "by name",
            view->rates ? "    this map   by name" : "");
    for (int i = 0; i < view->job.traffic.n; i++)
        print_item(view, i, out);
    if (view->rates)
        fprintf(out, "  communication per step %31s %9s\n",
                text_seconds(view->planned_cost.seconds, a),
                text_seconds(view->name_cost.seconds, b));
    print_recorded(view, out);
    if (!view->rates)
        fputs("  (no rates known: --cluster FILE gives times too)\n", out);
    if (view->reference)
        fputs("  (these are the reference model's bytes: `berth map --traffic` takes the job's)\n",
              out);
}

/* ---- uplinks ---- */

static void print_bar(double value, double most, FILE *out)
{
    int length = most > 0 ? (int)(value / most * BAR_WIDTH + 0.5) : 0;
    for (int i = 0; i < BAR_WIDTH; i++)
        fputc(i < length ? '#' : ' ', out);
}

struct uplink {
    double planned, name;
    int sw;
};

static int compare_uplink(const void *a, const void *b)
{
    const struct uplink *x = a, *y = b;
    double u = x->planned > x->name ? x->planned : x->name;
    double v = y->planned > y->name ? y->planned : y->name;
    return u > v ? -1 : u < v ? 1 : x->sw - y->sw;
}

static int print_uplinks(const struct view *view, FILE *out, struct berth_error *err)
{
    const struct cluster *c = view->cluster;
    struct uplink *links = calloc(c->n_switches + 1, sizeof(*links));
    int n = 0;
    char bytes[TEXT_MAX];
    if (!links)
        return berth_error_memory(err);
    for (int s = 0; s < c->n_switches; s++)
        if (view_is_loaded(view, s))
            links[n++] = (struct uplink){view_load(&view->planned_cost, s),
                                         view_load(&view->name_cost, s), s};
    qsort(links, n, sizeof(*links), compare_uplink);
    double most = n ? (links[0].planned > links[0].name ? links[0].planned : links[0].name) : 0;
    for (int i = 0; i < n && i < LEAVES_SHOWN; i++) {
        fprintf(out, "  %-12s this map ", c->switches[links[i].sw].name);
        print_bar(links[i].planned, most, out);
        fprintf(out, " %s\n  %-12s by name  ", text_bytes(links[i].planned, bytes), "");
        print_bar(links[i].name, most, out);
        fprintf(out, " %s\n", text_bytes(links[i].name, bytes));
    }
    if (n > LEAVES_SHOWN)
        fprintf(out, "  ... %d more, with less\n", n - LEAVES_SHOWN);
    if (n == 0)
        fputs("  nothing goes through an uplink\n", out);
    free(links);
    return 0;
}

int show_text(const struct view *view, const struct show_options *o, FILE *out,
              struct berth_error *err)
{
    const struct berth_mesh *mesh = &view->map->mesh;
    print_mesh(view, out);
    heading(o, out,
            view->switches ? "Leaf switches, nodes, ranks" : "Nodes and ranks (no switches known)");
    if (print_places(view, out, err) < 0)
        return -1;
    heading(o, out, "Groups and the leaves they cross");
    for (int a = 0; a < berth_mesh_count(mesh); a++)
        if ((o->axis < 0 || o->axis == a) && print_axis(view, a, o->axis == a, out, err) < 0)
            return -1;
    if (o->axis >= 0 || !view->switches)
        return 0;
    heading(o, out,
            view->rates ? "Bytes that leave a leaf, and time, per step"
                        : "Bytes that leave a leaf per step");
    print_cost(view, out);
    heading(o, out, "Bytes over each uplink per step, the busier direction");
    return print_uplinks(view, out, err);
}

/* ---- one rank, one node ---- */

int show_text_rank(const struct view *view, int rank, FILE *out, struct berth_error *err)
{
    const struct berth_map *map = view->map;
    const struct berth_mesh *mesh = &map->mesh;
    int slot = berth_map_slot(map, rank);
    const char *gpu = berth_map_gpu(map, rank);
    fprintf(out, "rank %d: node %s, local rank %d", rank,
            berth_map_node_name(map, berth_map_node_of(map, rank)),
            berth_map_local_rank(map, rank));
    if (slot >= 0)
        fprintf(out, ", slot %d%s%s", slot, gpu ? ", GPU " : "", gpu ? gpu : "");
    for (int level = 0;; level++) {
        const char *sw = berth_map_path_switch(map, berth_map_node_of(map, rank), 0, level);
        if (!sw)
            break;
        fprintf(out, "%s%s", level ? " < " : ", under ", sw);
    }
    fputc('\n', out);
    for (int a = 0; a < berth_mesh_count(mesh); a++) {
        int n = mesh->axes[a].size, group = berth_mesh_group(mesh, a, rank);
        int i = berth_mesh_coord(mesh, a, rank);
        int *ranks = calloc(n, sizeof(*ranks));
        if (!ranks)
            return berth_error_memory(err);
        for (int k = 0; k < n; k++)
            ranks[k] = berth_mesh_member(mesh, a, group, k);
        char *list = berth_ranges_format(ranks, n);
        fprintf(out, "  %-8s %d of %d in group %d, next is rank %d on %s; ranks %.*s%s\n",
                mesh->axes[a].name, i, n, group, ranks[(i + 1) % n],
                berth_map_node_name(map, berth_map_node_of(map, ranks[(i + 1) % n])), LIST_MAX,
                list ? list : "?", list && strlen(list) > LIST_MAX ? "..." : "");
        free(list);
        free(ranks);
    }
    return 0;
}

int show_text_node(const struct view *view, int node, FILE *out, struct berth_error *err)
{
    const struct berth_map *map = view->map;
    const int *ranks;
    int n = berth_map_node_ranks(map, node, &ranks);
    fprintf(out, "node %s: %d rank%s", map->nodes[node].name, n, text_plural(n));
    for (int path = 0; path < berth_map_paths(map, node); path++) {
        const char *nic = berth_map_path_nic(map, node, path), *sw;
        fprintf(out, "%s%s%s", path ? "; " : ", under ", nic ? nic : "", nic ? " to " : "");
        for (int level = 0; (sw = berth_map_path_switch(map, node, path, level)); level++)
            fprintf(out, "%s%s", level ? " < " : "", sw);
    }
    fputc('\n', out);
    for (int i = 0; i < n; i++) {
        char *coords = coords_text(&map->mesh, &ranks[i], 1);
        const char *gpu = berth_map_gpu(map, ranks[i]);
        if (!coords)
            return berth_error_memory(err);
        fprintf(out, "  local %d  rank %-6d slot %-3d %s%s%s\n", i, ranks[i],
                berth_map_slot(map, ranks[i]), coords, gpu ? "  GPU " : "", gpu ? gpu : "");
        free(coords);
    }
    return 0;
}
