/*
 * The commands' input: files given by --topology and --cluster, nodes by --nodes, ranks per node by
 * --slots, and from Slurm what these leave open.
 */
#include "command.h"
#include "hostlist.h"
#include "slurm.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX 4096

int input_file(struct input *in, const char *path, struct berth_error *err)
{
    if (in->n_files == INPUT_FILES_MAX)
        return berth_error_set(err, BERTH_EINPUT, "more than %d input files, at '%.200s'",
                               INPUT_FILES_MAX, path);
    in->files[in->n_files++] = path;
    return 0;
}

int input_option(struct input *in, int option, const char *name, const char *value,
                 struct berth_error *err)
{
    switch (option) {
    case INPUT_TOPOLOGY:
        in->topology = true;
        return input_file(in, value, err) < 0 ? -1 : 1;
    case INPUT_CLUSTER:
        return input_file(in, value, err) < 0 ? -1 : 1;
    case INPUT_NODES:
        in->nodes = value;
        return 1;
    case INPUT_SLOTS:
        return command_number(name, value, 1, SLOTS_MAX, &in->slots, err) < 0 ? -1 : 1;
    default:
        return 0;
    }
}

void selection_clear(struct selection *s)
{
    hostlist_free(s->names, s->n);
    free(s->slots);
    memset(s, 0, sizeof(*s));
}

static size_t skip_zeros(const char *s)
{
    return strspn(s, "0");
}

int input_name_compare(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    while (*x && *y) {
        if (!isdigit((unsigned char)*x) || !isdigit((unsigned char)*y)) {
            if (*x != *y)
                return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
            x++, y++;
            continue;
        }
        const char *p = x + skip_zeros(x), *q = y + skip_zeros(y);
        size_t m = strspn(p, "0123456789"), n = strspn(q, "0123456789");
        int order = m != n ? (m < n ? -1 : 1) : strncmp(p, q, m);
        if (order != 0)
            return order;
        x = p + m;
        y = q + n;
    }
    return *x || *y ? (*x ? 1 : -1) : strcmp(*(char *const *)a, *(char *const *)b);
}

static int select_expression(struct selection *sel, const char *nodes, struct berth_error *err)
{
    sel->n = hostlist_expand(nodes, &sel->names, err);
    if (sel->n < 0) {
        sel->n = 0;
        return berth_error_prefix(err, "--nodes");
    }
    if (sel->n == 0)
        return berth_error_set(err, BERTH_EINPUT, "--nodes names no node");
    qsort(sel->names, sel->n, sizeof(*sel->names), input_name_compare);
    for (int i = 1; i < sel->n; i++)
        if (strcmp(sel->names[i - 1], sel->names[i]) == 0)
            return berth_error_set(err, BERTH_EINPUT, "--nodes names node %.200s twice",
                                   sel->names[i]);
    return 0;
}

/* Copies n names in the order given. */
static int select_names(struct selection *sel, int n, const char *(*name)(const void *, int),
                        const void *from, struct berth_error *err)
{
    sel->names = calloc(n ? n : 1, sizeof(*sel->names));
    if (!sel->names)
        return berth_error_memory(err);
    for (sel->n = 0; sel->n < n; sel->n++) {
        sel->names[sel->n] = strdup(name(from, sel->n));
        if (!sel->names[sel->n])
            return berth_error_memory(err);
    }
    return 0;
}

static const char *name_of_node(const void *cluster, int i)
{
    return ((const struct cluster *)cluster)->nodes[i].name;
}

static const char *name_of_job(const void *job, int i)
{
    return ((const struct slurm_job *)job)->names[i];
}

static int select_all(struct selection *sel, const struct cluster *c, struct berth_error *err)
{
    if (select_names(sel, c->n_nodes, name_of_node, c, err) < 0)
        return -1;
    qsort(sel->names, sel->n, sizeof(*sel->names), input_name_compare);
    return 0;
}

static int missing(const struct cluster *c, const char *name, struct berth_error *err)
{
    return berth_error_set(err, BERTH_EINPUT, "node %.200s is not in %.200s", name,
                           c->source ? c->source : "the input");
}

/* Ranks per node: as told, else the job's tasks, its GPUs, or the GPUs that the files give. */
static int count_slots(struct selection *sel, const struct input *in, const struct slurm_job *job,
                       const struct cluster *c, struct berth_error *err)
{
    bool tasks = job && job->tasks && (job->ntasks > 0 || job->gpus_per_node == 0);
    int each = in->slots ? in->slots : job && !tasks ? job->gpus_per_node : 0;
    long total = 0;
    sel->slots = calloc(sel->n, sizeof(*sel->slots));
    if (!sel->slots)
        return berth_error_memory(err);
    for (int i = 0; i < sel->n; i++) {
        int node = cluster_find_node(c, sel->names[i]);
        if (node < 0 && c->n_switches > 0)
            return missing(c, sel->names[i], err);
        int slots = each ? each : tasks ? job->tasks[i] : node < 0 ? 0 : c->nodes[node].gpus;
        if (slots <= 0)
            return berth_error_set(err, BERTH_EINPUT,
                                   "how many ranks node %.200s takes is not known: give --slots N "
                                   "or --gpus-per-node N",
                                   sel->names[i]);
        sel->slots[i] = slots;
        total += slots;
    }
    if (total > BERTH_WORLD_MAX)
        return berth_error_set(err, BERTH_EINPUT,
                               "%d nodes with %ld slots are more than the %d "
                               "ranks that a map can hold: give fewer with --nodes",
                               sel->n, total, BERTH_WORLD_MAX);
    sel->total = (int)total;
    return 0;
}

