/*
 * Looking at a rank map: what can be worked out from it (a cluster, a job, what crosses what), and
 * the two ways to tell it, text and SVG. A map file alone is enough; rates come from other files.
 */
#ifndef BERTH_SHOW_H
#define BERTH_SHOW_H

#include "command.h"
#include "cost.h"

#define SHOW_NO_SWITCH "(no switch)" /* stands for the leaf of nodes that have none */

/*
 * Switches from above: first child and next sibling, in the order read or by name; -1 ends. Roots
 * are siblings.
 */
struct tree {
    int root;
    int *child, *sibling;
};
int tree_init(struct tree *tree, const struct cluster *c, bool by_name, struct berth_error *err);
void tree_clear(struct tree *tree);

/* A map with the cluster and the job that its paths, ranks and traffic describe. */
struct view {
    const struct berth_map *map;
    struct cluster *cluster;
    struct job job;                 /* its nodes in Slurm's usual order, by name */
    int *at;                        /* node of the map -> index into job.nodes */
    int *leaf;                      /* index into job.nodes -> the leaf it counts for: its first */
    bool reference;                 /* nobody said the traffic: it is the reference model's */
    bool rates;                     /* someone gave rates: predicted times mean something */
    bool switches;                  /* the map, or a file, names switches */
    struct placement planned, name; /* the map's own, and Slurm's block order by node name */
    struct cost planned_cost, name_cost;
};

/*
 * Works everything out. `files` are read for rates and switches that the map does not say. On
 * error -1; view_clear in any case.
 */
int view_init(struct view *view, const struct berth_map *map, const struct input *files,
              struct berth_error *err);
void view_clear(struct view *view);

/* "dp allreduce 8 MB, pp p2p 64 KB x4"; into buf, returns buf. */
const char *view_traffic_text(const struct view *view, char *buf, size_t size);
/* Bytes per step through the uplink of a switch, in the direction that carries more. */
double view_load(const struct cost *cost, int sw);
/* True if that is more than nothing in either order; a root's counts where there are several. */
bool view_is_loaded(const struct view *view, int sw);
/* The axis whose traffic sends most bytes across leaves, else the largest. */
int view_main_axis(const struct view *view);

/* How the members of a group talk: NCCL's ring, a chain of neighbours (pp), or each with each. */
enum group_form { GROUP_RING, GROUP_CHAIN, GROUP_PAIRS };
enum group_form view_form(const struct view *view, int axis);

#define TRACE_STOPS 8

/* One group's way over the leaves. */
struct trace {
    int ranks, nodes; /* nodes: 1 or more, counted up to 2 */
    int leaves;       /* different leaves touched */
    long crossings;   /* ring or chain edges, or pairs, between two leaves */
    int n_stops;      /* leaves in the order visited, neighbours merged; may exceed TRACE_STOPS */
    int stops[TRACE_STOPS]; /* switch indices */
    bool closed;            /* the ring comes back to the first */
};

/* `mark` has cluster->n_switches zeroed entries and is left so. */
void view_trace(const struct view *view, const struct placement *p, int axis, int group, int *mark,
                struct trace *out);
/* "leaf1 -> leaf0 -> leaf2, crosses 3 uplinks" or "inside leaf1"; into buf, leaves out what has no
 * room. */
const char *trace_text(const struct view *view, const struct trace *trace, int axis, char *buf,
                       size_t size);

/* All groups of an axis counted by how far they reach. */
struct reach {
    int groups, one_node, one_leaf, crossing; /* crossing = the rest */
    int worst;                                /* a group with most crossings */
    long worst_crossings;
};
int view_reach(const struct view *view, const struct placement *p, int axis, struct reach *out,
               struct berth_error *err);

/* ---- telling it ---- */

struct show_options {
    int axis; /* only this axis's groups, and all of them; -1: all axes, the first groups */
    bool colour;
};

int show_text(const struct view *view, const struct show_options *options, FILE *out,
              struct berth_error *err);
int show_text_rank(const struct view *view, int rank, FILE *out, struct berth_error *err);
int show_text_node(const struct view *view, int node, FILE *out, struct berth_error *err);
json_t *show_json(const struct view *view); /* new reference, NULL: no memory */
json_t *show_json_rank(const struct view *view, int rank);
json_t *show_json_node(const struct view *view, int node);

/* Writers for berth_file_save(). A drawing of the map, Slurm's name order beside it; coloured by
 * groups of `axis`. */
struct svg_map {
    const struct view *view;
    int axis;
};
int show_svg_map(FILE *out, void *svg_map, struct berth_error *err);
/* A drawing of a cluster alone: switches, nodes and rates. */
int show_svg_cluster(FILE *out, void *cluster, struct berth_error *err);

#endif
