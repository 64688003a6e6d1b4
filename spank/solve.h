/*
 * From the request and the step's nodes to a rank map, in srun.
 */
#ifndef BERTH_SOLVE_H
#define BERTH_SOLVE_H

#include "../placement/slurm.h"
#include "options.h"

/* What a step offers: nodes in Slurm's order, each with the ranks it takes. */
struct seats {
    char **names;
    int n_nodes;
    const int *ranks;
    int world;   /* their sum */
    bool blocks; /* one launcher per node */
};

/* A map, and what the report says of it. */
struct solution {
    struct berth_map *map;
    bool predicted;                 /* false for a map of the user's */
    double planned, name, topology; /* seconds per step */
    char why[256];
};

/* The cluster as Slurm tells it (nodes of `nodelist`), with the site's model laid over it. */
struct cluster *solve_cluster(const struct site *site, const char *nodelist,
                              struct berth_error *err);

/* Solves, or reads and checks the user's own map. Clear with solution_clear. */
int solve_map(const struct options *options, struct cluster *cluster, const struct seats *seats,
              struct solution *out, struct berth_error *err);
void solution_clear(struct solution *solution);

/* The report's lines into buf, each ended by a newline. */
void solve_report(const struct solution *solution, const char *mode, char *buf, size_t size);

/* Where rank 0 listens: its node's name, or NodeAddr where that does not resolve. Into buf. */
void solve_master(const struct berth_map *map, const struct cluster *cluster, char *buf,
                  size_t size);

#endif
