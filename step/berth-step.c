/*
 * berth-step: replays a training step's communication on the communicators of a rank map, and
 * prints the time per axis as one line of JSON; with --links it measures the cluster's links
 * instead. This file holds the options, the map that is replayed, and the report.
 */
#include "../lib/file.h"
#include "berth_mpi.h"
#include "cluster.h"
#include "error.h"
#include "links.h"
#include "map.h"
#include "meshspec.h"
#include "replay.h"
#include "statistics.h"
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 1000000
#define NAME_MAX_BYTES 256

struct options {
    const char *map, *mesh, *order, *traffic, *topology, *output;
    int steps, warmup;
    bool check, links, help;
};

/* One process's whole state; everything in it is freed at the end. */
struct run {
    struct options options;
    int process, processes;
    struct berth_map *map;
    struct traffic traffic;
    struct berth_mpi *comms;
    struct replay *replay;
    double *seconds; /* per step and item: on rank 0 of the map, the slowest rank's */
};

static const char help[] =
    "usage: berth-step [--map FILE | --mesh MESH [--order ORDER]] [--traffic TRAFFIC]\n"
    "                  [--steps N] [--warmup N] [--check]\n"
    "       berth-step --links [-o FILE] [--map FILE | --topology FILE]\n"
    "\n"
    "Run it under srun or mpirun, one process per rank. It replays the communication of a "
    "training\n"
    "step, every axis's collectives as rings in the map's order, and prints one line of JSON.\n"
    "\n"
    "  --map FILE         the rank map (default: $BERTH_MAP)\n"
    "  --mesh MESH        no map: this mesh (tp2,dp5) over the processes in MPI's own rank order\n"
    "  --order ORDER      the mesh's axes, fastest first (tp-dp)\n"
    "  --traffic TRAFFIC  axis:collective:bytes[:count[:exposed]],... (default: the map's own, "
    "else\n"
    "                     the reference model's)\n"
    "  --steps N          steps to time (10); --warmup N steps before them (2)\n"
    "  --check            first run every collective once on real numbers and verify each of them\n"
    "  --json             the default and the only format\n"
    "  --links            measure latency and rate of nodes and uplinks, as a cluster model\n"
    "  -o, --output FILE  where the model goes (standard output)\n"
    "  --topology FILE    the switches, where no map tells them\n"
    "\n"
    "Exit status: 0 done, 1 a disagreement or a wrong sum, 2 wrong usage or input.\n";

/* ---- options ---- */

enum {
    OPT_MAP = 1000,
    OPT_MESH,
    OPT_ORDER,
    OPT_TRAFFIC,
    OPT_TOPOLOGY,
    OPT_STEPS,
    OPT_WARMUP,
    OPT_CHECK,
    OPT_JSON,
    OPT_LINKS,
    OPT_HELP
};

static const struct option option_table[] = {
    {"map", required_argument, NULL, OPT_MAP},
    {"mesh", required_argument, NULL, OPT_MESH},
    {"order", required_argument, NULL, OPT_ORDER},
    {"traffic", required_argument, NULL, OPT_TRAFFIC},
    {"topology", required_argument, NULL, OPT_TOPOLOGY},
    {"output", required_argument, NULL, 'o'},
    {"steps", required_argument, NULL, OPT_STEPS},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"check", no_argument, NULL, OPT_CHECK},
    {"json", no_argument, NULL, OPT_JSON},
    {"links", no_argument, NULL, OPT_LINKS},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static int parse_count(const char *option, const char *text, int min, int *value,
                       struct berth_error *err)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || *end || number < min || number > STEPS_MAX)
        return berth_error_set(err, BERTH_EINPUT, "%s '%s' is not a number from %d to %d", option,
                               text, min, STEPS_MAX);
    *value = (int)number;
    return 0;
}

static int take_option(struct options *o, int option, char **argv, struct berth_error *err)
{
    switch (option) {
    case OPT_MAP:
        o->map = optarg;
        return 0;
    case OPT_MESH:
        o->mesh = optarg;
        return 0;
    case OPT_ORDER:
        o->order = optarg;
        return 0;
    case OPT_TRAFFIC:
        o->traffic = optarg;
        return 0;
    case OPT_TOPOLOGY:
        o->topology = optarg;
        return 0;
    case 'o':
        o->output = optarg;
        return 0;
    case OPT_STEPS:
        return parse_count("--steps", optarg, 1, &o->steps, err);
    case OPT_WARMUP:
        return parse_count("--warmup", optarg, 0, &o->warmup, err);
    case OPT_CHECK:
        o->check = true;
        return 0;
    case OPT_JSON:
        return 0;
    case OPT_LINKS:
        o->links = true;
        return 0;
    case OPT_HELP:
        o->help = true;
        return 0;
    default:
        return berth_error_set(err, BERTH_EINPUT,
                               "%s is unknown or lacks its value; see berth-step --help",
                               argv[optind - 1]);
    }
}

