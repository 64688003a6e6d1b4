/*
 * berth map: from nodes, switches and a mesh to a rank map on stdout (or -o), and a summary of what
 * it is worth on stderr.
 */
#include "command.h"
#include "meshspec.h"
#include "plan.h"
#include <stdlib.h>
#include <string.h>

enum { METHOD_PLANNED, METHOD_NAME, METHOD_TOPOLOGY, N_METHODS };
static const char *const methods[] = {"planned", "name", "topology"};

struct map_options {
    struct input input;
    const char *mesh, *order, *traffic, *output;
    int method, format;
    bool blocks, wide_tp, quiet, help;
};

static const char help[] =
    "--mesh SPEC [OPTION]...\n\n"
    "Makes a rank map: which rank runs on which slot of which node. It goes to stdout, a summary "
    "to\n"
    "stderr. Inside a Slurm allocation, nodes, ranks per node and switches come from Slurm.\n\n"
    "      --mesh SPEC           axes and sizes: tp8,pp2,dp5; one axis may go without a size; "
    "ep5@dp\n"
    "                            is derived: it divides dp\n"
    "      --order ORDER         axes from the fastest: tp-pp-dp (default " MESHSPEC_ORDER ")\n"
    "      --traffic T           bytes per step: dp:allreduce:8MB,pp:p2p:64KB:16\n"
    "      --topology FILE       Slurm's topology.conf, or `scontrol show topology`; may be "
    "repeated\n"
    "      --cluster FILE        a cluster model (berth topo --json) or a node's hwloc XML\n"
    "      --nodes HOSTLIST      these nodes, n[00-09] (default: all that the files name)\n"
    "      --gpus-per-node N, --slots N\n"
    "                            ranks on each node (default: its GPUs)\n"
    "      --blocks              each node's ranks are one block (one launcher per node: "
    "torchrun)\n"
    "      --wide-tp             tp may be larger than a node (an NVLink domain of several nodes)\n"
    "      --method M            planned (default), name (Slurm's own order) or topology (nodes\n"
    "                            sorted by switch)\n"
    "      --format F            json (default), tsv, hostfile, rankfile or env; --json is the "
    "first\n"
    "  -o, --output FILE         write the map there, whole or not at all\n"
    "  -q, --quiet               no summary\n"
    "  -h, --help                this text\n";

enum {
    OPT_MESH = 1,
    OPT_ORDER,
    OPT_TRAFFIC,
    OPT_METHOD,
    OPT_FORMAT,
    OPT_JSON,
    OPT_BLOCKS,
    OPT_WIDE_TP
};

