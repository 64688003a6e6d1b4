/*
 * The cluster model: nodes, their hardware, and the switches above them. Every reader fills it, the
 * cost and the mapper see nothing else.
 *
 * Rates are bytes per second and per direction, latencies seconds; 0 means unknown (the cost then
 * takes the defaults that cost.h documents).
 */
#ifndef BERTH_CLUSTER_H
#define BERTH_CLUSTER_H

#include "../lib/error.h"
#include "../lib/map.h"

#define CLUSTER_NODES_MAX (1 << 20)    /* nodes, and switches, of one cluster */
#define CLUSTER_LEAVES_MAX 64          /* attachments of one node */

struct cluster_switch {
    char *name;
    int parent;    /* index of the switch above, -1 for a root */
    int level;     /* 0 for a leaf, else 1 + the highest level below it */
    int nodes;     /* nodes attached to it directly */
    bool all;      /* Nodes=ALL: every node that no switch lists is attached, see cluster_attach_all */
    double uplink; /* rate to its parent, each direction */
    double link_latency; /* one way through its uplink */
    int line;      /* where its record stands in the source, for messages */
};

struct cluster_node {
    char *name;
    int shape;      /* index into shapes, -1 unknown */
    int gpus;       /* number of GPUs, -1 unknown */
    int n_leaves;   /* attachments: usually 1; 0 for a node that no switch lists */
    int *leaves;    /* switch indices, in the order read */
    double rate;    /* its network rate, each direction */
    double latency; /* one way, through its own link */
    double inner_rate, inner_latency; /* between two ranks of this node */
    char *addr;     /* NodeAddr where it is known and differs from the name, else NULL */
};

/* Rates for what has none of its own; 0: not given. */
struct cluster_defaults {
    double rate, latency, inner_rate, inner_latency; /* nodes */
    double uplink, link_latency;                     /* switches */
};

struct cluster {
    int n_switches, n_nodes, n_shapes;
    struct cluster_switch *switches;
    struct cluster_node *nodes;
    struct berth_shape *shapes;
    struct cluster_defaults defaults; /* applied by cluster_finish and cluster_merge */
    char *source;  /* what it was read from, in words: "topology.conf" */
    char *refused; /* a topology that Berth does not use ("torus3d"), by name, else NULL */
    const char *note; /* a sentence for the user about what was read, or NULL */
    size_t room_switches, room_nodes, room_shapes;
    void *switch_index, *node_index; /* by name; owned by cluster.c */
};

struct cluster *cluster_new(void); /* NULL: no memory */
void cluster_free(struct cluster *c);

/* Lookup by exact name: index or -1. Constant time. */
int cluster_find_node(const struct cluster *c, const char *name);
int cluster_find_switch(const struct cluster *c, const char *name);

/* Find or append; index, or -1 on no memory or past CLUSTER_NODES_MAX. A new node has unknown
 * hardware and no leaf. */
int cluster_add_node(struct cluster *c, const char *name);
int cluster_add_switch(struct cluster *c, const char *name);
/* Attaches a node to a leaf (twice the same: no change). 0, or -1 on no memory or too many leaves. */
int cluster_attach(struct cluster *c, int node, int leaf);
/* Copies a shape in, or finds an equal one. Index or -1. */
int cluster_add_shape(struct cluster *c, const struct berth_shape *shape);
/* Gives a shape to every node that has none, unless its number of GPUs is known to differ. Returns
 * how many took it. */
int cluster_spread_shape(struct cluster *c, int shape);
/* Attaches the nodes without a leaf to the switch that Slurm's Nodes=ALL stands on, if there is one.
 * 0 or -1 on no memory. Call it once the nodes are known; cluster_finish does. */
int cluster_attach_all(struct cluster *c);

/*
 * Call when a reader is done: computes levels, applies the defaults, refuses a cycle of switches and a
 * switch that has both nodes and switches, by name and line. `name` is the source's name for messages.
 * May be called again after changes.
 */
