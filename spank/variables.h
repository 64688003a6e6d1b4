/*
 * The variables a task gets: the specification's table as one pure function.
 */
#ifndef BERTH_VARIABLES_H
#define BERTH_VARIABLES_H

#include "../lib/error.h"
#include "../lib/map.h"
#include <stdbool.h>

#define VARIABLES_MAX 80 /* 16 axes make 32 of them */
#define VARIABLE_NAME_MAX 64

/*
 * BERTH_SET lists "NAME=VALUE,..." of the variables without a BERTH_ prefix that Berth has set. A
 * step started from inside a task inherits them; where such a variable still has that value it is
 * Berth's, not the user's, and the inner step's value replaces it.
 */
#define VARIABLES_MARK "BERTH_SET"

/* What all tasks of a step share. */
struct variables_step {
    const struct berth_map *map;
    bool layout;          /* SLURM_PROCID is the rank already */
    bool nodes;           /* one launcher per node: no per-rank variables */
    bool override_slurm;  /* rewrite SLURM_PROCID, SLURM_NODEID, SLURM_LOCALID */
    bool keep_local_rank; /* leave LOCAL_RANK alone */
    const char *master_addr;
    int master_port;
    const char *map_file; /* NULL: could not be written, BERTH_MAP is not set */
};

enum variable_fate {
    VARIABLE_SET,      /* to be set */
    VARIABLE_KEPT,     /* the user's, and it says the same */
    VARIABLE_CONFLICT, /* the user's, and it says something else: stays, is reported */
    VARIABLE_UNSET,
};

struct variable {
    char name[VARIABLE_NAME_MAX];
    char *value; /* NULL for VARIABLE_UNSET */
    char *users; /* the user's value, for VARIABLE_CONFLICT */
    enum variable_fate fate;
};

struct variables {
    int n;
    struct variable list[VARIABLES_MAX];
};

/*
 * The variables of local task `local` on map node `node`, given the task's environment as `get`
 * tells it (NULL: not set). 0, or -1 and BERTH_ENO (override under PMI), BERTH_ESYSTEM. Clear with
 * variables_clear in both cases.
 */
int variables_make(const struct variables_step *step, int node, int local,
                   const char *(*get)(const char *name, void *arg), void *arg,
                   struct variables *out, struct berth_error *err);
void variables_clear(struct variables *variables);

/* The first conflict as a sentence in buf; false when there is none. */
bool variables_conflict(const struct variables *variables, char *buf, size_t size);

/*
 * Whether a variable of the user's contradicts any task's, BERTH_ENO with the sentence: under
 * strict that stops the whole step, on all nodes alike, for tasks that happen to agree must not be
 * left waiting for the others. The ranks are walked only where the user has set one of the
 * variables.
 */
int variables_check(const struct variables_step *step,
                    const char *(*get)(const char *name, void *arg), void *arg,
                    struct berth_error *err);

/* A port for a step: the same everywhere, spread over low..high. */
int variables_port(unsigned job, unsigned step, int low, int high);

#endif
