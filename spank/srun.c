/*
 * In srun: steer the task layout where that is safe, and send the map with the step. request.c says
 * when each of the two is tried.
 */
#include "config.h"

#include "../placement/hostlist.h"
#include "plugin.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- facts ---- */

static int sum(const int *values, int n)
{
    long total = 0;
    for (int i = 0; values && i < n; i++)
        total += values[i];
    return total > BERTH_WORLD_MAX ? 0 : (int)total;
}

static int step_tasks(const struct srun_side *s, int nodes)
{
    long tasks = s->args.ntasks;
    if (!tasks && s->args.ntasks_per_node)
        tasks = (long)s->args.ntasks_per_node * nodes;
    if (!tasks)
        tasks = nodes; /* srun's own default */
    return tasks > BERTH_WORLD_MAX ? 0 : (int)tasks;
}

static int gpus_per_node(const struct srun_side *s)
{
    return s->args.gpus_per_node ? s->args.gpus_per_node : s->job.gpus_per_node;
}

static void facts_fill(const struct srun_side *s, struct facts *f)
{
    long gpus;

    f->given = s->given;
    f->off = s->options.off;
    f->strict = s->options.strict;
    f->mode = s->options.mode;
    f->fixed = s->options.fixed;
    f->open = s->options.open;
    f->args = &s->args;
    f->slurm_release = SLURM_VERSION_NUMBER >> 8;
    f->in_job = s->in_job;
    f->job_nodes = s->in_job ? s->job.n_nodes : 0;
    f->job_tasks = sum(s->job.tasks, s->job.n_nodes);
    gpus = (long)gpus_per_node(s) * f->nodes;
    f->gpus = gpus > BERTH_WORLD_MAX ? 0 : (int)gpus;
    f->requested = s->requested;
    f->helper = srun_args_is_helper(s->args.program);
}

/*
 * One task per node may mean one launcher per node, and then GPUs decide. salloc does not tell
 * their number: the nodes' own does, for this one question.
 */
static void find_gpus(struct berth_context *ctx, struct facts *f, const char *nodelist,
                      char *const *names)
{
    struct srun_side *s = &ctx->srun;
    long gpus = 0;

    if (f->gpus || f->helper || f->tasks != f->nodes || !(f->open || f->fixed > f->tasks))
        return;
    if (!s->cluster && !s->failed) {
        s->cluster = solve_cluster(&ctx->site, nodelist, &s->error);
        s->failed = !s->cluster;
    }
    for (int i = 0; s->cluster && i < f->nodes; i++) {
        int node = cluster_find_node(s->cluster, names[i]);
        if (node < 0 || s->cluster->nodes[node].gpus < 1)
            return;
        gpus += s->cluster->nodes[node].gpus;
    }
    f->gpus = gpus > BERTH_WORLD_MAX ? 0 : (int)gpus;
}

/* The tasks that layout puts on each node: Slurm's own numbers where they make the world, else even
 * ones. */
static int *layout_seats(const struct srun_side *s, int world)
{
    int n = s->job.n_nodes;
    int *seats = calloc((size_t)n, sizeof(*seats));
    bool own = sum(s->job.tasks, n) == world;

    for (int i = 0; seats && i < n; i++)
        seats[i] = own ? s->job.tasks[i] : world / n;
    if (sum(seats, n) != world) {
        free(seats);
        seats = NULL;
    }
    return seats;
}

/* True where every node's CPUs surely take its tasks. */
static bool capacity(const struct srun_side *s, const int *seats)
{
    const char *text = getenv("SLURM_JOB_CPUS_PER_NODE");
    int each = s->args.cpus_per_task ? s->args.cpus_per_task : 1;
    int *cpus = seats && text ? slurm_counts_parse(text, s->job.n_nodes, NULL) : NULL;
    bool enough = cpus != NULL;

    for (int i = 0; enough && i < s->job.n_nodes; i++)
        enough = (long)seats[i] * each <= cpus[i];
    free(cpus);
    return enough;
}

/* ---- early: before the step exists ---- */

