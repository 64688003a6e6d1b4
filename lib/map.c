/*
 * Making a rank map piece by piece, and taking it apart. Nothing is judged here that needs the
 * whole map; berth_map_finish() does that.
 */
#include "config.h"

#include "error.h"
#include "map.h"

#include <ctype.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Entries of the trees: a shallow copy, whose strings the map's arrays own, and its index. */
struct path_entry {
    struct berth_path path;
    int index;
};

struct shape_entry {
    struct berth_shape shape;
    int index;
};

struct berth_map *berth_map_new(const struct berth_mesh *mesh)
{
    struct berth_map *map = calloc(1, sizeof(*map));
    if (map)
        map->mesh = *mesh;
    return map;
}

static void path_clear(struct berth_path *path)
{
    for (int i = 0; path->switches && i < path->n_switches; i++)
        free(path->switches[i]);
    free(path->switches);
    free(path->nic);
}

void berth_map_close(struct berth_map *map)
{
    if (!map)
        return;
    for (int i = 0; i < map->n_shapes; i++)
        berth_shape_clear(&map->shapes[i]);
    for (int i = 0; i < map->n_paths; i++)
        path_clear(&map->paths[i]);
    for (int i = 0; i < map->n_nodes; i++)
        free(map->nodes[i].name);
    tdestroy(map->path_tree, free);
    tdestroy(map->shape_tree, free);
    json_decref(map->cost);
    json_decref(map->source);
    free(map->shapes);
    free(map->paths);
    free(map->nodes);
    free(map->node_ranks);
    free(map->node_slots);
    free(map->node_paths);
    free(map->rank_at);
    free(map->rank_node);
    free(map->by_name);
    free(map);
}

/* Room for `more` elements after `used`, doubling; -1 on no memory. */
static int reserve(void *array, size_t *room, size_t used, size_t more, size_t size)
{
    if (used + more <= *room)
        return 0;
    size_t want = *room * 2 > used + more ? *room * 2 : used + more;
    void *grown = realloc(*(void **)array, want * size);
    if (!grown)
        return -1;
    *(void **)array = grown;
    *room = want;
    return 0;
}

/* For the arrays that have no room of their own: it grows when the count is a power of two. */
static int reserve_one(void *array, int used, size_t size)
{
    if ((used & (used - 1)) != 0)
        return 0;
    void *grown = realloc(*(void **)array, (used ? 2 * (size_t)used : 1) * size);
    if (!grown)
        return -1;
    *(void **)array = grown;
    return 0;
}

/* ---- shapes and paths ---- */

static int compare_shapes(const void *a, const void *b)
{
    return berth_shape_compare(&((const struct shape_entry *)a)->shape,
                               &((const struct shape_entry *)b)->shape);
}

static int compare_names(const char *a, const char *b)
{
    return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_paths(const void *a, const void *b)
{
    const struct berth_path *x = &((const struct path_entry *)a)->path;
    const struct berth_path *y = &((const struct path_entry *)b)->path;
    int order = x->n_switches - y->n_switches;
    for (int i = 0; order == 0 && i < x->n_switches; i++)
        order = strcmp(x->switches[i], y->switches[i]);
    return order ? order : compare_names(x->nic, y->nic);
}

/* Puts a copy of an entry into its tree; -1 on no memory. */
static int plant(void **tree, const void *entry, size_t size,
                 int (*compare)(const void *, const void *))
{
    void *copy = malloc(size);
    if (!copy)
        return -1;
    memcpy(copy, entry, size);
    if (!tsearch(copy, tree, compare)) {
        free(copy);
        return -1;
    }
    return 0;
}

int berth_map_append_shape(struct berth_map *map, struct berth_shape *shape)
{
    if (reserve_one(&map->shapes, map->n_shapes, sizeof(*map->shapes))) {
        berth_shape_clear(shape);
        return -1;
    }
    map->shapes[map->n_shapes] = *shape;
    return map->n_shapes++;
}

int berth_map_add_shape(struct berth_map *map, const struct berth_shape *shape)
{
    struct shape_entry entry = {*shape, map->n_shapes};
    struct shape_entry **found = tfind(&entry, &map->shape_tree, compare_shapes);
    if (found)
        return (*found)->index;
    if (berth_shape_copy(&entry.shape, shape) || berth_map_append_shape(map, &entry.shape) < 0)
        return -1;
    return plant(&map->shape_tree, &entry, sizeof(entry), compare_shapes) ? -1 : entry.index;
}

static int path_copy(struct berth_path *to, const char *nic, const char *const *switches, int n)
{
    *to = (struct berth_path){.n_switches = n};
    to->switches = calloc(n + 1, sizeof(char *));
    to->nic = nic ? strdup(nic) : NULL;
    bool copied = to->switches && (!nic || to->nic);
    for (int i = 0; copied && i < n; i++)
        copied = (to->switches[i] = strdup(switches[i])) != NULL;
    if (copied)
        return 0;
    path_clear(to);
    return -1;
}

int berth_map_add_path(struct berth_map *map, const char *nic, const char *const *switches, int n)
{
    struct path_entry entry = {{(char *)nic, n, (char **)switches}, map->n_paths};
    struct path_entry **found = tfind(&entry, &map->path_tree, compare_paths);
    if (found)
        return (*found)->index;
    if (reserve_one(&map->paths, map->n_paths, sizeof(*map->paths)) ||
        path_copy(&entry.path, nic, switches, n))
        return -1;
    map->paths[map->n_paths++] = entry.path;
    return plant(&map->path_tree, &entry, sizeof(entry), compare_paths) ? -1 : entry.index;
}

/* ---- nodes ---- */

static bool name_is_sound(const char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || (name[length] && strchr("._-", name[length])))
        length++;
    return length > 0 && length <= BERTH_NAME_MAX && name[length] == '\0' && name[0] != '-';
}