/* Says nothing itself: one process will speak for all. */
static int parse_options(struct options *o, int argc, char **argv, struct berth_error *err)
{
    int option;

    *o = (struct options){.steps = 10, .warmup = 2};
    opterr = 0;
    while ((option = getopt_long(argc, argv, "o:", option_table, NULL)) != -1)
        if (take_option(o, option, argv, err) < 0)
            return -1;
    if (optind < argc)
        return berth_error_set(err, BERTH_EINPUT, "'%s': no argument is expected; see --help",
                               argv[optind]);
    if ((o->map != NULL) + (o->mesh != NULL) + (o->topology != NULL) > 1)
        return berth_error_set(err, BERTH_EINPUT, "--map, --mesh and --topology: give one of them");
    if (o->links ? o->traffic || o->check : o->topology || o->output)
        return berth_error_set(err, BERTH_EINPUT,
                               "--topology and --output go with --links, --traffic and --check "
                               "go without it");
    if (!o->map && !o->mesh && !o->topology) {
        o->map = getenv("BERTH_MAP");
        if ((!o->map || !*o->map) && !o->links)
            return berth_error_set(err, BERTH_EINPUT,
                                   "no map: give --map, set BERTH_MAP, or say --mesh");
    }
    return 0;
}

/* ---- the map ---- */

/* The switches above a node, as --topology has them. Only the process that read it has `cluster`.
 */
static int add_path(struct berth_map *map, const struct cluster *cluster, const char *name, int *n,
                    struct berth_error *err)
{
    int switches[BERTH_LEVELS_MAX], depth, i, path;
    const char *names[BERTH_LEVELS_MAX];
    int node = cluster ? cluster_find_node(cluster, name) : -1;

    *n = 0;
    if (!cluster)
        return 0;
    if (node < 0 || cluster->nodes[node].n_leaves == 0)
        return berth_error_set(err, BERTH_EINPUT, "no switch of %s lists node %s", cluster->source,
                               name);
    depth = cluster_path(cluster, node, 0, switches, BERTH_LEVELS_MAX);
    for (i = 0; i < depth; i++)
        names[i] = cluster->switches[switches[i]].name;
    path = berth_map_add_path(map, NULL, names, depth);
    if (path < 0)
        return berth_error_memory(err);
    *n = 1;
    return path;
}

/* Adds the node of process `first` with all the processes that run on it. */
static int add_node(struct berth_map *map, const struct cluster *cluster, const char *names,
                    int first, int n, struct berth_error *err)
{
    const char *name = names + (size_t)first * NAME_MAX_BYTES;
    int *ranks = malloc((size_t)n * sizeof(*ranks)), *slots = malloc((size_t)n * sizeof(*slots));
    int i, count = 0, path, n_paths, result = -1;

    if (!ranks || !slots) {
        berth_error_memory(err);
        goto out;
    }
    for (i = first; i < n; i++)
        if (strcmp(names + (size_t)i * NAME_MAX_BYTES, name) == 0) {
            slots[count] = -1;
            ranks[count++] = i;
        }
    path = add_path(map, cluster, name, &n_paths, err);
    if (path >= 0)
        result = berth_map_add_node(map, name, -1, ranks, slots, count, &path, n_paths, err);
out:
    free(ranks);
    free(slots);
    return result;
}

static bool is_first(const char *names, int process)
{
    int i;

    for (i = 0; i < process; i++)
        if (strcmp(names + (size_t)i * NAME_MAX_BYTES, names + (size_t)process * NAME_MAX_BYTES) ==
            0)
            return false;
    return true;
}

/* A map that leaves every rank where MPI put it; `names` has every process's node. */
static struct berth_map *identity_map(const struct run *run, const char *names,
                                      struct berth_error *err)
{
    const struct options *o = &run->options;
    struct cluster *cluster = NULL;
    struct berth_map *map = NULL;
    struct berth_mesh mesh;
    int i;