/* A file that leaves nothing behind: srun opens it by the name of our descriptor. */
static int hostfile_set(struct srun_side *s, struct berth_error *err)
{
    char path[64];
    FILE *out = NULL;
    int copy = -1;
    bool whole = false;

    s->hostfile = memfd_create("berth-hostfile", MFD_CLOEXEC);
    if (s->hostfile >= 0 && (copy = dup(s->hostfile)) >= 0 && (out = fdopen(copy, "w"))) {
        whole = !berth_map_write(s->solution.map, BERTH_MAP_HOSTFILE, out, err);
        whole = !fclose(out) && whole;
    } else if (copy >= 0) {
        close(copy);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->hostfile);
    if (whole && !setenv("SLURM_HOSTFILE", path, 1)) {
        s->requested = true;
        return 0;
    }
    if (s->hostfile >= 0)
        close(s->hostfile);
    s->hostfile = -1;
    return berth_error_set(err, BERTH_ESYSTEM, "no memory for a host file");
}

/* What fails here is tried again, and told, when the step exists; only a cluster that could not be
 * read is not read twice. */
static void early_solve(struct berth_context *ctx, const int *seats, int world)
{
    struct srun_side *s = &ctx->srun;
    struct seats step = {s->job.names, s->job.n_nodes, seats, world, false};
    struct berth_error err;

    if (!s->cluster && !s->failed)
        s->cluster = solve_cluster(&ctx->site, s->job.nodelist, &s->error);
    s->failed = !s->cluster;
    if (s->failed || s->cluster->refused)
        return;
    if (solve_map(&s->options, s->cluster, &step, &s->solution, &err) || hostfile_set(s, &err))
        solution_clear(&s->solution);
}

/* Undoes an earlier attempt: the command line overrides what was inherited. */
static void withdraw(struct srun_side *s)
{
    if (s->requested)
        unsetenv("SLURM_HOSTFILE");
    if (s->hostfile >= 0)
        close(s->hostfile);
    s->hostfile = -1;
    s->requested = false;
    solution_clear(&s->solution);
}

void berth_srun_early(struct berth_context *ctx)
{
    struct srun_side *s = &ctx->srun;
    struct facts facts = {0};
    struct decision decision;
    int *seats;

    withdraw(s);
    if (!s->asked || s->options.off || !s->in_job || s->unreadable)
        return;
    facts.nodes = s->args.nodes ? s->args.nodes : s->job.n_nodes;
    facts.tasks = step_tasks(s, facts.nodes);
    facts_fill(s, &facts);
    if (facts.nodes == s->job.n_nodes)
        find_gpus(ctx, &facts, s->job.nodelist, s->job.names);
    decide(&facts, &decision);
    if (decision.world == 0)
        return;
    seats = layout_seats(s, decision.world);
    facts.capacity = capacity(s, seats);
    decide(&facts, &decision);
    if (decision.action == DECIDE_LAYOUT && seats)
        early_solve(ctx, seats, decision.world);
    free(seats);
}

int berth_srun_post_opt(struct berth_context *ctx)
{
    struct srun_side *s = &ctx->srun;

    if (s->requested)
        unsetenv("SLURM_HOSTFILE"); /* srun has read it; tasks and their own sruns must not */
    if (s->hostfile >= 0)
        close(s->hostfile);
    s->hostfile = -1;
    return 0;
}

/* ---- late: the step exists ---- */

/* The step as Slurm laid it out. */
struct step {
    uint32_t job, id;
    slurm_step_layout_t *layout;
    char **names;
    int n_nodes, *tasks;
};

static void step_clear(struct step *step)
{
    hostlist_free(step->names, step->n_nodes);
    free(step->tasks);
    if (step->layout)
        slurm_job_step_layout_free(step->layout);
}