static int check_node(const struct berth_map *map, const char *name, int n, int n_paths,
                      struct berth_error *err)
{
    int node = map->n_nodes;
    if (!name_is_sound(name))
        return berth_error_set(err, BERTH_EINPUT,
                               "nodes[%d].name: \"%.80s\" cannot be a node's name: use letters, "
                               "digits, '.', '_' and '-', at most %d",
                               node, name, BERTH_NAME_MAX);
    if (n < 0 || n > BERTH_NODE_RANKS_MAX)
        return berth_error_set(err, BERTH_EINPUT,
                               "nodes[%d].ranks: %d ranks; a node has at most %d", node, n,
                               BERTH_NODE_RANKS_MAX);
    if (n_paths < 0 || n_paths > BERTH_PATHS_MAX)
        return berth_error_set(err, BERTH_EINPUT,
                               "nodes[%d].paths: %d paths; a node has at most %d", node, n_paths,
                               BERTH_PATHS_MAX);
    if (map->n_node_paths > INT_MAX - n_paths || map->n_nodes == INT_MAX / 2)
        return berth_error_set(err, BERTH_EINPUT, "nodes[%d]: too many nodes", node);
    /* One node beyond the world is let in: berth_map_finish() then finds which rank is wrong. */
    if (map->n_node_ranks > map->mesh.world)
        return berth_error_set(err, BERTH_EINPUT,
                               "nodes[%d].ranks: the nodes before it have more ranks already than "
                               "the world's %d",
                               node, map->mesh.world);
    return 0;
}

static int reserve_ranks(struct berth_map *map, int n)
{
    size_t room = map->room_ranks;
    if (reserve(&map->node_ranks, &room, map->n_node_ranks, n, sizeof(int)))
        return -1;
    room = map->room_ranks;
    if (reserve(&map->node_slots, &room, map->n_node_ranks, n, sizeof(int)))
        return -1;
    map->room_ranks = room;
    return 0;
}

int berth_map_add_node(struct berth_map *map, const char *name, int shape, const int *ranks,
                       const int *slots, int n, const int *paths, int n_paths,
                       struct berth_error *err)
{
    if (check_node(map, name, n, n_paths, err))
        return -1;
    if (reserve(&map->nodes, &map->room_nodes, map->n_nodes, 1, sizeof(*map->nodes)) ||
        reserve_ranks(map, n) ||
        reserve(&map->node_paths, &map->room_paths, map->n_node_paths, n_paths, sizeof(int)))
        return berth_error_memory(err);
    struct berth_map_node *node = &map->nodes[map->n_nodes];
    *node = (struct berth_map_node){strdup(name),      shape,  map->n_node_ranks, n,
                                    map->n_node_paths, n_paths};
    if (!node->name)
        return berth_error_memory(err);
    map->n_nodes++;
    for (int i = 0; i < n; i++) {
        map->node_ranks[map->n_node_ranks + i] = ranks[i];
        map->node_slots[map->n_node_ranks + i] = slots[i];
    }
    for (int i = 0; i < n_paths; i++)
        map->node_paths[map->n_node_paths + i] = paths[i];
    map->n_node_ranks += n;
    map->n_node_paths += n_paths;
    return 0;
}
