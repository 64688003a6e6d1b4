/*
 * libberth-mpi: all processes first agree that they hold the same map, each on its own rank, then
 * split one communicator per axis. Agreement is one allgather of fixed records, so that every
 * process judges the same data and returns the same sentence.
 */
#include "berth_mpi.h"
#include "error.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct berth_mpi {
    int rank, n_axes;
    MPI_Comm world;
    MPI_Comm axes[];
};

/* What a process says of itself; version is this struct's own. */
struct claim {
    int version, world, rank;
    char hash[80];
    char host[64];
};
#define CLAIM_VERSION 1

/* 0, or -1 with the sentence of a failing MPI call (where the user's error handler returns). */
static int mpi_try(int code, const char *what, struct berth_error *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (code == MPI_SUCCESS)
        return 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        strcpy(text, "unknown error");
    return berth_error_set(err, BERTH_ESYSTEM, "%s failed: %s", what, text);
}

/* $BERTH_RANK, else the rank in parent; -1 for a variable that is no number of the map's world. */
static int own_rank(const struct berth_map *map, int parent_rank)
{
    const char *text = getenv("BERTH_RANK");
    char *end;
    long value;

    if (!text || !*text)
        return parent_rank;
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || *end || value < 0 || value >= berth_map_world(map))
        return -1;
    return (int)value;
}

static void make_claim(struct claim *claim, const struct berth_map *map, int parent_rank)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int length;

    memset(claim, 0, sizeof(*claim));
    claim->version = CLAIM_VERSION;
    claim->world = berth_map_world(map);
    claim->rank = own_rank(map, parent_rank);
    strncpy(claim->hash, berth_map_hash(map), sizeof(claim->hash) - 1);
    if (MPI_Get_processor_name(host, &length) != MPI_SUCCESS)
        strcpy(host, "unknown host");
    host[sizeof(host) - 1] = '\0';
    memcpy(claim->host, host, strnlen(host, sizeof(claim->host) - 1));
}

/* The first process that holds another map than process 0, or a map of another size than parent. */
static int judge_maps(const struct claim *claims, int n, struct berth_error *err)
{
    int i;

    for (i = 1; i < n; i++) {
        const struct claim *a = &claims[0], *b = &claims[i];
        if (b->version != a->version)
            return berth_error_set(err, BERTH_ENO,
                                   "process %d (%s) runs another release of libberth-mpi than "
                                   "process 0 (%s): install the same on every node",
                                   i, b->host, a->host);
        if (b->world != a->world || strcmp(a->hash, b->hash) != 0)
            return berth_error_set(
                err, BERTH_ENO,
                "process %d (%s) has the rank map %s of %d ranks, process 0 (%s) "
                "has %s of %d: give every process the same map",
                i, b->host, b->hash, b->world, a->host, a->hash, a->world);
    }
    if (claims[0].world != n)
        return berth_error_set(err, BERTH_ENO,
                               "the rank map is for %d ranks, but %d processes run: start as many "
                               "as the map has, or make a map for %d",
                               claims[0].world, n, n);
    return 0;
}

/* Ranks must be a permutation; `taken` has n entries. */
static int judge_ranks(const struct claim *claims, int n, int *taken, struct berth_error *err)
{
    int i;

    for (i = 0; i < n; i++)
        taken[i] = -1;
    for (i = 0; i < n; i++) {
        int rank = claims[i].rank;
        if (rank < 0 || rank >= n)
            return berth_error_set(err, BERTH_ENO,
                                   "process %d (%s): BERTH_RANK is not a rank of the map, 0 to %d",
                                   i, claims[i].host, n - 1);
        if (taken[rank] >= 0)
            return berth_error_set(err, BERTH_ENO,
                                   "process %d (%s) and process %d (%s) both take rank %d of the "
                                   "map: check BERTH_RANK",
                                   taken[rank], claims[taken[rank]].host, i, claims[i].host, rank);
        taken[rank] = i;
    }
    return 0;
}