int cluster_finish(struct cluster *c, const char *name, struct berth_error *err);

/* Switches above a node through attachment `path`, leaf first; fills up to `room`, returns depth. */
int cluster_path(const struct cluster *c, int node, int path, int *switches, int room);

/*
 * Merges `from` into `into`: nodes and switches by name. What `into` knows and `from` does not say
 * stays, rates and addresses that both say are taken from `from`; a contradiction (another leaf,
 * another number of GPUs) is BERTH_EINPUT and names both. `into` is no model any more after an error.
 */
int cluster_merge(struct cluster *into, const struct cluster *from, struct berth_error *err);

/* ---- readers: one per format ---- */

/*
 * Slurm's topology.conf (topology/tree) and the text of `scontrol show topology`: both are records
 * of Key=Value. `name` is what messages call it. On an inner switch, scontrol's Nodes= repeats what
 * is below and is not an attachment. Block, ring and torus3d records: see cluster.refused.
 */
struct cluster *cluster_read_topology(const char *name, const char *bytes, size_t size,
                                      struct berth_error *err);

/*
 * Slurm's `scontrol show node --oneliner`: NodeName, NodeAddr, Gres=gpu:N. Adds to `c`. A node without
 * a GPU in Gres has none if another node of the same text has one, else its GPUs stay unknown.
 */
int cluster_read_scontrol_nodes(struct cluster *c, const char *name, const char *bytes, size_t size,
                                struct berth_error *err);

/*
 * The site's cluster model, JSON, as cluster_write_model() and `berth-step --links` write it:
 *   {"berth_cluster": 1,
 *    "defaults": {"node": {"rate": 5e10, "latency": 2e-6, "inner_rate": 3e11, "inner_latency": 1e-6},
 *                 "switch": {"uplink": 2e11, "latency": 1e-6}},
 *    "shapes": [...],                      as in a rank map
 *    "switches": [{"name": "leaf0", "parent": "spine", "uplink": 2.5e7, "latency": ...}, ...],
 *    "nodes": [{"names": "n[00-09]", "leaf": "leaf0" or ["r0","r1"], "gpus": 8, "shape": 0, "rate": ...}]}
 * Every key but the first is optional; "defaults" apply to what the same file or those it is merged
 * with name without a rate of its own. Lists of nodes are hostlist expressions.
 */
struct cluster *cluster_read_model(const char *name, const char *bytes, size_t size,
                                   struct berth_error *err);
/* The model as JSON (new reference), such that reading it back gives the same model. */
json_t *cluster_write_model(const struct cluster *c);

/*
 * A node's hardware from hwloc: GPUs by PCI class 03xx/12xx and vendor NVIDIA or AMD (never a VGA or
 * BMC chip), in bus order, with NUMA node, CPUs and nearest NIC; NICs by class 02xx with a network
 * or OpenFabrics device. From an XML file's bytes, or from the live machine with bytes = NULL.
 * `*note` (may be NULL) receives a sentence to print, or NULL: XML without I/O objects is said to be so.
 * 0 and *shape filled (free with berth_shape_clear), or -1. Without hwloc: BERTH_ESYSTEM says so.
 */
int cluster_read_hwloc(const char *name, const char *bytes, size_t size, struct berth_shape *shape,
                       const char **note, struct berth_error *err);

/*
 * Reads files of the above kinds, found by content (not by name), and merges them in order. An
 * hwloc XML describes the nodes that no other file gives a shape and whose number of GPUs is its own or
 * unknown (without any node it is a shape alone); "live" is this machine.
 */
struct cluster *cluster_read_files(const char *const *paths, int n, struct berth_error *err);

/* A whole file in memory, at most 256 MiB, as berth_file_read() has it (lib/file.h). */
char *cluster_slurp(const char *path, size_t *size, struct berth_error *err);

#endif
