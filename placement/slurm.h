/*
 * Slurm's own node and job state, from the environment and from scontrol's text (libslurm's API for
 * the topology changed shape three times between 22.05 and 25.11; the text did not).
 */
#ifndef BERTH_SLURM_H
#define BERTH_SLURM_H

#include "cluster.h"

struct slurm_job {
    char *job_id;
    char *nodelist;   /* SLURM_JOB_NODELIST */
    int n_nodes;
    char **names;     /* expanded, Slurm's order */
    int *tasks;       /* per node from SLURM_TASKS_PER_NODE ("8(x10),4"), or NULL */
    int ntasks;       /* SLURM_NTASKS, or 0 */
    int gpus_per_node; /* SLURM_GPUS_ON_NODE or SLURM_GPUS_PER_NODE, 0 unknown */
};

/* The job that the environment describes. 0; 1 when this is not inside a job; -1. */
int slurm_job_env(struct slurm_job *job, struct berth_error *err);
void slurm_job_clear(struct slurm_job *job);

/* "8(x10),4" -> n numbers; BERTH_EINPUT when it does not make n. Caller frees. */
int *slurm_counts_parse(const char *text, int n, struct berth_error *err);

/*
 * Runs scontrol (found beside this build's Slurm, else in PATH, or $BERTH_SCONTROL) with these
 * arguments, waits at most `seconds`, and returns its output. NULL: could not run, failed, or late;
 * the message ends with scontrol's own first line of complaint.
 */
char *slurm_scontrol(const char *const *args, int seconds, size_t *size, struct berth_error *err);

/*
 * The cluster as Slurm tells it: topology from `topology` (a file) or, if NULL, scontrol; NodeAddr and
 * GPU counts of `nodelist` (NULL: all nodes) from scontrol when `with_nodes`.
 */
struct cluster *slurm_cluster(const char *topology, const char *nodelist, bool with_nodes,
                              struct berth_error *err);

#endif
