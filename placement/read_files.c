/*
 * Files of any kind, told apart by what is in them, merged into one cluster model.
 */
#include "config.h"

#include "cluster.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum kind { TOPOLOGY, NODES, MODEL, HWLOC, OTHER };

struct files {
    struct cluster *c;
    int *shapes; /* from hwloc, to be given to nodes when all are known */
    const char **shape_paths;
    int n_shapes;
    struct berth_error *err;
};

/* The first byte that is neither a blank nor in a comment; `end` if there is none. */
static const char *first_byte(const char *at, const char *end)
{
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (at < end) {
        if (*at == '#') {
            at = memchr(at, '\n', (size_t)(end - at));
            if (!at)
                return end;
        } else if (!strchr(" \t\r\n\v\f\\", *at) || !*at) {
            return at;
        }
        at++;
    }
    return end;
}

static enum kind find_kind(const char *bytes, size_t size)
{
    const char *end = bytes + size, *at = first_byte(bytes, end), *key = at;

    if (at == end || *at == '-') /* empty; or YAML, on which that reader has a sentence */
        return TOPOLOGY;
    if (*at == '<')
        return memmem(at, (size_t)(end - at), "<topology", 9) ? HWLOC : OTHER;
    if (*at == '{')
        return memmem(at, (size_t)(end - at), "\"berth_cluster\"", 15) ? MODEL : OTHER;
    while (at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')))
        at++;
    size_t length = (size_t)(at - key);
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (length == 0 || at == end || *at != '=')
        return OTHER;
    return length == 8 && strncasecmp(key, "NodeName", 8) == 0 ? NODES : TOPOLOGY;
}

/* Reads hardware; bytes NULL: of this machine. */
static int take_hwloc(struct files *f, const char *path, const char *bytes, size_t size)
{
    struct berth_shape shape = {0};
    const char *note = NULL;
    int result = -1;

    if (cluster_read_hwloc(path, bytes, size, &shape, &note, f->err))
        return -1;
    int at = cluster_add_shape(f->c, &shape);
    if (at < 0) {
        berth_error_memory(f->err);
        goto out;
    }
    result = 0;
    if (note) {
        f->c->note = note;
        goto out; /* what is not in it says nothing about the nodes */
    }
    f->shapes[f->n_shapes] = at;
    f->shape_paths[f->n_shapes++] = path;
out:
    berth_shape_clear(&shape);
    return result;
}

static int take_cluster(struct files *f, struct cluster *c)
{
    int result;

    if (c && !f->c->source && f->c->n_shapes == 0) { /* nothing there to merge with */
        cluster_free(f->c);
        f->c = c;
        return 0;
    }
    result = c ? cluster_merge(f->c, c, f->err) : -1;
    cluster_free(c);
    return result;
}

static int take_file(struct files *f, const char *path)
{
    size_t size;
    int result = -1;
    char *bytes;

    if (strcmp(path, "live") == 0)
        return take_hwloc(f, path, NULL, 0);
    bytes = cluster_slurp(path, &size, f->err);
    if (!bytes)
        return -1;
    switch (find_kind(bytes, size)) {
    case TOPOLOGY:
        result = take_cluster(f, cluster_read_topology(path, bytes, size, f->err));
        break;
    case NODES:
        result = cluster_read_scontrol_nodes(f->c, path, bytes, size, f->err);
        break;
    case MODEL:
        result = take_cluster(f, cluster_read_model(path, bytes, size, f->err));
        break;
    case HWLOC:
        result = take_hwloc(f, path, bytes, size);
        break;
    case OTHER:
        berth_error_set(f->err, BERTH_EINPUT,
                        "%s: not a file that describes a cluster; read are topology.conf, what "
                        "`scontrol show topology` or `scontrol show node --oneliner` prints, hwloc "
                        "XML (lstopo --of xml) and Berth's cluster model (JSON with berth_cluster)",
                        path);
        break;
    }
    free(bytes);
    return result;
}

/* Gives each shape to the nodes that still have none. */
static int spread_shapes(struct files *f)
{
    for (int i = 0; i < f->n_shapes; i++) {
        int bare = 0;
        for (int n = 0; n < f->c->n_nodes; n++)
            bare += f->c->nodes[n].shape < 0;
        if (cluster_spread_shape(f->c, f->shapes[i]) == 0 && bare > 0)
            return berth_error_set(
                f->err, BERTH_EINPUT,
                "%s: it has %d GPUs, and no node whose hardware is unknown has as "
                "many; give the file of a node of this cluster",
                f->shape_paths[i], f->c->shapes[f->shapes[i]].n_gpus);
    }
    return 0;
}

struct cluster *cluster_read_files(const char *const *paths, int n, struct berth_error *err)
{
    struct files f = {.c = cluster_new(), .err = err};
    bool ok = false;

    f.shapes = calloc((size_t)n + 1, sizeof *f.shapes);
    f.shape_paths = calloc((size_t)n + 1, sizeof *f.shape_paths);
    if (!f.c || !f.shapes || !f.shape_paths) {
        berth_error_memory(err);
        goto out;
    }
    for (int i = 0; i < n; i++)
        if (take_file(&f, paths[i]))
            goto out;
    ok = spread_shapes(&f) == 0;
out:
    free(f.shapes);
    free(f.shape_paths);
    if (!ok) {
        cluster_free(f.c);
        return NULL;
    }
    return f.c;
}