static int step_read(struct step *step, spank_t spank, struct berth_error *err)
{
    slurm_step_id_t id = {.step_het_comp = NO_VAL};

    if (spank_get_item(spank, S_JOB_ID, &step->job) ||
        spank_get_item(spank, S_JOB_STEPID, &step->id))
        return berth_error_set(err, BERTH_ESYSTEM, "Slurm does not tell the step's number");
    id.job_id = step->job;
    id.step_id = step->id;
    step->layout = slurm_job_step_layout_get(&id);
    if (!step->layout)
        return berth_error_set(err, BERTH_ESYSTEM,
                               "Slurm does not tell the layout of step %u.%u: %s", step->job,
                               step->id, slurm_strerror(errno));
    step->n_nodes = hostlist_expand(step->layout->node_list, &step->names, err);
    if (step->n_nodes < 0 || (uint32_t)step->n_nodes != step->layout->node_cnt) {
        step->n_nodes = step->n_nodes < 0 ? 0 : step->n_nodes;
        return berth_error_set(
            err, BERTH_ESYSTEM, "Slurm's layout of step %u.%u names %.100s but counts %u nodes",
            step->job, step->id, step->layout->node_list, step->layout->node_cnt);
    }
    step->tasks = calloc((size_t)step->n_nodes, sizeof(*step->tasks));
    if (!step->tasks)
        return berth_error_memory(err);
    for (int i = 0; i < step->n_nodes; i++)
        step->tasks[i] = step->layout->tasks[i];
    return 0;
}

/* True where Slurm's task ids stand on the nodes as the map's ranks. */
static bool followed(const struct step *step, const struct berth_map *map)
{
    for (int i = 0; i < step->n_nodes; i++) {
        const int *ranks;
        int node = berth_map_node(map, step->names[i]);
        if (node < 0 || berth_map_node_ranks(map, node, &ranks) != step->tasks[i])
            return false;
        for (int k = 0; k < step->tasks[i]; k++)
            if ((uint32_t)ranks[k] != step->layout->tids[i][k])
                return false;
    }
    return true;
}

/* Ranks per node of a step with one launcher per node. */
static int *launcher_seats(const struct step *step, int world)
{
    int *seats = calloc((size_t)step->n_nodes, sizeof(*seats));
    for (int i = 0; seats && i < step->n_nodes; i++)
        seats[i] = world / step->n_nodes;
    return seats;
}

static int late_solve(struct berth_context *ctx, const struct step *step,
                      const struct decision *decision, struct berth_error *err)
{
    struct srun_side *s = &ctx->srun;
    bool blocks = decision->action == DECIDE_REMAP_NODES;
    int *launchers = blocks ? launcher_seats(step, decision->world) : NULL;
    struct seats seats = {step->names, step->n_nodes, blocks ? launchers : step->tasks,
                          decision->world, blocks};
    int rc = -1;

    solution_clear(&s->solution);
    if (blocks && !launchers)
        berth_error_memory(err);
    else
        rc = solve_map(&s->options, s->cluster, &seats, &s->solution, err);
    free(launchers);
    return rc;
}

/* Puts the map and the note into the environment that goes to the nodes. */
static int send_map(struct berth_context *ctx, const struct step *step,
                    const struct decision *decision, struct berth_error *err)
{
    const struct srun_side *s = &ctx->srun;
    struct note note = {
        .layout = decision->action == DECIDE_LAYOUT,
        .nodes = decision->action == DECIDE_REMAP_NODES,
        .strict = s->options.strict,
        .override_slurm = s->options.override_slurm,
        .keep_local_rank = decision->keep_local_rank,
        .port = variables_port(step->job, step->id, ctx->site.port_low, ctx->site.port_high),
    };
    char name[sizeof(NOTE_MAP_PREFIX) + 16], text[NOTE_MAX + 1];
    char **parts = berth_map_pack(s->solution.map, err);
    int rc = parts ? 0 : -1;

    for (; !rc && parts[note.parts]; note.parts++) {
        snprintf(name, sizeof(name), NOTE_MAP_PREFIX "%d", note.parts);
        if (setenv(name, parts[note.parts], 1))
            rc = berth_error_memory(err);
    }
    solve_master(s->solution.map, s->cluster, note.addr, sizeof(note.addr));
    if (!rc && (!note_format(&note, text, sizeof(text)) || setenv(NOTE_VARIABLE, text, 1)))
        rc = berth_error_set(err, BERTH_ESYSTEM,
                             "rank 0's address '%.100s' cannot be sent to the nodes", note.addr);
    berth_map_parts_free(parts);
    return rc;
}

static void report(const struct srun_side *s, const struct decision *decision)
{
    const char *mode = decision->action == DECIDE_LAYOUT  ? "layout"
                       : decision->action == DECIDE_REMAP ? "remap"
                                                          : "remap (one launcher per node)";
    char text[1024], *rest = text;

    solve_report(&s->solution, mode, text, sizeof(text));
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            berth_say("%s", line);
}

