/*
 * The rank map from the inside: what placement and the plugin need to make, pack and write one.
 * Running jobs use berth.h alone.
 *
 * Making a map:  berth_map_new -> berth_map_add_shape, berth_map_add_path, berth_map_add_node ...
 *                -> berth_map_finish (checks all that a reader would check, computes the hash)
 */
#ifndef BERTH_MAP_H
#define BERTH_MAP_H

#include "mesh.h"
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BERTH_NAME_MAX 255        /* bytes in the name of a node, switch or NIC */
#define BERTH_NODE_RANKS_MAX 4096 /* ranks on one node (Slurm's own limit is 512 tasks) */
#define BERTH_GPUS_MAX 4096       /* GPUs, NICs or cliques of one shape */
#define BERTH_LEVELS_MAX 16       /* switches in one path */
#define BERTH_PATHS_MAX 64        /* paths of one node */

struct berth_gpu {
    char *pci; /* "0000:18:00.0", the GPU's identity; NULL where only the number of GPUs is known */
    int index; /* the driver's index when it was read, -1 unknown */
    int numa;  /* NUMA node's OS index, -1 unknown */
    char *cpus; /* "0-15", NULL unknown */
    char *nic;  /* name of the nearest NIC, NULL unknown */
};

struct berth_nic {
    char *name, *pci;
    int numa;
};

/* The hardware of nodes that are alike. GPUs in PCI bus order: slot i is gpus[i]. */
struct berth_shape {
    int n_gpus, n_nics, n_cliques;
    struct berth_gpu *gpus;
    struct berth_nic *nics;
    char **cliques; /* NVLink cliques as ranges of slots, "0-7" */
};

/* Switches above an attachment, leaf first; nodes with the same switches share one. */
struct berth_path {
    char *nic; /* NULL: the node's only, or any, NIC */
    int n_switches;
    char **switches;
};

struct berth_map_node {
    char *name;
    int shape;               /* index into shapes, -1 where nothing is known */
    int first, n_ranks;      /* its ranks: node_ranks[first ...], in local-rank order */
    int first_path, n_paths; /* node_paths[first_path ...]: indices into paths */
};

struct berth_map {
    struct berth_mesh mesh;
    int n_shapes, n_paths, n_nodes;
    struct berth_shape *shapes;
    struct berth_path *paths;
    struct berth_map_node *nodes;
    int *node_ranks; /* world entries: ranks, node after node */
    int *node_slots; /* parallel to node_ranks: slot, -1 for no GPU */
    int *node_paths;
    int *rank_at;   /* rank -> its index in node_ranks, filled by berth_map_finish */
    int *rank_node; /* rank -> node */
    int n_node_ranks, n_node_paths; /* entries in use */
    json_t *cost, *source;          /* carried, not read; may be NULL. Outside the hash */
    char hash[80];                  /* "sha256:..." */
    size_t room_nodes, room_ranks, room_paths; /* capacity of the arrays above */
    void *by_name;                             /* index name -> node, filled by berth_map_finish */
    void *path_tree, *shape_tree; /* what berth_map_add_path and _add_shape look for equals in */
};

/* An empty map over a finished mesh. NULL: out of memory. */
struct berth_map *berth_map_new(const struct berth_mesh *mesh);

/* Copy a shape or path in and return its index; an equal one is reused. -1: no memory. */
int berth_map_add_shape(struct berth_map *map, const struct berth_shape *shape);
int berth_map_add_path(struct berth_map *map, const char *nic, const char *const *switches, int n);
/* Appends a shape without looking for an equal one; takes over what it points to, also on -1. */
int berth_map_append_shape(struct berth_map *map, struct berth_shape *shape);

/*
 * Appends a node. `ranks` and `slots` have n entries in local-rank order (slot -1: no GPU); `paths`
 * are indices from berth_map_add_path. BERTH_ESYSTEM on no memory, BERTH_EINPUT on a bad name
 * (letters, digits, '.', '_' and '-', not '-' first: such a name is safe in every format that is
 * written) or on more ranks than a node or the world has. A node may have no ranks: a spare.
 */
int berth_map_add_node(struct berth_map *map, const char *name, int shape, const int *ranks,
                       const int *slots, int n, const int *paths, int n_paths,
                       struct berth_error *err);

/* Checks the whole map as a reader would and computes its hash. Call it once. */
int berth_map_finish(struct berth_map *map, struct berth_error *err);

/* ---- shapes ---- */

int berth_shape_copy(struct berth_shape *to, const struct berth_shape *from); /* -1: no memory */
void berth_shape_clear(struct berth_shape *shape); /* frees what it points to and empties it */
int berth_shape_compare(const struct berth_shape *a, const struct berth_shape *b); /* 0: equal */
/* Names of switches and NICs, PCI ids: 1 to BERTH_NAME_MAX printable ASCII characters. */
bool berth_name_is_plain(const char *name);
/*
 * What a shape must be: names plain, PCI ids well-formed and ascending (slot i is the i-th GPU by
 * bus id), CPUs and cliques ranges, cliques of slots that exist. `place` begins the message
 * ("shapes[0]").
 */
