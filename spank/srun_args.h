/*
 * What srun was asked to do, read from its own argument vector and input environment before Slurm
 * has parsed either: SPANK has no item for it, and the task layout must be steered earlier than
 * the first hook that knows it.
 */
#ifndef BERTH_SRUN_ARGS_H
#define BERTH_SRUN_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#define SRUN_ARGS_BYTES_MAX (4 << 20) /* a longer command line is not read: doubt */

enum srun_given {
    SRUN_NODELIST = 1 << 0,       /* -w, -F, --nodefile */
    SRUN_EXCLUDE = 1 << 1,        /* -x */
    SRUN_RELATIVE = 1 << 2,       /* -r */
    SRUN_DISTRIBUTION = 1 << 3,   /* -m, SLURM_DISTRIBUTION */
    SRUN_NODES = 1 << 4,          /* -N on the command line */
    SRUN_NO_ALLOCATE = 1 << 5,    /* -Z */
    SRUN_HET = 1 << 6,            /* --het-group, or a ':' between components */
    SRUN_HOSTFILE = 1 << 7,       /* SLURM_HOSTFILE of the user's */
    SRUN_GPUS_PER_TASK = 1 << 8,  /* or anything else that binds GPUs to tasks by itself */
    SRUN_GPU_BIND = 1 << 9,       /* --gpu-bind, any value but none */
    SRUN_GPU_BIND_NONE = 1 << 10, /* --gpu-bind=none: peers stay visible whatever else is given */
    SRUN_NTASKS_PER_NODE = 1 << 11,
    SRUN_EXACT = 1 << 12, /* --exact, --exclusive: the step takes a part */
    SRUN_OVERLAP = 1 << 13,
    SRUN_CPUS_PER_TASK = 1 << 14,
    SRUN_NARROW =
        1 << 15, /* memory, threads per core ...: a node may take fewer tasks than its CPUs */
    SRUN_JOBID = 1 << 16,  /* --jobid: perhaps not the job of the environment */
    SRUN_NTASKS = 1 << 17, /* -n on the command line */
};

struct srun_args {
    bool certain;      /* every option was understood */
    char doubt[128];   /* else: the first thing that was not */
    unsigned given;    /* enum srun_given */
    int ntasks;        /* 0: not said */
    int nodes;         /* 0: not said, or a range; the environment's counts as said */
    int cpus_per_task; /* 0: not said */
    int ntasks_per_node;
    int gpus_per_node;   /* --gpus-per-node or --gres=gpu:N; 0: not said */
    int berth;           /* how often --berth stands on the command line */
    const char *program; /* points into the argument vector; NULL: none found */
};

/*
 * Parses a command line as /proc/PID/cmdline holds it: strings that end in NUL. Fills *out, also
 * when in doubt; out->program points into `bytes`.
 */
void srun_args_parse(const char *bytes, size_t size, struct srun_args *out);

/* Adds what srun reads from its environment; `get` is getenv, or a test's own. */
void srun_args_environment(struct srun_args *args, const char *(*get)(const char *name));

/* This process's command line, or NULL when it cannot be read. Caller frees. */
char *srun_args_cmdline(size_t *size);

/* True where each task sees its own GPUs only. */
bool srun_args_hide_peers(const struct srun_args *args);

/* True for the daemons that mpirun starts through srun: orted, prted, hydra_pmi_proxy ... */
bool srun_args_is_helper(const char *program);

#endif
