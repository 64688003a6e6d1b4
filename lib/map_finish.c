/*
 * The judgement over a whole rank map: every rank exactly once, every slot there, every name once;
 * and the hash that stands for "the same rank on the same slot everywhere".
 */
#include "config.h"

#include "error.h"
#include "map.h"
#include "map_index.h"
#include "sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks ---- */

struct placed {
    int rank, node, local;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->node != y->node ? (x->node > y->node) - (x->node < y->node) : x->local - y->local;
}

static int explain_sorted(const struct berth_map *map, const struct placed *all,
                          struct berth_error *err)
{
    int n = map->n_node_ranks, world = map->mesh.world, next = 0;
    for (int i = 0; i < n; i++) {
        const struct placed *at = &all[i];
        if (at->rank < 0 || at->rank >= world)
            return berth_error_set(err, BERTH_EINPUT,
                                   "nodes[%d].ranks: rank %d is not one of the world's 0 to %d",
                                   at->node, at->rank, world - 1);
        if (i > 0 && at->rank == at[-1].rank)
            return berth_error_set(
                err, BERTH_EINPUT,
                "nodes[%d].ranks: rank %d is there twice, first on nodes[%d] (%s)", at->node,
                at->rank, at[-1].node, map->nodes[at[-1].node].name);
    }
    while (next < n && all[next].rank == next)
        next++;
    return berth_error_set(err, BERTH_EINPUT,
                           "nodes: rank %d is on no node; the nodes have %d of "
                           "%d ranks",
                           next, n, world);
}

/* Says what is wrong with the ranks, in memory that grows with those listed, not with the world. */
static int explain_ranks(const struct berth_map *map, struct berth_error *err)
{
    struct placed *all = calloc(map->n_node_ranks + 1, sizeof(*all));
    if (!all)
        return berth_error_memory(err);
    int n = 0;
    for (int node = 0; node < map->n_nodes; node++)
        for (int i = 0; i < map->nodes[node].n_ranks; i++, n++)
            all[n] = (struct placed){map->node_ranks[n], node, i};
    qsort(all, n, sizeof(*all), compare_placed);
    explain_sorted(map, all, err);
    free(all);
    return -1;
}

static int index_ranks(struct berth_map *map, struct berth_error *err)
{
    int world = map->mesh.world;
    if (map->n_node_ranks != world)
        return explain_ranks(map, err);
    map->rank_at = malloc(world * sizeof(int));
    map->rank_node = malloc(world * sizeof(int));
    if (!map->rank_at || !map->rank_node)
        return berth_error_memory(err);
    memset(map->rank_at, -1, world * sizeof(int));
    for (int node = 0, at = 0; node < map->n_nodes; node++) {
        for (int i = 0; i < map->nodes[node].n_ranks; i++, at++) {
            int rank = map->node_ranks[at];
            if (rank < 0 || rank >= world || map->rank_at[rank] >= 0)
                return explain_ranks(map, err);
            map->rank_at[rank] = at;
            map->rank_node[rank] = node;
        }
    }
    return 0;
}

/* ---- nodes ---- */

static int check_slots(const struct berth_map *map, int i, struct berth_error *err)
{
    const struct berth_map_node *node = &map->nodes[i];
    if (node->shape < -1 || node->shape >= map->n_shapes)
        return berth_error_set(err, BERTH_EINPUT,
                               "nodes[%d].shape: %d, but the map has %d shapes, counted from 0", i,
                               node->shape, map->n_shapes);
    int gpus = node->shape < 0 ? BERTH_GPUS_MAX : map->shapes[node->shape].n_gpus;
    for (int k = 0; k < node->n_ranks; k++) {
        int slot = map->node_slots[node->first + k];
        if (slot < -1 || slot >= gpus)
            return berth_error_set(err, BERTH_EINPUT,
                                   "nodes[%d].slots: slot %d of rank %d: %s has %d GPUs, counted "
                                   "from 0",
                                   i, slot, map->node_ranks[node->first + k],
                                   node->shape < 0 ? "a node at most" : "its shape", gpus);
    }
    return 0;
}

static bool path_is_sound(const struct berth_path *path)
{
    bool sound =
        path->n_switches <= BERTH_LEVELS_MAX && (!path->nic || berth_name_is_plain(path->nic));
    for (int i = 0; sound && i < path->n_switches; i++)
        sound = berth_name_is_plain(path->switches[i]);
    return sound;
}

static int refuse_path(int node, int k, struct berth_error *err)
{
    return berth_error_set(
        err, BERTH_EINPUT,
        "nodes[%d].paths[%d]: a path is at most %d switches, and their names and "
        "the NIC's 1 to %d printable ASCII characters",
        node, k, BERTH_LEVELS_MAX, BERTH_NAME_MAX);
}