    if (meshspec_parse(o->mesh ? o->mesh : "dp", o->order, run->processes, &mesh, err) < 0)
        return NULL;
    if (o->topology && run->process == 0 && !(cluster = cluster_read_files(&o->topology, 1, err)))
        return NULL;
    map = berth_map_new(&mesh);
    if (!map)
        berth_error_memory(err);
    for (i = 0; map && i < run->processes; i++)
        if (is_first(names, i) && add_node(map, cluster, names, i, run->processes, err) < 0)
            goto failed;
    if (map && berth_map_finish(map, err) < 0)
        goto failed;
    cluster_free(cluster);
    return map;
failed:
    cluster_free(cluster);
    berth_map_close(map);
    return NULL;
}

/* All processes' node names, NAME_MAX_BYTES each; collective. NULL: no memory. */
static char *gather_names(const struct run *run)
{
    char own[MPI_MAX_PROCESSOR_NAME + NAME_MAX_BYTES] = "", *names;
    int length;

    MPI_Get_processor_name(own, &length);
    own[NAME_MAX_BYTES - 1] = '\0';
    names = malloc((size_t)run->processes * NAME_MAX_BYTES);
    if (!names)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Allgather(own, NAME_MAX_BYTES, MPI_BYTE, names, NAME_MAX_BYTES, MPI_BYTE, MPI_COMM_WORLD);
    return names;
}

static int get_map(struct run *run, struct berth_error *err)
{
    int given = run->options.map && *run->options.map;
    char *names;

    MPI_Allreduce(MPI_IN_PLACE, &given, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (given) {
        run->map = berth_map_open(run->options.map, err);
    } else {
        unsetenv("BERTH_RANK"); /* ranks are MPI's own here */
        names = gather_names(run);
        run->map = identity_map(run, names, err);
        free(names);
    }
    return run->map ? 0 : -1;
}

static int get_traffic(struct run *run, struct berth_error *err)
{
    const char *text = run->options.traffic;

    if (!text)
        text = berth_map_traffic(run->map);
    return traffic_parse_or_reference(text, &run->map->mesh, &run->traffic, err);
}

/* ---- failing together ---- */

/*
 * Collective. True when any process failed: the first of them prints its sentence, and every one
 * takes its kind.
 */
static bool any_failed(const struct run *run, int result, struct berth_error *err)
{
    int first = result < 0 ? run->process : INT_MAX, kind = err->kind;

    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == INT_MAX)
        return false;
    if (first == run->process)
        fprintf(stderr, "berth-step: %s\n", err->text);
    MPI_Bcast(&kind, 1, MPI_INT, first, MPI_COMM_WORLD);
    err->kind = kind;
    return true;
}

/* ---- the report ---- */

/* Adds median, p95 (nearest rank) and min of `n` values, which it sorts. */
static void add_statistics(json_t *object, double *values, int n)
{
    json_object_set_new(object, "median", json_real(statistics_median(values, n)));
    json_object_set_new(object, "p95", json_real(values[(95 * (long)n + 99) / 100 - 1]));
    json_object_set_new(object, "min", json_real(values[0]));
}

/* Per step, the sum of the items of an axis (-1: of all); scratch has `steps` entries. */
static json_t *statistics_of(const struct run *run, int axis, double *scratch)
{
    json_t *object = json_object();
    int step, i;

    for (step = 0; step < run->options.steps; step++) {
        scratch[step] = 0;
        for (i = 0; i < run->traffic.n; i++)
            if (axis < 0 || run->traffic.items[i].axis == axis)
                scratch[step] += run->seconds[(size_t)step * run->traffic.n + i];
    }
    add_statistics(object, scratch, run->options.steps);
    return object;
}

static json_t *item_report(const struct run *run, int i, double *scratch)
{
    const struct traffic_item *item = &run->traffic.items[i];
    json_t *object = json_pack("{s:s, s:s, s:f, s:f}", "axis", run->map->mesh.axes[item->axis].name,
                               "collective", traffic_kind_name(item->kind), "bytes", item->bytes,
                               "count", item->count);
    int step;

    for (step = 0; step < run->options.steps; step++)
        scratch[step] = run->seconds[(size_t)step * run->traffic.n + i];
    add_statistics(object, scratch, run->options.steps);
    return object;
}