/* Collective. 0 with this process's rank in *rank, or -1 with the same sentence everywhere. */
static int agree(const struct berth_map *map, MPI_Comm parent, int *rank, struct berth_error *err)
{
    struct claim own, *claims = NULL;
    int n, me, ready, *taken = NULL, result = -1;

    if (mpi_try(MPI_Comm_size(parent, &n), "MPI_Comm_size", err) < 0 ||
        mpi_try(MPI_Comm_rank(parent, &me), "MPI_Comm_rank", err) < 0)
        return -1;
    claims = malloc((size_t)n * sizeof(*claims));
    taken = malloc((size_t)n * sizeof(*taken));
    ready = claims && taken;
    if (mpi_try(MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, parent), "MPI_Allreduce",
                err) < 0)
        goto out;
    if (!ready) {
        berth_error_memory(err);
        goto out;
    }
    make_claim(&own, map, me);
    if (mpi_try(MPI_Allgather(&own, sizeof(own), MPI_BYTE, claims, sizeof(own), MPI_BYTE, parent),
                "MPI_Allgather", err) < 0)
        goto out;
    if (judge_maps(claims, n, err) < 0 || judge_ranks(claims, n, taken, err) < 0)
        goto out;
    *rank = own.rank;
    result = 0;
out:
    free(claims);
    free(taken);
    return result;
}

static int split(struct berth_mpi *comms, const struct berth_map *map, MPI_Comm parent,
                 struct berth_error *err)
{
    int axis;

    if (mpi_try(MPI_Comm_split(parent, 0, comms->rank, &comms->world), "MPI_Comm_split", err) < 0)
        return -1;
    for (axis = 0; axis < comms->n_axes; axis++) {
        int group = berth_map_group(map, axis, comms->rank);
        int coord = berth_map_coord(map, axis, comms->rank);
        if (mpi_try(MPI_Comm_split(comms->world, group, coord, &comms->axes[axis]),
                    "MPI_Comm_split", err) < 0)
            return -1;
    }
    return 0;
}

struct berth_mpi *berth_mpi_create(const struct berth_map *map, MPI_Comm parent,
                                   struct berth_error *err)
{
    int n_axes = berth_map_axes(map), axis, rank = -1, ready;
    struct berth_mpi *comms;

    if (agree(map, parent, &rank, err) < 0)
        return NULL;
    comms = malloc(sizeof(*comms) + (size_t)n_axes * sizeof(comms->axes[0]));
    ready = comms != NULL;
    if (mpi_try(MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, parent), "MPI_Allreduce",
                err) < 0) {
        free(comms);
        return NULL;
    }
    if (!ready) {
        free(comms);
        berth_error_memory(err);
        return NULL;
    }
    comms->rank = rank;
    comms->n_axes = n_axes;
    comms->world = MPI_COMM_NULL;
    for (axis = 0; axis < n_axes; axis++)
        comms->axes[axis] = MPI_COMM_NULL;
    if (split(comms, map, parent, err) < 0) {
        berth_mpi_free(comms);
        return NULL;
    }
    return comms;
}

void berth_mpi_free(struct berth_mpi *comms)
{
    int axis, finalized = 0;

    if (!comms)
        return;
    MPI_Finalized(&finalized);
    for (axis = 0; axis < comms->n_axes && !finalized; axis++)
        if (comms->axes[axis] != MPI_COMM_NULL)
            MPI_Comm_free(&comms->axes[axis]);
    if (!finalized && comms->world != MPI_COMM_NULL)
        MPI_Comm_free(&comms->world);
    free(comms);
}

int berth_mpi_rank(const struct berth_mpi *comms)
{
    return comms->rank;
}

MPI_Comm berth_mpi_world(const struct berth_mpi *comms)
{
    return comms->world;
}

MPI_Comm berth_mpi_axis(const struct berth_mpi *comms, int axis)
{
    return axis >= 0 && axis < comms->n_axes ? comms->axes[axis] : MPI_COMM_NULL;
}