/* Each path once, however many nodes share it; a node is looked for only to say where. */
static int check_paths(const struct berth_map *map, struct berth_error *err)
{
    int bad = 0;
    while (bad < map->n_paths && path_is_sound(&map->paths[bad]))
        bad++;
    for (int i = 0; i < map->n_nodes; i++) {
        const struct berth_map_node *node = &map->nodes[i];
        for (int k = 0; k < node->n_paths; k++) {
            int path = map->node_paths[node->first_path + k];
            if (path < 0 || path >= map->n_paths || path == bad)
                return refuse_path(i, k, err);
        }
    }
    return 0;
}

static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static int compare_hashes(const void *a, const void *b)
{
    const struct name_entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : x->node - y->node;
}

int map_index_find(const struct berth_map *map, const char *name)
{
    struct name_entry key = {.hash = name_hash(name), .name = name, .node = -1};
    const struct name_entry *entries = map->by_name;
    int low = 0, high = map->n_nodes;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare_hashes(&entries[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->n_nodes && !strcmp(entries[low].name, name) ? entries[low].node : -1;
}

/* Sorted, not a hash table: no set of names, however chosen, makes it slow. */
static int index_names(struct berth_map *map, struct berth_error *err)
{
    struct name_entry *entries = calloc(map->n_nodes + 1, sizeof(*entries));
    if (!entries)
        return berth_error_memory(err);
    map->by_name = entries;
    for (int i = 0; i < map->n_nodes; i++)
        entries[i] = (struct name_entry){name_hash(map->nodes[i].name), i, map->nodes[i].name};
    qsort(entries, map->n_nodes, sizeof(*entries), compare_hashes);
    for (int i = 1; i < map->n_nodes; i++)
        if (entries[i].hash == entries[i - 1].hash && !strcmp(entries[i].name, entries[i - 1].name))
            return berth_error_set(err, BERTH_EINPUT,
                                   "nodes[%d].name: %s is there already, as "
                                   "nodes[%d]",
                                   entries[i].node, entries[i].name, entries[i - 1].node);
    return 0;
}

/* ---- the hash (its text is fixed by the format's version) ---- */

static char *put_number(char *to, int value)
{
    char digits[12];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static void hash_mesh(struct sha256 *sha, const struct berth_mesh *mesh)
{
    char line[BERTH_AXES_MAX * BERTH_AXIS_NAME_MAX + 64];
    int n = snprintf(line, sizeof(line), "berth-map-1\norder %s\n", mesh->order);
    sha256_add(sha, line, n);
    for (int i = 0; i < berth_mesh_count(mesh); i++) {
        const struct berth_axis *axis = &mesh->axes[i];
        n = snprintf(line, sizeof(line), "%s %s %d", i < mesh->n_axes ? "axis" : "derived",
                     axis->name, axis->size);
        for (int k = 0; k < axis->over_count; k++)
            n += snprintf(line + n, sizeof(line) - n, "%c%s", k ? '+' : ' ',
                          mesh->axes[axis->over_first + k].name);
        line[n++] = '\n';
        sha256_add(sha, line, n);
    }
}

/* "NODE:SLOT\n" of one rank; returns its end. */
static char *put_rank(const struct berth_map *map, int rank, char *to)
{
    int slot = map->node_slots[map->rank_at[rank]];
    to = stpcpy(to, map->nodes[map->rank_node[rank]].name);
    *to++ = ':';
    if (slot < 0)
        *to++ = '-';
    else
        to = put_number(to, slot);
    *to++ = '\n';
    return to;
}

static void compute_hash(struct berth_map *map)
{
    struct sha256 sha;
    char text[4096], *to = text;
    sha256_init(&sha);
    hash_mesh(&sha, &map->mesh);
    for (int rank = 0; rank < map->mesh.world; rank++) {
        to = put_rank(map, rank, to);
        if (text + sizeof(text) - to < BERTH_NAME_MAX + 16) {
            sha256_add(&sha, text, to - text);
            to = text;
        }
    }
    sha256_add(&sha, text, to - text);
    memcpy(map->hash, "sha256:", 7);
    sha256_hex(&sha, map->hash + 7);
}

int berth_map_finish(struct berth_map *map, struct berth_error *err)
{
    for (int i = 0; i < map->n_shapes; i++) {
        char place[32];
        snprintf(place, sizeof(place), "shapes[%d]", i);
        if (berth_shape_check(&map->shapes[i], place, err))
            return -1;
    }
    for (int i = 0; i < map->n_nodes; i++)
        if (check_slots(map, i, err))
            return -1;
    if (check_paths(map, err))
        return -1;
    const json_t *traffic = json_object_get(map->source, "traffic");
    if (traffic && !json_is_string(traffic))
        return berth_error_set(err, BERTH_EINPUT, "source.traffic: a string is expected");
    if (index_names(map, err) || index_ranks(map, err))
        return -1;
    compute_hash(map);
    return 0;
}
