/*
 * What Berth does with a step: the decision table of the specification as one pure function.
 *
 * It is asked twice. Early, in srun's option callback, before the step exists: only DECIDE_LAYOUT
 * is acted on then. Late, when Slurm has laid the step out: the answer is final, and with `placed`
 * set it also says whether a layout that was asked for came about.
 */
#ifndef BERTH_DECIDE_H
#define BERTH_DECIDE_H

#include "options.h"
#include "srun_args.h"

/* 23.11: from here on -N and a host file exclude each other */
#define DECIDE_HOSTFILE_NODES 0x170b

struct facts {
    /* the request */
    bool given; /* on this srun; false: inherited from sbatch, salloc or BERTH= */
    bool off, strict;
    enum options_mode mode;
    int fixed; /* product of the mesh's sized axes */
    bool open; /* one axis takes what is left */
    /* the step; early, `tasks` and `nodes` are what srun's arguments and the job make probable */
    bool placed; /* the step exists */
    int tasks, nodes;
    int gpus;            /* GPUs of the step's nodes together, 0 unknown */
    bool helper;         /* mpirun's own launch */
    const char *refused; /* a topology that Berth does not use, by name */
    /* the job around it */
    bool in_job;   /* srun runs inside an allocation */
    int job_nodes; /* 0: unknown */
    int job_tasks; /* sum of SLURM_TASKS_PER_NODE, 0 unknown */
    bool capacity; /* each node of the job surely takes world/nodes tasks, or its share of job_tasks
                    */
    bool requested; /* late: layout was asked for */
    bool followed;  /* late: and Slurm laid the tasks out so */
    /* srun */
    const struct srun_args *args;
    int slurm_release; /* major << 8 | minor */
};

enum action {
    DECIDE_NOTHING, /* silent: runs as Slurm would */
    DECIDE_LINE,    /* `text` is printed, and that it runs as Slurm would */
    DECIDE_STOP,    /* `text` is printed, and that the step stops (strict) */
    DECIDE_LAYOUT,
    DECIDE_REMAP,       /* one task per rank */
    DECIDE_REMAP_NODES, /* one launcher per node, each node's ranks one block */
};

struct decision {
    enum action action;
    int world;            /* ranks to place, for the last three */
    bool keep_local_rank; /* LOCAL_RANK is left to Slurm */
    char text[256];       /* the sentence to print, "" for none; may come with the last three too */
};

void decide(const struct facts *facts, struct decision *out);

#endif
