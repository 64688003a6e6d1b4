/*
 * Checking a mesh and filling what follows from its axes: strides, order, world.
 */
#include "mesh.h"
#include "error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool name_is_sound(const char *name)
{
    size_t length = strnlen(name, BERTH_AXIS_NAME_MAX);
    if (length == 0 || length == BERTH_AXIS_NAME_MAX || !isalpha((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    return true;
}

static int check_name(const struct berth_mesh *mesh, int i, struct berth_error *err)
{
    const char *name = mesh->axes[i].name;
    if (!name_is_sound(name))
        return berth_error_set(err, BERTH_EINPUT,
                               "\"%.*s\" cannot be an axis name: use a letter, then letters, "
                               "digits or '_', at most %d characters",
                               BERTH_AXIS_NAME_MAX, name, BERTH_AXIS_NAME_MAX - 1);
    if (!strcasecmp(name, "node") || !strcasecmp(name, "local"))
        return berth_error_set(err, BERTH_EINPUT,
                               "an axis cannot be named %s: BERTH_NODE_RANK and BERTH_LOCAL_RANK "
                               "mean something else",
                               name);
    for (int k = 0; k < i; k++)
        if (!strcasecmp(mesh->axes[k].name, name))
            return berth_error_set(err, BERTH_EINPUT,
                                   "axis %s is there twice (names that differ in case only are "
                                   "the same variable)",
                                   name);
    if (mesh->axes[i].size < 1)
        return berth_error_set(err, BERTH_EINPUT, "axis %s has size %d; a size is 1 or more", name,
                               mesh->axes[i].size);
    return 0;
}

static int finish_real(struct berth_mesh *mesh, int i, struct berth_error *err)
{
    struct berth_axis *axis = &mesh->axes[i];
    axis->stride = mesh->world;
    axis->over_first = axis->over_count = 0;
    if (axis->size > BERTH_WORLD_MAX / mesh->world)
        return berth_error_set(err, BERTH_EINPUT,
                               "with axis %s the mesh has more than %d ranks, the most that Berth "
                               "handles",
                               axis->name, BERTH_WORLD_MAX);
    mesh->world *= axis->size;
    size_t used = strlen(mesh->order);
    snprintf(mesh->order + used, sizeof(mesh->order) - used, "%s%s", i ? "-" : "", axis->name);
    return 0;
}

static int finish_derived(struct berth_mesh *mesh, int i, struct berth_error *err)
{
    struct berth_axis *axis = &mesh->axes[i];
    if (axis->over_count < 1 || axis->over_first < 0 || axis->over_first >= mesh->n_axes ||
        axis->over_count > mesh->n_axes - axis->over_first)
        return berth_error_set(err, BERTH_EINPUT,
                               "derived axis %s must lie over one or more axes of the mesh",
                               axis->name);
    int product = 1;
    for (int k = 0; k < axis->over_count; k++)
        product *= mesh->axes[axis->over_first + k].size;
    axis->stride = mesh->axes[axis->over_first].stride;
    if (product % axis->size != 0)
        return berth_error_set(err, BERTH_EINPUT,
                               "derived axis %s has size %d, which does not divide the %d of what "
                               "it lies over",
                               axis->name, axis->size, product);
    return 0;
}

int berth_mesh_check(struct berth_mesh *mesh, int *bad, struct berth_error *err)
{
    *bad = -1;
    if (mesh->n_axes < 1 || mesh->n_derived < 0 || mesh->n_axes > BERTH_AXES_MAX - mesh->n_derived)
        return berth_error_set(err, BERTH_EINPUT, "a mesh has 1 to %d axes, derived ones included",
                               BERTH_AXES_MAX);
    mesh->world = 1;
    mesh->order[0] = '\0';
    for (int i = 0; i < berth_mesh_count(mesh); i++) {
        *bad = i;
        if (check_name(mesh, i, err))
            return -1;
        if (i < mesh->n_axes ? finish_real(mesh, i, err) : finish_derived(mesh, i, err))
            return -1;
    }
    return 0;
}

int berth_mesh_finish(struct berth_mesh *mesh, struct berth_error *err)
{
    int bad;
    return berth_mesh_check(mesh, &bad, err);
}

int berth_mesh_axis(const struct berth_mesh *mesh, const char *name)
{
    for (int i = 0; i < berth_mesh_count(mesh); i++)
        if (!strcmp(mesh->axes[i].name, name))
            return i;
    return -1;
}
