/*
 * Reading a map. The functions follow the format from the outside in; what needs the whole map is
 * judged by berth_map_finish().
 */
#include "config.h"

#include "error.h"
#include "file.h"
#include "map.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)256 << 20)

struct node_reader { /* the node that is being read */
    char name[BERTH_NAME_MAX + 1];
    int shape;
    int n_ranks, n_slots, n_paths; /* n_slots is -1 where the node has no such key */
    int ranks[BERTH_NODE_RANKS_MAX], slots[BERTH_NODE_RANKS_MAX];
    int paths[BERTH_PATHS_MAX];
};

struct path_reader {
    char nic[BERTH_NAME_MAX + 1]; /* "" for none */
    int n;
    char names[BERTH_LEVELS_MAX][BERTH_NAME_MAX + 1];
};

struct reader {
    struct berth_map *map;
    int world;
    struct berth_mesh mesh;
    char order[BERTH_AXES_MAX * BERTH_AXIS_NAME_MAX];
    char hash[80];
    struct node_reader node;
    struct path_reader path;
};

#define COUNT(table) (int)(sizeof(table) / sizeof((table)[0]))

/* Puts the text's name before a message that names the place itself; returns -1. */
static int name_text(struct scan *s)
{
    return berth_error_prefix(s->err, "%s", s->name);
}

/* ---- version and world ---- */

static int read_version(struct scan *s, void *arg)
{
    (void)arg;
    int version;
    if (scan_int(s, 0, INT32_MAX, &version))
        return -1;
    if (version != 1)
        return scan_fail(s, "version %d; this Berth reads version 1", version);
    return 0;
}

static int read_world(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return scan_int(s, 1, BERTH_WORLD_MAX, &r->world);
}

/* ---- mesh ---- */

/* The axis that the mesh gets next: derived ones stand behind the real ones. */
static struct berth_axis *next_axis(struct reader *r)
{
    return &r->mesh.axes[berth_mesh_count(&r->mesh)];
}

static int read_axis_name(struct scan *s, void *arg)
{
    return scan_name(s, next_axis(arg)->name, BERTH_AXIS_NAME_MAX);
}

static int read_axis_size(struct scan *s, void *arg)
{
    return scan_int(s, 1, BERTH_WORLD_MAX, &next_axis(arg)->size);
}

static int read_over_name(struct scan *s, void *arg)
{
    struct reader *r = arg;
    struct berth_axis *axis = next_axis(r);
    char name[BERTH_AXIS_NAME_MAX];
    if (scan_name(s, name, sizeof(name)))
        return -1;
    int over = -1;
    for (int i = 0; i < r->mesh.n_axes; i++)
        if (!strcmp(r->mesh.axes[i].name, name))
            over = i;
    if (over < 0)
        return scan_fail(s, "\"%s\" is not one of mesh.axes", name);
    if (axis->over_count > 0 && over != axis->over_first + axis->over_count)
        return scan_fail(s,
                         "%s does not follow %s in the order; a derived axis lies over adjacent "
                         "axes, fastest first",
                         name, r->mesh.axes[axis->over_first + axis->over_count - 1].name);
    if (axis->over_count++ == 0)
        axis->over_first = over;
    return 0;
}

static int read_over(struct scan *s, void *arg)
{
    return scan_array(s, read_over_name, arg);
}

static int begin_axis(struct scan *s, struct reader *r)
{
    if (berth_mesh_count(&r->mesh) == BERTH_AXES_MAX)
        return scan_fail(s, "a mesh has at most %d axes, derived ones included", BERTH_AXES_MAX);
    *next_axis(r) = (struct berth_axis){0};
    return 0;
}

static int read_axis(struct scan *s, void *arg)
{
    static const struct scan_field fields[] = {
        {"name", read_axis_name, true},
        {"size", read_axis_size, true},
    };
    struct reader *r = arg;
    if (begin_axis(s, r) || scan_object(s, fields, COUNT(fields), r))
        return -1;
    r->mesh.n_axes++;
    return 0;
}

static int read_derived_axis(struct scan *s, void *arg)
{
    static const struct scan_field fields[] = {
        {"name", read_axis_name, true},
        {"size", read_axis_size, true},
        {"over", read_over, true},
    };
    struct reader *r = arg;
    if (begin_axis(s, r) || scan_object(s, fields, COUNT(fields), r))
        return -1;
    r->mesh.n_derived++;
    return 0;
}

static int read_axes(struct scan *s, void *arg)
{
    return scan_array(s, read_axis, arg);
}