/* The files alone; or Slurm's view, with what the files add to it. */
static struct cluster *load_cluster(const struct input *in, const char *nodelist, bool slurm,
                                    struct berth_error *err)
{
    if (!slurm)
        return cluster_read_files(in->files, in->n_files, err);
    struct cluster *c = slurm_cluster(NULL, nodelist, true, err);
    if (!c) {
        berth_error_prefix(err, "nodes and switches come from Slurm where no --topology FILE says");
        return NULL;
    }
    if (in->n_files == 0)
        return c;
    struct cluster *more = cluster_read_files(in->files, in->n_files, err);
    if (!more || cluster_merge(c, more, err) < 0) {
        cluster_free(c);
        c = NULL;
    }
    cluster_free(more);
    return c;
}

/*
 * Nodes that only --nodes names: all of them where the files know no switch, and those that Slurm's
 * Nodes=ALL stands for. A node's hwloc XML alone describes every one.
 */
static int add_named(struct cluster *c, const struct selection *sel, struct berth_error *err)
{
    bool open = c->n_switches == 0, bare = c->n_nodes == 0;
    for (int s = 0; s < c->n_switches; s++)
        open = open || c->switches[s].all;
    for (int i = 0; open && i < sel->n; i++)
        if (cluster_add_node(c, sel->names[i]) < 0)
            return berth_error_memory(err);
    if (bare && c->n_shapes == 1)
        cluster_spread_shape(c, 0);
    return cluster_attach_all(c) < 0 ? berth_error_memory(err) : 0;
}

struct cluster *input_load(const struct input *in, bool slots, struct selection *sel,
                           struct berth_error *err)
{
    struct slurm_job job = {0};
    struct cluster *c = NULL;
    memset(sel, 0, sizeof(*sel));
    int inside = !in->nodes && !in->topology ? slurm_job_env(&job, err) : 1;
    if (inside < 0)
        goto fail;
    bool in_job = inside == 0;
    if (slots && !in_job && !in->nodes && in->n_files == 0) {
        berth_error_set(err, BERTH_EINPUT,
                        "no nodes: give --topology FILE and perhaps --nodes, or run "
                        "this inside a Slurm allocation");
        goto fail;
    }
    c = load_cluster(in, in->nodes ? in->nodes : job.nodelist,
                     in->n_files == 0 || (in_job && !in->topology), err);
    if (!c)
        goto fail;
    if ((in->nodes ? select_expression(sel, in->nodes, err)
         : in_job  ? select_names(sel, job.n_nodes, name_of_job, &job, err)
                   : select_all(sel, c, err)) < 0)
        goto fail;
    if (in->nodes && add_named(c, sel, err))
        goto fail;
    if (slots && sel->n == 0) {
        berth_error_set(err, BERTH_EINPUT, "%.200s names no node: give --nodes",
                        c->source ? c->source : in->files[0]);
        goto fail;
    }
    if (slots && count_slots(sel, in, in_job ? &job : NULL, c, err) < 0)
        goto fail;
    slurm_job_clear(&job);
    return c;
fail:
    slurm_job_clear(&job);
    selection_clear(sel);
    cluster_free(c);
    return NULL;
}

/* The switch of `from` and all above it; its index in `to`, or -1. */
static int copy_switch(struct cluster *to, const struct cluster *from, int sw)
{
    int first = -1, below = -1;
    for (; sw >= 0; sw = from->switches[sw].parent) {
        const struct cluster_switch *s = &from->switches[sw];
        int known = to->n_switches, copy = cluster_add_switch(to, s->name);
        if (copy < 0)
            return -1;
        if (first < 0)
            first = copy;
        if (below >= 0)
            to->switches[below].parent = copy;
        if (copy < known)
            return first;
        to->switches[copy].parent = -1;
        to->switches[copy].uplink = s->uplink;
        to->switches[copy].link_latency = s->link_latency;
        to->switches[copy].line = s->line;
        below = copy;
    }
    return first;
}

static int copy_node(struct cluster *to, const struct cluster *from, const struct cluster_node *n)
{
    int copy = cluster_add_node(to, n->name);
    if (copy < 0)
        return -1;
    struct cluster_node *node = &to->nodes[copy];
    node->gpus = n->gpus;
    node->rate = n->rate;
    node->latency = n->latency;
    node->inner_rate = n->inner_rate;
    node->inner_latency = n->inner_latency;
    if (n->addr && !(node->addr = strdup(n->addr)))
        return -1;
    if (n->shape >= 0 && (node->shape = cluster_add_shape(to, &from->shapes[n->shape])) < 0)
        return -1;
    for (int i = 0; i < n->n_leaves; i++) {
        int leaf = copy_switch(to, from, n->leaves[i]);
        if (leaf < 0 || cluster_attach(to, copy, leaf) < 0)
            return -1;
    }
    return 0;
}

struct cluster *input_restrict(const struct cluster *c, const struct selection *sel,
                               struct berth_error *err)
{
    struct cluster *part = cluster_new();
    if (!part) {
        berth_error_memory(err);
        return NULL;
    }
    for (int i = 0; i < sel->n; i++) {
        int node = cluster_find_node(c, sel->names[i]);
        if (node < 0) {
            missing(c, sel->names[i], err);
            goto fail;
        }
        if (copy_node(part, c, &c->nodes[node]) < 0) {
            berth_error_memory(err);
            goto fail;
        }
    }
    if (c->source && !(part->source = strdup(c->source))) {
        berth_error_memory(err);
        goto fail;
    }
    if (cluster_finish(part, c->source ? c->source : "the input", err) == 0)
        return part;
fail:
    cluster_free(part);
    return NULL;
}