static json_t *report(const struct run *run, double *scratch)
{
    json_t *axes = json_object(), *items = json_array(), *root;
    const char *mode = getenv("BERTH_MODE");
    char mesh[1024];
    int i;

    for (i = 0; i < run->traffic.n; i++) {
        int axis = run->traffic.items[i].axis;
        json_object_set_new(axes, run->map->mesh.axes[axis].name,
                            statistics_of(run, axis, scratch));
        json_array_append_new(items, item_report(run, i, scratch));
    }
    root = json_pack("{s:o, s:o, s:o, s:i, s:i, s:s, s:s, s:s, s:b}", "step_s",
                     statistics_of(run, -1, scratch), "axes", axes, "items", items, "steps",
                     run->options.steps, "world", berth_map_world(run->map), "hash",
                     berth_map_hash(run->map), "mesh",
                     meshspec_format(&run->map->mesh, mesh, sizeof(mesh)), "order",
                     berth_map_order(run->map), "checked", run->options.check);
    json_object_set_new(root, "mode", mode ? json_string(mode) : json_null());
    return root;
}

static int write_json(FILE *out, void *arg, struct berth_error *err)
{
    size_t flags = JSON_REAL_PRECISION(6) | JSON_PRESERVE_ORDER;
    json_t *json = arg;

    if (json_object_get(json, "berth_cluster"))
        flags |= JSON_INDENT(2);
    if (json_dumpf(json, out, flags) < 0 || fputc('\n', out) == EOF)
        return berth_error_set(err, BERTH_ESYSTEM, "cannot write the result");
    return 0;
}

/* ---- the two things it does ---- */

static void replay_steps(const struct run *run)
{
    size_t n = (size_t)run->traffic.n;
    MPI_Comm world = berth_mpi_world(run->comms);
    double *own = run->seconds;
    int step;

    for (step = 0; step < run->options.warmup; step++)
        replay_step(run->replay, own);
    for (step = 0; step < run->options.steps; step++)
        replay_step(run->replay, own + (size_t)step * n);
    MPI_Reduce(berth_mpi_rank(run->comms) == 0 ? MPI_IN_PLACE : own, own,
               run->options.steps * (int)n, MPI_DOUBLE, MPI_MAX, 0, world);
}

static int do_replay(struct run *run, struct berth_error *err)
{
    struct options *o = &run->options;
    double *scratch = calloc((size_t)o->steps, sizeof(*scratch));
    json_t *json = NULL;
    int result = get_traffic(run, err);

    if (result == 0) {
        run->replay = replay_new(&run->map->mesh, &run->traffic, run->comms, err);
        run->seconds = calloc((size_t)o->steps * TRAFFIC_ITEMS_MAX, sizeof(*run->seconds));
        if (run->replay && (!run->seconds || !scratch))
            berth_error_memory(err);
        result = run->replay && run->seconds && scratch ? 0 : -1;
    }
    if (any_failed(run, result, err) ||
        (o->check && any_failed(run, replay_check(run->replay, err), err))) {
        free(scratch);
        return -1;
    }
    replay_steps(run);
    result = 0;
    if (berth_mpi_rank(run->comms) == 0) {
        json = report(run, scratch);
        result = write_json(stdout, json, err);
        json_decref(json);
    }
    free(scratch);
    return any_failed(run, result, err) ? -1 : 0;
}

static int do_links(struct run *run, struct berth_error *err)
{
    const char *output = run->options.output ? run->options.output : "-";
    json_t *model;
    int result = links_measure(run->map, berth_mpi_world(run->comms), &model, err);

    if (model) {
        result = berth_file_save(output, write_json, model, err);
        json_decref(model);
    }
    return any_failed(run, result, err) ? -1 : 0;
}

static int go(struct run *run, int parsed, struct berth_error *err)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &run->process);
    MPI_Comm_size(MPI_COMM_WORLD, &run->processes);
    if (any_failed(run, parsed, err) || any_failed(run, get_map(run, err), err))
        return -1;
    run->comms = berth_mpi_create(run->map, MPI_COMM_WORLD, err);
    if (any_failed(run, run->comms ? 0 : -1, err))
        return -1;
    return run->options.links ? do_links(run, err) : do_replay(run, err);
}

int main(int argc, char **argv)
{
    struct berth_error err = {0};
    struct run run = {0};
    int result = parse_options(&run.options, argc, argv, &err);

    if (run.options.help)
        return fputs(help, stdout) == EOF ? 2 : 0;
    MPI_Init(&argc, &argv);
    result = go(&run, result, &err);
    replay_free(run.replay);
    berth_mpi_free(run.comms);
    berth_map_close(run.map);
    free(run.seconds);
    MPI_Finalize();
    if (result == 0)
        return 0;
    return err.kind == BERTH_ENO ? 1 : 2;
}