static int read_derived(struct scan *s, void *arg)
{
    return scan_array(s, read_derived_axis, arg);
}

/* Puts an axis's place before a message. */
static int blame_axis(struct scan *s, const struct berth_mesh *mesh, int axis)
{
    bool real = axis < mesh->n_axes;
    if (axis >= 0) {
        s->place[s->depth++] = (struct scan_step){real ? "axes" : "derived", 0};
        s->place[s->depth++] = (struct scan_step){NULL, real ? axis : axis - mesh->n_axes};
    }
    return scan_prefix(s);
}

static int read_order(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return scan_name(s, r->order, sizeof(r->order));
}

static int read_mesh(struct scan *s, void *arg)
{
    static const struct scan_field fields[] = {
        {"axes", read_axes, true},
        {"derived", read_derived, false},
        {"order", read_order, true},
    };
    struct reader *r = arg;
    int bad;
    if (scan_object(s, fields, COUNT(fields), r))
        return -1;
    if (berth_mesh_check(&r->mesh, &bad, s->err))
        return blame_axis(s, &r->mesh, bad);
    if (strcmp(r->order, r->mesh.order) != 0) {
        s->place[s->depth++] = (struct scan_step){"order", 0};
        return scan_fail(s, "\"%.80s\", but the names of mesh.axes make \"%.80s\"", r->order,
                         r->mesh.order);
    }
    if (r->mesh.world != r->world)
        return scan_fail(s, "the axes' sizes make %d ranks, but world is %d", r->mesh.world,
                         r->world);
    r->map = berth_map_new(&r->mesh);
    return r->map ? 0 : berth_error_memory(s->err);
}

/* ---- shapes ---- */

/* Indices are the file's: an equal shape is not merged. */
static int read_shape(struct scan *s, void *arg)
{
    struct reader *r = arg;
    struct berth_shape shape;
    char place[64];
    json_t *tree;
    if (scan_tree(s, &tree))
        return -1;
    int rc = berth_shape_read(tree, scan_place(s, place, sizeof(place)), &shape, s->err);
    json_decref(tree);
    if (rc)
        return name_text(s);
    return berth_map_append_shape(r->map, &shape) < 0 ? berth_error_memory(s->err) : 0;
}

static int read_shapes(struct scan *s, void *arg)
{
    return scan_array(s, read_shape, arg);
}

/* ---- nodes ---- */

static int read_node_name(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return scan_name(s, r->node.name, sizeof(r->node.name));
}

static int read_node_shape(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return scan_int(s, 0, INT32_MAX, &r->node.shape);
}

static int read_ranges(struct scan *s, int max, bool dash, int *values, int *n)
{
    const char *text;
    size_t size;
    if (scan_string(s, &text, &size))
        return -1;
    *n = berth_ranges_scan(text, size, max, dash, values, BERTH_NODE_RANKS_MAX, s->err);
    return *n < 0 ? scan_prefix(s) : 0;
}

static int read_ranks(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return read_ranges(s, BERTH_WORLD_MAX - 1, false, r->node.ranks, &r->node.n_ranks);
}

static int read_slots(struct scan *s, void *arg)
{
    struct reader *r = arg;
    if (read_ranges(s, BERTH_GPUS_MAX - 1, true, r->node.slots, &r->node.n_slots))
        return -1;
    if (r->node.n_slots != r->node.n_ranks)
        return scan_fail(s, "%d entries for the node's %d ranks", r->node.n_slots, r->node.n_ranks);
    return 0;
}

static int read_nic(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return scan_name(s, r->path.nic, sizeof(r->path.nic));
}

static int read_switch(struct scan *s, void *arg)
{
    struct path_reader *path = &((struct reader *)arg)->path;
    if (path->n == BERTH_LEVELS_MAX)
        return scan_fail(s, "a path has at most %d switches", BERTH_LEVELS_MAX);
    return scan_name(s, path->names[path->n++], sizeof(path->names[0]));
}

static int read_switches(struct scan *s, void *arg)
{
    return scan_array(s, read_switch, arg);
}

static int read_path(struct scan *s, void *arg)
{
    static const struct scan_field fields[] = {
        {"nic", read_nic, false},
        {"switches", read_switches, true},
    };
    struct reader *r = arg;
    r->path.n = 0;
    r->path.nic[0] = '\0';
    if (r->node.n_paths == BERTH_PATHS_MAX)
        return scan_fail(s, "a node has at most %d paths", BERTH_PATHS_MAX);
    if (scan_object(s, fields, COUNT(fields), r))
        return -1;
    const char *switches[BERTH_LEVELS_MAX];
    for (int i = 0; i < r->path.n; i++)
        switches[i] = r->path.names[i];
    const char *nic = r->path.nic[0] ? r->path.nic : NULL;
    int path = berth_map_add_path(r->map, nic, switches, r->path.n);
    r->node.paths[r->node.n_paths++] = path;
    return path < 0 ? berth_error_memory(s->err) : 0;
}