static const struct option table[] = {INPUT_FILE_OPTIONS,
                                      {"nodes", required_argument, NULL, INPUT_NODES},
                                      {"gpus-per-node", required_argument, NULL, INPUT_SLOTS},
                                      {"slots", required_argument, NULL, INPUT_SLOTS},
                                      {"mesh", required_argument, NULL, OPT_MESH},
                                      {"order", required_argument, NULL, OPT_ORDER},
                                      {"traffic", required_argument, NULL, OPT_TRAFFIC},
                                      {"method", required_argument, NULL, OPT_METHOD},
                                      {"format", required_argument, NULL, OPT_FORMAT},
                                      {"json", no_argument, NULL, OPT_JSON},
                                      {"blocks", no_argument, NULL, OPT_BLOCKS},
                                      {"wide-tp", no_argument, NULL, OPT_WIDE_TP},
                                      {"output", required_argument, NULL, 'o'},
                                      {"quiet", no_argument, NULL, 'q'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static int parse_method(struct map_options *o, const char *text, struct berth_error *err)
{
    for (o->method = 0; o->method < N_METHODS; o->method++)
        if (strcmp(text, methods[o->method]) == 0)
            return 0;
    return berth_error_set(err, BERTH_EINPUT, "--method is planned, name or topology, not '%.60s'",
                           text);
}

static int take_option(struct map_options *o, int option, struct berth_error *err)
{
    switch (option) {
    case OPT_MESH:
        o->mesh = optarg;
        return 0;
    case OPT_ORDER:
        o->order = optarg;
        return 0;
    case OPT_TRAFFIC:
        o->traffic = optarg;
        return 0;
    case OPT_METHOD:
        return parse_method(o, optarg, err);
    case OPT_FORMAT:
        o->format = berth_map_format(optarg);
        if (o->format < 0)
            return berth_error_set(err, BERTH_EINPUT,
                                   "--format is json, tsv, hostfile, rankfile or "
                                   "env, not '%.60s'",
                                   optarg);
        return 0;
    case OPT_JSON:
        o->format = BERTH_MAP_JSON;
        return 0;
    case OPT_BLOCKS:
        o->blocks = true;
        return 0;
    case OPT_WIDE_TP:
        o->wide_tp = true;
        return 0;
    case 'o':
        o->output = optarg;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case 'h':
        o->help = true;
        return 0;
    default:
        return input_option(&o->input, option, "--slots", optarg, err) < 0 ? -1 : 0;
    }
}

/* 0, or the exit code to end with. */
static int parse_options(int argc, char **argv, struct map_options *o)
{
    struct berth_error err;
    int option;
    memset(o, 0, sizeof(*o));
    o->output = "-";
    while ((option = command_option(argc, argv, ":o:qh", table)) != -1) {
        if (option == '?')
            return COMMAND_WRONG;
        if (take_option(o, option, &err) < 0)
            return command_fail(&err);
        if (o->help)
            return 0;
    }
    if (optind < argc)
        return command_usage("map", "'%.100s' is not an option; a mesh is given as --mesh SPEC",
                             argv[optind]);
    if (!o->mesh)
        return command_usage("map", "no mesh: give --mesh SPEC, as in --mesh tp8,pp2,dp5");
    return 0;
}

/* ---- the summary ---- */

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

/* "3 leaves (2 to 5 nodes each)" of the job's nodes. */
static void summarise_leaves(const struct job *job, char *buf, size_t size)
{
    int *count = calloc(job->cluster->n_switches + 1, sizeof(*count));
    int n = 0;
    snprintf(buf, size, "no switches known");
    for (int i = 0; count && i < job->n_nodes; i++) {
        const struct cluster_node *node = &job->cluster->nodes[job->nodes[i]];
        if (node->n_leaves > 0)
            count[node->leaves[0]]++;
    }
    for (int s = 0; count && s < job->cluster->n_switches; s++)
        if (count[s] > 0)
            count[n++] = count[s];
    if (n > 0) {
        qsort(count, n, sizeof(*count), compare_int);
        if (n == 1)
            snprintf(buf, size, "one leaf");
        else if (count[0] == count[n - 1])
            snprintf(buf, size, "%d leaves of %d node%s", n, count[0], text_plural(count[0]));
        else
            snprintf(buf, size, "%d leaves of %d to %d nodes", n, count[0], count[n - 1]);
    }
    free(count);
}

static void summarise_time(const struct plan *plan, const struct cost *chosen, int method)
{
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
    double least = chosen->seconds > 0 ? chosen->seconds : 1;
    fprintf(stderr,
            "step:     %s of communication not hidden by compute (%s order); Slurm's name order %s "
            "(x%.2f), topology order %s (x%.2f)\n",
            text_seconds(chosen->seconds, a), methods[method],
            text_seconds(plan->name_cost.seconds, b), plan->name_cost.seconds / least,
            text_seconds(plan->topology_cost.seconds, c), plan->topology_cost.seconds / least);
}

/* "leaf2's, 223 GB in 557 ms": the uplink that is busy longest. */
static const char *uplink_text(const struct job *job, const struct cost *cost, char *buf,
                               size_t size)
{
    char bytes[TEXT_MAX], seconds[TEXT_MAX];
    int sw = cost->worst_switch;
    if (sw < 0)
        return "none: nothing leaves a leaf";
    snprintf(buf, size, "%.100s's, %s in %s", job->cluster->switches[sw].name,
             text_bytes(cost->up[sw] > cost->down[sw] ? cost->up[sw] : cost->down[sw], bytes),
             text_seconds(cost->worst_seconds, seconds));
    return buf;
}

static void summarise(const struct map_options *o, const struct job *job, const struct plan *plan,
                      const struct cost *chosen)
{
    char mesh[512], leaves[64];
    summarise_leaves(job, leaves, sizeof(leaves));
    fprintf(stderr, "mesh:     %s, %d ranks, %s is the fastest axis\n",
            meshspec_format(&job->mesh, mesh, sizeof(mesh)), job->mesh.world,
            job->mesh.axes[0].name);
    fprintf(stderr, "nodes:    %d node%s, %s\n", job->n_nodes, text_plural(job->n_nodes), leaves);
    summarise_time(plan, chosen, o->method);
    if (job->cluster->n_switches > 0) {
        char busy[256], busy_by_name[256];
        fprintf(stderr, "uplink:   busy longest: %s; in Slurm's name order %s\n",
                uplink_text(job, chosen, busy, sizeof(busy)),
                uplink_text(job, &plan->name_cost, busy_by_name, sizeof(busy_by_name)));
    }
    if (job->traffic.reference)
        fprintf(stderr, "traffic:  reference model: pass --traffic for your job's own bytes\n");
    else
        fprintf(stderr, "traffic:  %s\n", o->traffic);
    if (plan->why[0] && o->method == METHOD_PLANNED)
        fprintf(stderr, "note:     %s\n", plan->why);
}

/* ---- making it ---- */

static int write_map(const struct map_options *o, const struct job *job, struct berth_error *err)
{
    struct plan plan;
    struct berth_map *map = NULL;
    int rc = -1;
    if (plan_solve(job, &plan, err) < 0)
        return -1;
    const struct placement *placements[] = {&plan.planned, &plan.name, &plan.topology};
    const struct cost *costs[] = {&plan.planned_cost, &plan.name_cost, &plan.topology_cost};
    map = plan_map(job, &plan, placements[o->method], err);
    if (!map || berth_map_save(map, o->format, o->output, err) < 0)
        goto out;
    if (!o->quiet)
        summarise(o, job, &plan, costs[o->method]);
    rc = 0;
out:
    berth_map_close(map);
    plan_clear(&plan);
    return rc;
}

static int parse_job(const struct map_options *o, int world, struct berth_mesh *mesh,
                     struct traffic *traffic, struct berth_error *err)
{
    if (meshspec_parse(o->mesh, o->order, world, mesh, err) < 0)
        return -1;
    return traffic_parse_or_reference(o->traffic, mesh, traffic, err);
}

/* tp talks many times per layer: spread over nodes by mistake, nothing else matters any more. */
static int check_tp(const struct map_options *o, const struct job *job, struct berth_error *err)
{
    int tp = berth_mesh_axis(&job->mesh, "tp"), most = 0;
    for (int i = 0; i < job->n_nodes; i++)
        most = job->slots[i] > most ? job->slots[i] : most;
    if (o->wide_tp || tp < 0 || job->mesh.axes[tp].size <= most)
        return 0;
    return berth_error_set(
        err, BERTH_ENO,
        "tp%d does not fit into a node, which has %d slot%s: make tp smaller, or "
        "pass --wide-tp where an NVLink domain has several nodes",
        job->mesh.axes[tp].size, most, text_plural(most));
}

static int make_map(const struct map_options *o, struct berth_error *err)
{
    struct selection sel;
    struct berth_mesh mesh;
    struct traffic traffic;
    struct job job = {0};
    struct cluster *cluster = input_load(&o->input, true, &sel, err);
    int rc = -1;
    if (!cluster)
        return -1;
    if (parse_job(o, sel.total, &mesh, &traffic, err) < 0 ||
        job_init(&job, cluster, &mesh, &traffic, sel.names, sel.slots, 0, sel.n, err) < 0 ||
        check_tp(o, &job, err) < 0)
        goto out;
    job.blocks = o->blocks;
    rc = write_map(o, &job, err);
out:
    job_clear(&job);
    selection_clear(&sel);
    cluster_free(cluster);
    return rc;
}

static int run(int argc, char **argv)
{
    struct map_options o;
    struct berth_error err;
    int code = parse_options(argc, argv, &o);
    if (code != 0)
        return code;
    if (o.help)
        return command_help(&command_map);
    return make_map(&o, &err) < 0 ? command_fail(&err) : COMMAND_DONE;
}

const struct command command_map = {"map", "make a rank map, offline or inside an allocation", help,
                                    run};