/* Stops the step on its nodes, see NOTE_STOP. */
static int stop_step(void)
{
    berth_forget_outer_step();
    return setenv(NOTE_VARIABLE, NOTE_STOP, 1) ? -1 : 0;
}

static int give_up(const struct srun_side *s, const char *sentence)
{
    berth_say("%s; %s", sentence,
              s->options.strict ? "the step stops (strict)" : "the job runs as Slurm would");
    return s->options.strict ? stop_step() : 0;
}

/* The cluster, once; *err is the early attempt's where that has failed already. */
static int late_cluster(struct berth_context *ctx, const struct step *step, struct berth_error *err)
{
    struct srun_side *s = &ctx->srun;

    if (s->failed) {
        *err = s->error;
        return -1;
    }
    if (!s->cluster)
        s->cluster = solve_cluster(&ctx->site, step->layout->node_list, err);
    return s->cluster ? 0 : -1;
}

static int act(struct berth_context *ctx, const struct step *step, struct facts *facts)
{
    struct srun_side *s = &ctx->srun;
    struct decision decision;
    struct berth_error err;

    decide(facts, &decision);
    if (decision.action >= DECIDE_LAYOUT) {
        if (late_cluster(ctx, step, &err))
            return give_up(s, err.text);
        facts->refused = s->cluster->refused;
        decide(facts, &decision);
    }
    if (decision.text[0])
        berth_say("%s%s", decision.text,
                  decision.action == DECIDE_STOP   ? "; the step stops (strict)"
                  : decision.action == DECIDE_LINE ? "; it runs as Slurm would"
                                                   : "");
    if (decision.action == DECIDE_STOP)
        return stop_step();
    if (decision.action < DECIDE_LAYOUT)
        return 0;
    if (decision.action != DECIDE_LAYOUT && late_solve(ctx, step, &decision, &err))
        return give_up(s, err.text);
    if (send_map(ctx, step, &decision, &err)) {
        berth_forget_outer_step();
        return give_up(s, err.text);
    }
    if (s->options.report)
        report(s, &decision);
    return 0;
}

static bool is_helper(const struct srun_side *s, spank_t spank)
{
    int argc = 0;
    char **argv = NULL;

    if (!spank_get_item(spank, S_JOB_ARGV, &argc, &argv) && argc > 0)
        return srun_args_is_helper(argv[0]);
    return srun_args_is_helper(s->args.program);
}

/* The same where the mesh or the step is unknown: an inherited option leaves alone, also under
 * strict, what no mesh means. */
static int give_up_unread(const struct srun_side *s, spank_t spank, bool helper,
                          const char *sentence)
{
    uint32_t tasks = 0;

    if (!s->given &&
        (helper || (!spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks) && tasks == 1)))
        return 0;
    return give_up(s, sentence);
}

int berth_srun_step(struct berth_context *ctx, spank_t spank)
{
    struct srun_side *s = &ctx->srun;
    struct facts facts = {.placed = true};
    struct step step = {0};
    struct berth_error err;
    bool helper;
    int rc;

    if (!s->asked || s->options.off)
        return 0;
    helper = is_helper(s, spank);
    if (s->unreadable)
        return give_up_unread(s, spank, helper, s->error.text);
    if (step_read(&step, spank, &err)) {
        rc = give_up_unread(s, spank, helper, err.text);
        goto done;
    }
    facts.nodes = step.n_nodes;
    facts.tasks = (int)step.layout->task_cnt;
    facts_fill(s, &facts);
    facts.capacity = true;
    facts.followed = s->requested && followed(&step, s->solution.map);
    facts.helper = helper;
    find_gpus(ctx, &facts, step.layout->node_list, step.names);
    rc = act(ctx, &step, &facts);
done:
    step_clear(&step);
    return rc;
}

void berth_srun_exit(struct berth_context *ctx)
{
    struct srun_side *s = &ctx->srun;

    withdraw(s);
    options_clear(&s->options);
    cluster_free(s->cluster);
    slurm_job_clear(&s->job);
    free(s->cmdline);
    *s = (struct srun_side){.hostfile = -1};
}