int berth_shape_check(const struct berth_shape *shape, const char *place, struct berth_error *err);
/* A shape from its JSON object, and back (new reference, NULL: no memory). */
int berth_shape_read(const json_t *json, const char *place, struct berth_shape *shape,
                     struct berth_error *err);
json_t *berth_shape_json(const struct berth_shape *shape);

/* ---- from and to bytes ---- */

/*
 * Parses a map from memory. `name` is what errors call it ("map.json"); the bytes need no NUL.
 *
 * Required: berth_map, world, mesh.order, mesh.axes, nodes; of a node, name and ranks. Optional:
 *   mesh.derived, shapes, cost, source; of a node, shape (its GPUs are unknown then, and a slot is
 *   only bounded by BERTH_GPUS_MAX), slots (none of its ranks has a GPU) and paths; all of a GPU or
 *   NIC but the NIC's name, with null the same as absent;
 *   hash (a map written by hand; then nothing tells an edited map from the one that was meant).
 * Any other key is ignored, unless its name begins with "must_". cost and source are objects; of
 * source, "traffic" is a string. A known key given twice is refused, and so is any key of these
 * two; of unknown keys nothing is asked.
 *
 * Errors: "map.json: line 3, column 14: ..." where it is not JSON, else the place as a path:
 * "map.json: nodes[12].ranks: ...".
 *
 * Memory: some 10 times the bytes, and 20 bytes for every rank that the nodes list.
 */
struct berth_map *berth_map_parse(const char *name, const char *bytes, size_t size,
                                  struct berth_error *err);

enum berth_map_format {
    BERTH_MAP_JSON,     /* the map itself; the same map gives the same bytes */
    BERTH_MAP_TSV,      /* a header line, then a row per rank: where it runs, its coordinates */
    BERTH_MAP_HOSTFILE, /* SLURM_HOSTFILE: one node name per rank */
    /*
     * Open MPI 4 and PRRTE: "rank 0=n00 slot=0". The slot is the core that the rank is bound to,
     * its local rank here: mpirun refuses a node with fewer cores than ranks (seen with 4.1.4: exit
     * 1, silent).
     */
    BERTH_MAP_RANKFILE,
    BERTH_MAP_ENV, /* shell: export BERTH_MAP_HASH=... and the job-wide variables */
};

/* The format of that name ("json", "tsv", ...), or -1. */
int berth_map_format(const char *name);

/* Writes to a stream; 0, or -1 and BERTH_ESYSTEM when the stream fails (disk full). */
int berth_map_write(const struct berth_map *map, enum berth_map_format format, FILE *out,
                    struct berth_error *err);

/* The JSON alone, with or without the cost; -1: no memory, or see ferror(). */
int berth_map_write_json(const struct berth_map *map, bool with_cost, FILE *out);

/* To a file as berth_file_save() does (file.h): complete or absent. "-" is standard output. */
int berth_map_save(const struct berth_map *map, enum berth_map_format format, const char *path,
                   struct berth_error *err);

/* ---- through the environment (spec.md 3) ---- */

#define BERTH_PACK_PART_MAX (64 * 1024) /* characters in one variable's value, without the NUL */
#define BERTH_PACK_PARTS_MAX 64

/*
 * The map without its cost, deflated, in base64, cut into parts of at most
 * BERTH_PACK_PART_MAX characters: values for SLURM_BERTH_MAP_0, _1, ... Returns a NULL-terminated
 * array to be freed with berth_map_parts_free(), or NULL.
 */
char **berth_map_pack(const struct berth_map *map, struct berth_error *err);
void berth_map_parts_free(char **parts);

/* The reverse. `parts` has n strings. Refuses what unpacks to over 64 MiB. */
struct berth_map *berth_map_unpack(const char *const *parts, int n, struct berth_error *err);

/* ---- helpers that writers and readers share ---- */

/*
 * "0-3,8" for {0,1,2,3,8}: runs of ascending neighbours; -1 is written "-". No values: "". Caller
 * frees. NULL: no memory.
 */
char *berth_ranges_format(const int *values, int n);
/*
 * Parses "0-3,8" into a new array in the order written; each value in 0..max, at most `limit`
 * values. "" is no values. Returns their number, or -1 with BERTH_EINPUT. *values is not NULL on
 * success.
 */
int berth_ranges_parse(const char *text, int max, int limit, int **values, struct berth_error *err);

/* The same without a copy: `size` bytes, up to `room` values; with `dash`, "-" is the value -1. */
int berth_ranges_scan(const char *text, size_t size, int max, bool dash, int *values, int room,
                      struct berth_error *err);

#endif
