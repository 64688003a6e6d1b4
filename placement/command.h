/*
 * The command `berth`: what its sub-commands share. Each is one entry of a table and one function
 * that parses its own options; input options, messages and output come from here.
 */
#ifndef BERTH_COMMAND_H
#define BERTH_COMMAND_H

#include "cluster.h"
#include "units.h"
#include <getopt.h>

enum command_exit {
    COMMAND_DONE = 0,
    COMMAND_NO = 1,    /* the input is sound, the answer is no */
    COMMAND_WRONG = 2, /* wrong usage or input, or the system refused */
};

struct command {
    const char *name, *summary, *help;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an exit code */
};

extern const struct command command_map, command_topo, command_show;

/* Prints "berth: SENTENCE" on stderr; returns the exit code that the error's kind means. */
int command_fail(const struct berth_error *err);

/* The same for a usage error, with a pointer to the command's help. */
int command_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What --help prints, on stdout; returns COMMAND_DONE. */
int command_help(const struct command *command);

/*
 * getopt_long with the command's own words: -1 at the end; '?' after one line about a wrong option,
 * when the caller returns COMMAND_WRONG.
 */
int command_option(int argc, char **argv, const char *letters, const struct option *table);

/* A whole number in min..max, or a BERTH_EINPUT that names the option. 0 or -1. */
int command_number(const char *option, const char *text, int min, int max, int *value,
                   struct berth_error *err);

/* True if `stream` is a terminal that should get colour (NO_COLOR and TERM=dumb say no). */
bool command_colour(FILE *stream);

/* ---- input: which nodes of which cluster ---- */

enum { INPUT_TOPOLOGY = 1000, INPUT_CLUSTER, INPUT_NODES, INPUT_SLOTS };

#define INPUT_FILE_OPTIONS                                 \
    {"topology", required_argument, NULL, INPUT_TOPOLOGY}, \
    {                                                      \
        "cluster", required_argument, NULL, INPUT_CLUSTER  \
    }
#define INPUT_FILES_MAX 64

struct input {
    const char *files[INPUT_FILES_MAX]; /* in the order given */
    int n_files;
    bool topology;     /* one of them came with --topology */
    const char *nodes; /* --nodes, or NULL */
    int slots;         /* --gpus-per-node or --slots, 0: not given */
};

/* Takes an option that is one of the above; 1 taken, 0 not ours, -1 error. */
int input_option(struct input *in, int option, const char *name, const char *value,
                 struct berth_error *err);
int input_file(struct input *in, const char *path, struct berth_error *err);

/* Nodes in Slurm's own order, and the ranks that each can take. */
struct selection {
    char **names;
    int *slots;
    int n, total;
};
void selection_clear(struct selection *s);

/*
 * The cluster and the selected nodes of it: from the files and --nodes, and what they leave open
 * from Slurm. With `slots` false nobody needs to know the ranks per node. NULL on error.
 */
struct cluster *input_load(const struct input *in, bool slots, struct selection *sel,
                           struct berth_error *err);

/* A cluster of these nodes only, with the switches above them. NULL on error. */
struct cluster *input_restrict(const struct cluster *c, const struct selection *sel,
                               struct berth_error *err);

/* qsort comparison of two `char *`: as Slurm sorts node names, numbers as numbers. */
int input_name_compare(const void *a, const void *b);

/* ---- output ---- */

/* A writer for berth_file_save(): a json_t *, indented. */
int output_json(FILE *out, void *json, struct berth_error *err);

/* "1 node", "10 nodes": for "%d%s" in messages. */
static inline const char *text_plural(int n)
{
    return n == 1 ? "" : "s";
}

#endif
