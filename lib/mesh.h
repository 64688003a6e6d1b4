/*
 * The mesh: named axes, and the arithmetic between a rank and its coordinates.
 *
 * An axis is a digit of the rank in a mixed radix: coordinate = (rank / stride) % size. Real axes
 * have stride = product of the sizes of all faster axes. A derived axis ("ep over dp", "ep over
 * tp+dp") cuts the flattened product of adjacent real axes into consecutive blocks of `size`; since
 * size divides that product it is a digit too, with the stride of the fastest axis it is laid over.
 * So one formula serves every axis:
 *
 *     group of a rank = the rank with that digit taken out
 *     member i of a group = the digit put back as i
 */
#ifndef BERTH_MESH_H
#define BERTH_MESH_H

#include "berth.h"
#include <stdbool.h>

#define BERTH_AXES_MAX 16 /* real and derived together */
#define BERTH_AXIS_NAME_MAX 32
#define BERTH_WORLD_MAX (1 << 24)

struct berth_axis {
    char name[BERTH_AXIS_NAME_MAX];
    int size;
    int stride;                 /* filled by berth_mesh_finish() */
    int over_first, over_count; /* a derived axis: the real axes it is laid over; else count = 0 */
};

struct berth_mesh {
    int world;
    int n_axes, n_derived;
    struct berth_axis axes[BERTH_AXES_MAX]; /* n_axes real ones, fastest first, then n_derived */
    char order[BERTH_AXES_MAX * BERTH_AXIS_NAME_MAX]; /* filled by berth_mesh_finish() */
};

/*
 * Checks names (letter first, then letters, digits, '_'; unique in any case; not "node" or "local",
 * whose variables Berth gives another meaning), sizes (>= 1), that derived axes cover adjacent
 * axes and divide their product, and fills stride, order and world. BERTH_EINPUT.
 */
int berth_mesh_finish(struct berth_mesh *mesh, struct berth_error *err);
/* The same; on failure *bad is the axis that is wrong, or -1 when it is their number. */
int berth_mesh_check(struct berth_mesh *mesh, int *bad, struct berth_error *err);

int berth_mesh_axis(const struct berth_mesh *mesh, const char *name); /* -1: none */

static inline int berth_mesh_count(const struct berth_mesh *mesh)
{
    return mesh->n_axes + mesh->n_derived;
}

static inline int berth_mesh_coord(const struct berth_mesh *mesh, int axis, int rank)
{
    return rank / mesh->axes[axis].stride % mesh->axes[axis].size;
}

static inline int berth_mesh_group(const struct berth_mesh *mesh, int axis, int rank)
{
    int stride = mesh->axes[axis].stride;
    return rank % stride + rank / stride / mesh->axes[axis].size * stride;
}

static inline int berth_mesh_member(const struct berth_mesh *mesh, int axis, int group, int i)
{
    int stride = mesh->axes[axis].stride;
    return group % stride + stride * (i + mesh->axes[axis].size * (group / stride));
}

static inline int berth_mesh_groups(const struct berth_mesh *mesh, int axis)
{
    return mesh->world / mesh->axes[axis].size;
}

#endif
