/*
 * The plugin's one context, and the hooks' workers: request.c and srun.c in srun, node.c in
 * slurmstepd.
 */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include "decide.h"
#include "mapfile.h"
#include "note.h"
#include "solve.h"
#include "variables.h"
#include <slurm/slurm.h>
#include <slurm/spank.h>

/* In srun. */
struct srun_side {
    struct options options;
    bool asked;            /* options hold a request */
    bool given;            /* on this command line; else inherited */
    bool from_environment; /* by BERTH= */
    int callbacks, given_callbacks;
    struct srun_args args;
    char *cmdline; /* what args.program points into */
    bool in_job;   /* known before srun makes an allocation of its own */
    struct slurm_job job;
    struct cluster *cluster;
    struct solution solution;
    bool unreadable; /* map=FILE could not be read */
    bool failed;     /* nor could the cluster; `error` says why */
    struct berth_error error;
    int hostfile;   /* memfd, -1 none */
    bool requested; /* layout was asked for */
};

/* In slurmstepd. */
struct node_side {
    bool acting; /* SLURM_BERTH_STEP is there */
    bool stop;   /* srun has said why: the tasks must not run */
    struct note note;
    struct mapfile file;
    char map_file[PATH_MAX + 80];
    struct berth_map *map;
    int node;                    /* this node's index in the map */
    bool ready;                  /* tasks get their variables */
    char error[BERTH_ERROR_MAX]; /* what went wrong in the hooks that cannot tell the user */
};

struct berth_context {
    struct site site;
    struct srun_side srun;
    struct node_side node;
};

extern struct berth_context berth_context;

/* One line to the user. */
#define berth_say(...) slurm_spank_log("berth: " __VA_ARGS__)

void berth_srun_init(struct berth_context *ctx);
int berth_srun_option(struct berth_context *ctx, const char *value);
void berth_srun_early(struct berth_context *ctx); /* layout, before the step exists */
int berth_srun_post_opt(struct berth_context *ctx);
int berth_srun_step(struct berth_context *ctx, spank_t spank);
void berth_srun_exit(struct berth_context *ctx);

/* A program that a Berth task started must not send the outer step's map. */
void berth_forget_outer_step(void);

int berth_alloc_option(const char *value);
int berth_option_help(void); /* prints the keys; does not return */

void berth_node_open(struct berth_context *ctx, spank_t spank);
void berth_node_user(struct berth_context *ctx, spank_t spank);
int berth_node_task(struct berth_context *ctx, spank_t spank);
void berth_node_exit(struct berth_context *ctx);

#endif
