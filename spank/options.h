/*
 * The value of --berth and BERTH=, and the plugin's arguments in plugstack.conf.
 */
#ifndef BERTH_OPTIONS_H
#define BERTH_OPTIONS_H

#include "../lib/error.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define OPTIONS_VALUE_MAX 8192 /* characters of a --berth value */

enum options_mode { MODE_AUTO, MODE_LAYOUT, MODE_REMAP };

struct options {
    bool off, help;
    bool strict, report, override_slurm;
    enum options_mode mode;
    char *mesh;    /* "tp8,pp2,dp", NULL with map= alone */
    char *order;   /* NULL: the usual one */
    char *traffic; /* NULL: the reference model's */
    char *map;     /* file of the user's own map, NULL */
    int fixed;     /* product of the axes that have a size */
    bool open;     /* one axis takes what is left of the world */
};

/*
 * Parses and checks a value: keys, mesh, order and traffic, all that can be told before the world
 * size is known. 0 and *out filled (options_clear frees), or -1 with one sentence; then *out holds
 * nothing.
 */
int options_parse(const char *value, struct options *out, struct berth_error *err);
void options_clear(struct options *options);

/* The text of --berth=help. */
extern const char options_help[];

#define SITE_PORT_LOW 20000 /* below Linux's ephemeral ports, which begin at 32768 */
#define SITE_PORT_HIGH 28999

/* What the administrator says in plugstack.conf. */
struct site {
    const char *topology; /* file, NULL: ask scontrol */
    const char *model;    /* the site's cluster model, NULL */
    char dir[PATH_MAX];   /* where the nodes keep map files */
    int port_low, port_high;
};

/*
 * Reads the arguments. A wrong one is passed to `complain` as a sentence and its default stays. The
 * strings of *out point into argv.
 */
void site_parse(int argc, char **argv, struct site *out, void (*complain)(const char *sentence));

#endif
