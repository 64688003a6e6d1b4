/*
 * Writing a map: as itself (JSON), and as the lists that other launchers and shells read.
 */
#include "config.h"

#include "error.h"
#include "file.h"
#include "map.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = {
    [BERTH_MAP_JSON] = "json",         [BERTH_MAP_TSV] = "tsv", [BERTH_MAP_HOSTFILE] = "hostfile",
    [BERTH_MAP_RANKFILE] = "rankfile", [BERTH_MAP_ENV] = "env",
};

int berth_map_format(const char *name)
{
    for (size_t i = 0; i < sizeof(format_names) / sizeof(format_names[0]); i++)
        if (!strcmp(format_names[i], name))
            return (int)i;
    return -1;
}

/* ---- json ---- */

static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    putc('"', out);
}

static int put_bytes(const char *bytes, size_t size, void *out)
{
    return fwrite(bytes, 1, size, out) == size ? 0 : -1;
}

/* Sorted, so that equal trees are equal bytes; 17 digits, so that a number comes back the same. */
static int put_tree(FILE *out, const json_t *tree)
{
    return json_dump_callback(tree, put_bytes, out, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
}

static void put_mesh(FILE *out, const struct berth_mesh *mesh)
{
    fprintf(out, " \"mesh\": {\"order\": \"%s\",\n          \"axes\": [", mesh->order);
    for (int i = 0; i < mesh->n_axes; i++)
        fprintf(out, "%s{\"name\": \"%s\", \"size\": %d}", i ? ", " : "", mesh->axes[i].name,
                mesh->axes[i].size);
    putc(']', out);
    for (int i = mesh->n_axes; i < berth_mesh_count(mesh); i++) {
        const struct berth_axis *axis = &mesh->axes[i];
        fprintf(out, "%s{\"name\": \"%s\", \"size\": %d, \"over\": [",
                i == mesh->n_axes ? ",\n          \"derived\": [" : ", ", axis->name, axis->size);
        for (int k = 0; k < axis->over_count; k++)
            fprintf(out, "%s\"%s\"", k ? ", " : "", mesh->axes[axis->over_first + k].name);
        fputs("]}", out);
    }
    fputs(mesh->n_derived ? "]},\n" : "},\n", out);
}

static int put_shapes(FILE *out, const struct berth_map *map)
{
    for (int i = 0; i < map->n_shapes; i++) {
        json_t *json = berth_shape_json(&map->shapes[i]);
        if (!json)
            return -1;
        fputs(i ? ",\n  " : " \"shapes\": [\n  ", out);
        int rc = json_dump_callback(json, put_bytes, out, 0);
        json_decref(json);
        if (rc)
            return -1;
    }
    if (map->n_shapes > 0)
        fputs("],\n", out);
    return 0;
}

static int put_ranges(FILE *out, const char *key, const int *values, int n)
{
    char *text = berth_ranges_format(values, n);
    if (!text)
        return -1;
    fprintf(out, ", \"%s\": \"%s\"", key, text);
    free(text);
    return 0;
}

static void put_paths(FILE *out, const struct berth_map *map, const struct berth_map_node *node)
{
    for (int i = 0; i < node->n_paths; i++) {
        const struct berth_path *path = &map->paths[map->node_paths[node->first_path + i]];
        fputs(i ? ", {" : ", \"paths\": [{", out);
        if (path->nic) {
            fputs("\"nic\": ", out);
            put_string(out, path->nic);
            fputs(", ", out);
        }
        fputs("\"switches\": [", out);
        for (int k = 0; k < path->n_switches; k++) {
            if (k > 0)
                fputs(", ", out);
            put_string(out, path->switches[k]);
        }
        fputs("]}", out);
    }
    if (node->n_paths > 0)
        putc(']', out);
}

static int put_nodes(FILE *out, const struct berth_map *map)
{
    fputs(" \"nodes\": [", out);
    for (int i = 0; i < map->n_nodes; i++) {
        const struct berth_map_node *node = &map->nodes[i];
        fprintf(out, "%s\n  {\"name\": \"%s\"", i ? "," : "", node->name);
        if (node->shape >= 0)
            fprintf(out, ", \"shape\": %d", node->shape);
        if (put_ranges(out, "ranks", map->node_ranks + node->first, node->n_ranks) ||
            put_ranges(out, "slots", map->node_slots + node->first, node->n_ranks))
            return -1;
        put_paths(out, map, node);
        putc('}', out);
    }
    fputs("],\n", out);
    return 0;
}

int berth_map_write_json(const struct berth_map *map, bool with_cost, FILE *out)
{
    fprintf(out, "{\"berth_map\": 1, \"world\": %d,\n", map->mesh.world);
    put_mesh(out, &map->mesh);
    if (put_shapes(out, map) || put_nodes(out, map))
        return -1;
    if (with_cost && map->cost) {
        fputs(" \"cost\": ", out);
        if (put_tree(out, map->cost))
            return -1;
        fputs(",\n", out);
    }
    if (map->source) {
        fputs(" \"source\": ", out);
        if (put_tree(out, map->source))
            return -1;
        fputs(",\n", out);
    }
    fprintf(out, " \"hash\": \"%s\"}\n", map->hash);
    return 0;
}

/* ---- the lists ---- */

static void write_tsv(const struct berth_map *map, FILE *out)
{
    fputs("rank\tnode\tlocal_rank\tslot\tgpu", out);
    for (int a = 0; a < berth_map_axes(map); a++)
        fprintf(out, "\t%s", berth_map_axis_name(map, a));
    putc('\n', out);
    for (int rank = 0; rank < map->mesh.world; rank++) {
        int slot = berth_map_slot(map, rank);
        const char *gpu = berth_map_gpu(map, rank);
        fprintf(out, "%d\t%s\t%d\t", rank, map->nodes[map->rank_node[rank]].name,
                berth_map_local_rank(map, rank));
        if (slot < 0)
            putc('-', out);
        else
            fprintf(out, "%d", slot);
        fprintf(out, "\t%s", gpu ? gpu : "-");
        for (int a = 0; a < berth_map_axes(map); a++)
            fprintf(out, "\t%d", berth_map_coord(map, a, rank));
        putc('\n', out);
    }
}

static void write_hostfile(const struct berth_map *map, FILE *out)
{
    for (int rank = 0; rank < map->mesh.world; rank++)
        fprintf(out, "%s\n", map->nodes[map->rank_node[rank]].name);
}

/* slot is a CPU for Open MPI, not a GPU: the local rank gives each process of a node its own. */
static void write_rankfile(const struct berth_map *map, FILE *out)
{
    for (int rank = 0; rank < map->mesh.world; rank++)
        fprintf(out, "rank %d=%s slot=%d\n", rank, map->nodes[map->rank_node[rank]].name,
                berth_map_local_rank(map, rank));
}

static void put_export(FILE *out, const char *name, const char *value)
{
    fprintf(out, "export %s='", name);
    for (; *value; value++) {
        if (*value == '\'')
            fputs("'\\'", out);
        putc(*value, out);
    }
    fputs("'\n", out);
}

static void write_env(const struct berth_map *map, FILE *out)
{
    char name[BERTH_AXIS_NAME_MAX], number[16];
    put_export(out, "BERTH_MAP_HASH", map->hash);
    snprintf(number, sizeof(number), "%d", map->mesh.world);
    put_export(out, "WORLD_SIZE", number);
    put_export(out, "MASTER_ADDR", map->nodes[map->rank_node[0]].name);
    for (int a = 0; a < berth_map_axes(map); a++) {
        const struct berth_axis *axis = &map->mesh.axes[a];
        for (int i = 0; i < BERTH_AXIS_NAME_MAX; i++)
            name[i] = (char)toupper((unsigned char)axis->name[i]);
        char variable[BERTH_AXIS_NAME_MAX + 16];
        snprintf(variable, sizeof(variable), "BERTH_%s_SIZE", name);
        snprintf(number, sizeof(number), "%d", axis->size);
        put_export(out, variable, number);
    }
}

int berth_map_write(const struct berth_map *map, enum berth_map_format format, FILE *out,
                    struct berth_error *err)
{
    int rc = 0;
    errno = 0;
    switch (format) {
    case BERTH_MAP_JSON:
        rc = berth_map_write_json(map, true, out);
        break;
    case BERTH_MAP_TSV:
        write_tsv(map, out);
        break;
    case BERTH_MAP_HOSTFILE:
        write_hostfile(map, out);
        break;
    case BERTH_MAP_RANKFILE:
        write_rankfile(map, out);
        break;
    case BERTH_MAP_ENV:
        write_env(map, out);
        break;
    }
    if (fflush(out) != 0 || ferror(out))
        return berth_error_set(err, BERTH_ESYSTEM, "cannot write the map: %s",
                               errno ? strerror(errno) : "the output failed");
    return rc ? berth_error_memory(err) : 0;
}

struct job {
    const struct berth_map *map;
    enum berth_map_format format;
};

static int write_job(FILE *out, void *arg, struct berth_error *err)
{
    const struct job *job = arg;
    return berth_map_write(job->map, job->format, out, err);
}

int berth_map_save(const struct berth_map *map, enum berth_map_format format, const char *path,
                   struct berth_error *err)
{
    struct job job = {map, format};
    return berth_file_save(path, write_job, &job, err);
}
