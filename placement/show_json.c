/*
 * berth show --json: what the map itself does not spell out, for scripts: how far groups reach,
 * bytes per uplink, predicted times. One object; one rank's or one node's on request.
 */
#include "show.h"
#include <stdlib.h>

/* What was built, or NULL where memory failed a part of it. */
static json_t *whole(json_t *json, int failed)
{
    if (!failed)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *axis_json(const struct view *view, int axis)
{
    const struct berth_axis *a = &view->map->mesh.axes[axis];
    struct reach reach;
    if (view_reach(view, &view->planned, axis, &reach, NULL) < 0)
        return NULL;
    return json_pack("{s:s, s:i, s:i, s:b, s:{s:i, s:i, s:i, s:i, s:I}}", "name", a->name, "size",
                     a->size, "stride", a->stride, "derived", a->over_count > 0, "groups", "count",
                     reach.groups, "one_node", reach.one_node, "one_leaf", reach.one_leaf,
                     "across_leaves", reach.crossing, "most_crossings",
                     (json_int_t)reach.worst_crossings);
}

static json_t *uplinks_json(const struct view *view)
{
    const struct cluster *c = view->cluster;
    json_t *links = json_array();
    int failed = 0;
    for (int s = 0; s < c->n_switches; s++) {
        const struct cost *p = &view->planned_cost, *n = &view->name_cost;
        if (!view_is_loaded(view, s))
            continue;
        failed |= json_array_append_new(links, json_pack("{s:s, s:i, s:{s:f, s:f}, s:{s:f, s:f}}",
                                                         "switch", c->switches[s].name, "level",
                                                         c->switches[s].level, "map", "up",
                                                         p->up[s], "down", p->down[s], "name_order",
                                                         "up", n->up[s], "down", n->down[s]));
    }
    return whole(links, failed);
}

static json_t *traffic_json(const struct view *view)
{
    json_t *items = json_array();
    int failed = 0;
    for (int i = 0; i < view->job.traffic.n; i++) {
        const struct traffic_item *item = &view->job.traffic.items[i];
        const struct cost_item *p = &view->planned_cost.items[i], *n = &view->name_cost.items[i];
        failed |= json_array_append_new(
            items, json_pack("{s:s, s:s, s:f, s:f, s:f, s:{s:f, s:f}, s:{s:f, s:f}}", "axis",
                             view->map->mesh.axes[item->axis].name, "collective",
                             traffic_kind_name(item->kind), "bytes", item->bytes, "count",
                             item->count, "exposed", item->exposed, "map", "seconds", p->seconds,
                             "bytes_above_leaf", p->bytes_leaf, "name_order", "seconds", n->seconds,
                             "bytes_above_leaf", n->bytes_leaf));
    }
    return whole(items, failed);
}

json_t *show_json(const struct view *view)
{
    const struct berth_map *map = view->map;
    json_t *axes = json_array();
    int failed = 0;
    for (int a = 0; a < berth_mesh_count(&map->mesh); a++)
        failed |= json_array_append_new(axes, axis_json(view, a));
    return json_pack("{s:i, s:i, s:s, s:s, s:o, s:o, s:b, s:b, s:{s:f, s:f}, s:o, s:O*}", "world",
                     map->mesh.world, "nodes", map->n_nodes, "order", map->mesh.order, "hash",
                     map->hash, "axes", whole(axes, failed), "traffic", traffic_json(view),
                     "reference_traffic", view->reference, "rates_known", view->rates, "seconds",
                     "map", view->planned_cost.seconds, "name_order", view->name_cost.seconds,
                     "uplinks", uplinks_json(view), "recorded_cost", map->cost);
}

static json_t *coords_json(const struct berth_map *map, int rank)
{
    json_t *coords = json_object();
    int failed = 0;
    for (int a = 0; a < berth_mesh_count(&map->mesh); a++)
        failed |= json_object_set_new(
            coords, map->mesh.axes[a].name,
            json_pack("{s:i, s:i, s:i}", "coord", berth_mesh_coord(&map->mesh, a, rank), "size",
                      map->mesh.axes[a].size, "group", berth_mesh_group(&map->mesh, a, rank)));
    return whole(coords, failed);
}

json_t *show_json_rank(const struct view *view, int rank)
{
    const struct berth_map *map = view->map;
    int node = berth_map_node_of(map, rank), slot = berth_map_slot(map, rank);
    json_t *json =
        json_pack("{s:i, s:s, s:i, s:o}", "rank", rank, "node", map->nodes[node].name, "local_rank",
                  berth_map_local_rank(map, rank), "axes", coords_json(map, rank));
    int failed = 0;
    if (slot >= 0)
        failed |= json_object_set_new(json, "slot", json_integer(slot));
    if (berth_map_gpu(map, rank))
        failed |= json_object_set_new(json, "gpu", json_string(berth_map_gpu(map, rank)));
    return whole(json, failed);
}

json_t *show_json_node(const struct view *view, int node)
{
    const struct berth_map *map = view->map;
    const int *ranks;
    int n = berth_map_node_ranks(map, node, &ranks);
    json_t *list = json_array(), *paths = json_array();
    int failed = 0;
    for (int i = 0; i < n; i++)
        failed |= json_array_append_new(list, show_json_rank(view, ranks[i]));
    for (int p = 0; p < berth_map_paths(map, node); p++) {
        json_t *path = json_array();
        const char *sw;
        for (int level = 0; (sw = berth_map_path_switch(map, node, p, level)); level++)
            failed |= json_array_append_new(path, json_string(sw));
        failed |= json_array_append_new(paths, path);
    }
    return json_pack("{s:s, s:o, s:o}", "node", map->nodes[node].name, "ranks", whole(list, failed),
                     "switches", paths);
}
