/*
 * The decision table. Rows are tried from the most to the least certain reason to stay out, then
 * layout, then remap; the first that applies decides.
 */
#include "config.h"

#include "decide.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void say(struct decision *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(out->text, sizeof(out->text), format, args);
    va_end(args);
}

/* Inherited options are silent where they do not apply; given ones say so, and strict stops. */
static void stay_out(const struct facts *f, struct decision *out)
{
    if (!f->given) {
        out->action = DECIDE_NOTHING;
        out->text[0] = 0;
        return;
    }
    out->action = f->strict ? DECIDE_STOP : DECIDE_LINE;
}

/* What nobody could place gets its one line, also inherited; only what was given stops a step. */
static void cannot(const struct facts *f, struct decision *out)
{
    out->world = 0;
    out->action = f->given && f->strict ? DECIDE_STOP : DECIDE_LINE;
}

/*
 * The world of a mesh with an open axis. One task per node on nodes with more GPUs than that is one
 * launcher per node. An inherited option means the job, so a step on a part of it is not its step.
 */
static int open_world(const struct facts *f)
{
    if (!f->given && f->in_job && f->job_nodes && f->nodes != f->job_nodes)
        return 0;
    if (!f->given && f->job_tasks && f->tasks != f->job_tasks && f->tasks != f->nodes)
        return 0;
    int world = f->tasks == f->nodes && f->gpus > f->tasks ? f->gpus : f->tasks;
    return world % f->fixed ? 0 : world;
}

/* The number of ranks that the step can hold, or 0 and the reason in out->text. */
static int fitting_world(const struct facts *f, struct decision *out)
{
    int world = f->open ? open_world(f) : f->fixed;

    if (f->open && !world) {
        say(out, "the mesh's sizes make %d, which does not divide this step's %d tasks%s", f->fixed,
            f->tasks, f->gpus ? " or its GPUs" : "");
        return 0;
    }
    if (f->tasks == world)
        return world;
    if (f->tasks != f->nodes || f->tasks > world) {
        say(out, "the mesh has %d ranks, this step %d tasks on %d nodes", world, f->tasks,
            f->nodes);
        return 0;
    }
    if (f->gpus && world > f->gpus) {
        say(out, "the mesh has %d ranks, this step has %d GPUs on %d node%s", world, f->gpus,
            f->nodes, f->nodes == 1 ? "" : "s");
        return 0;
    }
    if (world != f->gpus && world % f->nodes) {
        say(out, "%d nodes without known GPUs or slots cannot share %d ranks evenly", f->nodes,
            world);
        return 0;
    }
    /* a launcher per node of a part of the job is not what sbatch's --berth meant */
    if (!f->given && f->job_nodes && f->nodes != f->job_nodes && world != f->gpus) {
        say(out, "a part of the job");
        return 0;
    }
    return world;
}

/* Why layout cannot work whatever the user says, or NULL. */
static const char *never_layout(const struct facts *f)
{
    const struct srun_args *args = f->args;

    if (!f->in_job)
        return "srun makes its own allocation";
    if (args->given &
        (SRUN_NODELIST | SRUN_EXCLUDE | SRUN_RELATIVE | SRUN_DISTRIBUTION | SRUN_NO_ALLOCATE))
        return "one of -w, -x, -r, -m, -Z is given";
    if (args->given & SRUN_HOSTFILE)
        return "SLURM_HOSTFILE is set";
    if (args->given & SRUN_NODES &&
        (f->slurm_release >= DECIDE_HOSTFILE_NODES || args->nodes != f->job_nodes))
        return "-N is given";
    if (args->given & SRUN_JOBID)
        return "--jobid is given";
    if (f->nodes != f->job_nodes)
        return "the step takes a part of the job's nodes";
    if (args->ntasks_per_node && args->ntasks_per_node * (long)f->job_nodes != f->tasks)
        return "--ntasks-per-node does not make the mesh";
    return NULL;
}

/* Why layout is not proved to be safe, or NULL; mode=layout takes the risk. */
static const char *doubt_layout(const struct facts *f, int world)
{
    const struct srun_args *args = f->args;

    if (!args->certain)
        return args->doubt;
    if (args->given & (SRUN_EXACT | SRUN_OVERLAP))
        return "the step takes a part of the job (--exact, --exclusive or --overlap)";
    if (args->given & SRUN_NARROW)
        return "an option limits what a node takes";
    if (world != f->job_tasks && world != f->gpus)
        return "the step takes a part of the job's tasks";
    if (!f->capacity)
        return "a node's CPUs may not hold its share";
    return NULL;
}

static void report_local_rank(const struct facts *f, struct decision *out)
{
    out->keep_local_rank = srun_args_hide_peers(f->args) && out->action != DECIDE_REMAP_NODES;
    if (out->keep_local_rank && !out->text[0])
        say(out, "each task sees only its own GPUs, so LOCAL_RANK is left alone (BERTH_LOCAL_RANK "
                 "is set)");
}

/* Before the step exists: layout where it is safe. */
static void choose_early(const struct facts *f, struct decision *out)
{
    const char *why = never_layout(f);

    if (!why && f->mode == MODE_AUTO)
        why = doubt_layout(f, out->world);
    if (!why && f->mode != MODE_REMAP)
        out->action = DECIDE_LAYOUT;
}

/* The step exists: layout if it was asked for and came about. */
static void choose_late(const struct facts *f, struct decision *out)
{
    const char *why = never_layout(f);

    if (f->requested && f->followed)
        out->action = DECIDE_LAYOUT;
    else if (f->requested)
        say(out, "Slurm did not lay the tasks out as asked: remap");
    else if (f->mode == MODE_LAYOUT)
        say(out, "mode=layout is not possible here (%.150s): remap",
            why ? why : "srun's arguments do not tell");
}

static void choose(const struct facts *f, struct decision *out)
{
    out->action = f->tasks == out->world ? DECIDE_REMAP : DECIDE_REMAP_NODES;
    if (out->action == DECIDE_REMAP && f->placed)
        choose_late(f, out);
    else if (out->action == DECIDE_REMAP)
        choose_early(f, out);
    else if (f->mode == MODE_LAYOUT)
        say(out, "mode=layout is for one task per rank, this step has one per node: remap");
    if (f->placed && f->strict && f->mode == MODE_LAYOUT && out->action != DECIDE_LAYOUT)
        out->action = DECIDE_STOP;
}

void decide(const struct facts *f, struct decision *out)
{
    memset(out, 0, sizeof(*out));
    if (f->off)
        return;
    if (f->helper) {
        say(out, "this is mpirun starting its daemons; put --berth on the job instead");
        stay_out(f, out);
        return;
    }
    bool het = f->args->given & SRUN_HET;
    if (!(het && f->given) && (f->tasks < 1 || f->nodes < 1)) {
        say(out, "the number of tasks is not known");
        stay_out(f, out);
        return;
    }
    out->world = het && f->given ? 0 : fitting_world(f, out);
    if (het && (f->given || out->world)) {
        say(out, "heterogeneous jobs are not placed");
        cannot(f, out);
        return;
    }
    if (!out->world) {
        stay_out(f, out);
        return;
    }
    if (f->refused) {
        say(out, "topology %.60s is not placed", f->refused);
        cannot(f, out);
        return;
    }
    choose(f, out);
    report_local_rank(f, out);
}
