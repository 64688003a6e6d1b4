/*
 * Questions to a finished map. All answers point into it; nothing here allocates, fails otherwise
 * than by -1 or NULL, or changes the map.
 */
#include "map.h"
#include "map_index.h"

static bool has_axis(const struct berth_map *map, int axis)
{
    return axis >= 0 && axis < berth_mesh_count(&map->mesh);
}

static bool has_rank(const struct berth_map *map, int rank)
{
    return rank >= 0 && rank < map->mesh.world;
}

static bool has_node(const struct berth_map *map, int node)
{
    return node >= 0 && node < map->n_nodes;
}

/* ---- the mesh ---- */

int berth_map_world(const struct berth_map *map)
{
    return map->mesh.world;
}

const char *berth_map_order(const struct berth_map *map)
{
    return map->mesh.order;
}

const char *berth_map_hash(const struct berth_map *map)
{
    return map->hash;
}

int berth_map_axes(const struct berth_map *map)
{
    return berth_mesh_count(&map->mesh);
}

int berth_map_derived_axes(const struct berth_map *map)
{
    return map->mesh.n_derived;
}

int berth_map_axis(const struct berth_map *map, const char *name)
{
    return berth_mesh_axis(&map->mesh, name);
}

const char *berth_map_axis_name(const struct berth_map *map, int axis)
{
    return has_axis(map, axis) ? map->mesh.axes[axis].name : NULL;
}

int berth_map_axis_size(const struct berth_map *map, int axis)
{
    return has_axis(map, axis) ? map->mesh.axes[axis].size : -1;
}

int berth_map_coord(const struct berth_map *map, int axis, int rank)
{
    return has_axis(map, axis) && has_rank(map, rank) ? berth_mesh_coord(&map->mesh, axis, rank)
                                                      : -1;
}

int berth_map_group(const struct berth_map *map, int axis, int rank)
{
    return has_axis(map, axis) && has_rank(map, rank) ? berth_mesh_group(&map->mesh, axis, rank)
                                                      : -1;
}

int berth_map_group_ranks(const struct berth_map *map, int axis, int group, int *ranks, int room)
{
    if (!has_axis(map, axis) || group < 0 || group >= berth_mesh_groups(&map->mesh, axis))
        return -1;
    int size = map->mesh.axes[axis].size;
    if (room < size)
        return -1;
    for (int i = 0; i < size; i++)
        ranks[i] = berth_mesh_member(&map->mesh, axis, group, i);
    return size;
}

const char *berth_map_traffic(const struct berth_map *map)
{
    return json_string_value(json_object_get(map->source, "traffic"));
}

/* ---- where ranks run ---- */

int berth_map_nodes(const struct berth_map *map)
{
    return map->n_nodes;
}

int berth_map_node(const struct berth_map *map, const char *name)
{
    return map_index_find(map, name);
}

const char *berth_map_node_name(const struct berth_map *map, int node)
{
    return has_node(map, node) ? map->nodes[node].name : NULL;
}

int berth_map_node_ranks(const struct berth_map *map, int node, const int **ranks)
{
    if (!has_node(map, node))
        return -1;
    if (ranks)
        *ranks = map->node_ranks + map->nodes[node].first;
    return map->nodes[node].n_ranks;
}

int berth_map_node_of(const struct berth_map *map, int rank)
{
    return has_rank(map, rank) ? map->rank_node[rank] : -1;
}

int berth_map_local_rank(const struct berth_map *map, int rank)
{
    return has_rank(map, rank) ? map->rank_at[rank] - map->nodes[map->rank_node[rank]].first : -1;
}

int berth_map_slot(const struct berth_map *map, int rank)
{
    return has_rank(map, rank) ? map->node_slots[map->rank_at[rank]] : -1;
}

const char *berth_map_gpu(const struct berth_map *map, int rank)
{
    int slot = berth_map_slot(map, rank);
    int shape = slot >= 0 ? map->nodes[map->rank_node[rank]].shape : -1;
    return shape >= 0 ? map->shapes[shape].gpus[slot].pci : NULL;
}

static const struct berth_path *find_path(const struct berth_map *map, int node, int path)
{
    if (!has_node(map, node) || path < 0 || path >= map->nodes[node].n_paths)
        return NULL;
    return &map->paths[map->node_paths[map->nodes[node].first_path + path]];
}

int berth_map_paths(const struct berth_map *map, int node)
{
    return has_node(map, node) ? map->nodes[node].n_paths : -1;
}

const char *berth_map_path_switch(const struct berth_map *map, int node, int path, int level)
{
    const struct berth_path *p = find_path(map, node, path);
    return p && level >= 0 && level < p->n_switches ? p->switches[level] : NULL;
}

const char *berth_map_path_nic(const struct berth_map *map, int node, int path)
{
    const struct berth_path *p = find_path(map, node, path);
    return p ? p->nic : NULL;
}