static int read_paths(struct scan *s, void *arg)
{
    return scan_array(s, read_path, arg);
}

static int read_node(struct scan *s, void *arg)
{
    static const struct scan_field fields[] = {
        {"name", read_node_name, true}, {"shape", read_node_shape, false},
        {"ranks", read_ranks, true},    {"slots", read_slots, false},
        {"paths", read_paths, false},
    };
    struct reader *r = arg;
    struct node_reader *node = &r->node;
    node->shape = node->n_slots = -1;
    node->n_paths = 0;
    if (scan_object(s, fields, COUNT(fields), r))
        return -1;
    for (int i = 0; node->n_slots < 0 && i < node->n_ranks; i++)
        node->slots[i] = -1;
    if (berth_map_add_node(r->map, node->name, node->shape, node->ranks, node->slots, node->n_ranks,
                           node->paths, node->n_paths, s->err))
        return name_text(s);
    return 0;
}

static int read_nodes(struct scan *s, void *arg)
{
    return scan_array(s, read_node, arg);
}

/* ---- what is carried along ---- */

static int read_carried(struct scan *s, json_t **tree)
{
    const char *key;
    json_t *value;
    if (scan_peek(s) != '{')
        return scan_fail(s, "an object is expected");
    if (scan_tree(s, tree))
        return -1;
    json_object_foreach(*tree, key, value) if (scan_check_key(s, key, strlen(key))) return -1;
    return 0;
}

static int read_cost(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return read_carried(s, &r->map->cost);
}

static int read_source(struct scan *s, void *arg)
{
    struct reader *r = arg;
    return read_carried(s, &r->map->source);
}

static int read_hash(struct scan *s, void *arg)
{
    struct reader *r = arg;
    if (scan_name(s, r->hash, sizeof(r->hash)))
        return -1;
    if (strncmp(r->hash, "sha256:", 7) != 0 || strspn(r->hash + 7, "0123456789abcdef") != 64 ||
        strlen(r->hash) != 71)
        return scan_fail(s, "\"sha256:\" and 64 hexadecimal digits are expected");
    return 0;
}

/* ---- the whole ---- */

static int read_map(struct scan *s, struct reader *r)
{
    static const struct scan_field fields[] = {
        {"berth_map", read_version, true}, {"world", read_world, true}, {"mesh", read_mesh, true},
        {"shapes", read_shapes, false},    {"nodes", read_nodes, true}, {"cost", read_cost, false},
        {"source", read_source, false},    {"hash", read_hash, false},
    };
    if (scan_check(s) || scan_object(s, fields, COUNT(fields), r))
        return -1;
    if (berth_map_finish(r->map, s->err))
        return name_text(s);
    if (r->hash[0] && strcmp(r->hash, r->map->hash) != 0)
        return berth_error_set(
            s->err, BERTH_EINPUT,
            "%s: hash: it says %s, but the map's own is %s: the file was changed "
            "after it was made",
            s->name, r->hash, r->map->hash);
    return 0;
}

struct berth_map *berth_map_parse(const char *name, const char *bytes, size_t size,
                                  struct berth_error *err)
{
    struct berth_map *map = NULL;
    struct scan s;
    scan_init(&s, name, bytes, size, err);
    struct reader *r = calloc(1, sizeof(*r));
    if (!r)
        berth_error_memory(err);
    else if (read_map(&s, r))
        berth_map_close(r->map);
    else
        map = r->map;
    free(r);
    scan_clear(&s);
    return map;
}

struct berth_map *berth_map_open(const char *path, struct berth_error *err)
{
    if (!path)
        path = getenv("BERTH_MAP");
    if (!path || !*path) {
        berth_error_set(
            err, BERTH_EINPUT,
            "no map: BERTH_MAP is not set; start the job with srun --berth=..., or give "
            "the map's file");
        return NULL;
    }
    size_t size;
    char *bytes = berth_file_read(path, FILE_MAX, &size, err);
    if (!bytes)
        return NULL;
    struct berth_map *map = berth_map_parse(path, bytes, size, err);
    free(bytes);
    return map;
}
