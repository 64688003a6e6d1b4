/*
 * libberth: the rank map of a training job, as its processes read it.
 *
 * A rank map says which rank runs on which slot (node and GPU) and how the ranks form a mesh of
 * axes. Open it once, ask it anything, close it:
 *
 *     struct berth_error err;
 *     struct berth_map *map = berth_map_open(NULL, &err);      // $BERTH_MAP
 *     if (!map)
 *         die("%s\n", err.text);
 *     int dp = berth_map_axis(map, "dp");
 *     int me = berth_map_coord(map, dp, rank);
 *     berth_map_close(map);
 *
 * Lifetime: every string and array that a query returns belongs to the map and lives until
 * berth_map_close(). A map never changes after it is opened, so any number of threads may query it.
 *
 * Errors: a function that can fail returns -1 or NULL and fills its `struct berth_error *` (which
 * may be NULL) with a kind and one sentence: what is wrong, where, what to do. Queries about an
 * axis, rank or node that the map does not have return -1 or NULL and fill nothing.
 */
#ifndef BERTH_H
#define BERTH_H

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_PUBLIC __attribute__((visibility("default")))

enum berth_error_kind {
    BERTH_EOK = 0,
    BERTH_ENO = 1,     /* the input is sound, the answer is no: it does not fit, it does not match */
    BERTH_EINPUT = 2,  /* a file, an option or an argument is wrong */
    BERTH_ESYSTEM = 3, /* the system refused: a file that cannot be opened, no memory */
};

#define BERTH_ERROR_MAX 512

/* One failure. `text` has no newline and no program name. */
struct berth_error {
    enum berth_error_kind kind;
    char text[BERTH_ERROR_MAX];
};

/* The library's own version, "0.1.0". */
BERTH_PUBLIC const char *berth_version(void);

/* ---- open and close ---- */

struct berth_map;

/*
 * Reads and checks a map file of version 1; NULL means the file that $BERTH_MAP names.
 * Refused with place and reason: another version, unknown "must_" keys, ranks missing or twice, a
 * product of axes that is not the world size, a hash that does not match.
 */
BERTH_PUBLIC struct berth_map *berth_map_open(const char *path, struct berth_error *err);
BERTH_PUBLIC void berth_map_close(struct berth_map *map);

/* ---- the mesh ---- */

BERTH_PUBLIC int berth_map_world(const struct berth_map *map);
/* The order string, fastest axis first, as Megatron writes it: "tp-dp-pp". */
BERTH_PUBLIC const char *berth_map_order(const struct berth_map *map);
/* "sha256:" and 64 hex digits. Equal hashes mean the same rank on the same slot everywhere. */
BERTH_PUBLIC const char *berth_map_hash(const struct berth_map *map);

/*
 * Axes are numbered fastest first; the derived ones (ep over dp, say) follow after the real ones.
 * A group is the ranks that differ in one axis only; groups of an axis are numbered 0 .. world/size-1
 * in the order of their lowest rank.
 */
BERTH_PUBLIC int berth_map_axes(const struct berth_map *map);         /* real and derived */
BERTH_PUBLIC int berth_map_derived_axes(const struct berth_map *map); /* the derived ones among them */
BERTH_PUBLIC int berth_map_axis(const struct berth_map *map, const char *name); /* -1: none */
BERTH_PUBLIC const char *berth_map_axis_name(const struct berth_map *map, int axis);
BERTH_PUBLIC int berth_map_axis_size(const struct berth_map *map, int axis);
/* Position of a rank on an axis, 0 .. size-1. */
BERTH_PUBLIC int berth_map_coord(const struct berth_map *map, int axis, int rank);
/* Number of the group of an axis that a rank belongs to. */
BERTH_PUBLIC int berth_map_group(const struct berth_map *map, int axis, int rank);
/*
 * The members of a group in ring order (ascending coordinate: the order in which NCCL connects a
 * communicator created with key = coordinate). Writes axis size ranks into `ranks`, which holds
 * `room` of them. Returns their number, or -1.
 */
BERTH_PUBLIC int berth_map_group_ranks(const struct berth_map *map, int axis, int group, int *ranks,
                                       int room);

/*
 * The traffic the map was made for, as --traffic writes it ("dp:allreduce:8000000:1:1,..."): the key
 * "traffic" of the map's source. NULL where it does not say.
 */
BERTH_PUBLIC const char *berth_map_traffic(const struct berth_map *map);

/* ---- where ranks run ---- */

BERTH_PUBLIC int berth_map_nodes(const struct berth_map *map);
BERTH_PUBLIC int berth_map_node(const struct berth_map *map, const char *name); /* -1: none */
BERTH_PUBLIC const char *berth_map_node_name(const struct berth_map *map, int node);
/* The ranks of a node in local-rank order; *ranks may be NULL. Returns their number. */
BERTH_PUBLIC int berth_map_node_ranks(const struct berth_map *map, int node, const int **ranks);
BERTH_PUBLIC int berth_map_node_of(const struct berth_map *map, int rank);
BERTH_PUBLIC int berth_map_local_rank(const struct berth_map *map, int rank);
/* Index of the rank's GPU among its node's GPUs in PCI bus order, or -1 for a rank without a GPU. */
BERTH_PUBLIC int berth_map_slot(const struct berth_map *map, int rank);
/* PCI bus id of the rank's GPU ("0000:18:00.0"), or NULL where the map does not say. */
BERTH_PUBLIC const char *berth_map_gpu(const struct berth_map *map, int rank);
/*
 * The switches above a node, leaf first. A node has one path per attachment (per NIC on a rail
 * fabric); level counts from the leaf, 0. NULL past the end.
 */
BERTH_PUBLIC int berth_map_paths(const struct berth_map *map, int node);
BERTH_PUBLIC const char *berth_map_path_switch(const struct berth_map *map, int node, int path,
                                               int level);
BERTH_PUBLIC const char *berth_map_path_nic(const struct berth_map *map, int node, int path);

#ifdef __cplusplus
}
#endif
#endif
