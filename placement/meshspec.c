/*
 * Mesh specifications: what a user writes after --mesh or --berth becomes a struct berth_mesh.
 */
#include "meshspec.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct item {
    char name[BERTH_AXIS_NAME_MAX];
    int size;         /* 0: takes what is left */
    const char *over; /* after '@', or NULL */
    size_t over_length;
    const char *text; /* as written, for messages */
    int length;
};

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Cuts "tp8", "tp=8", "dp", "ep5@dp" into its parts. */
static int item_parse(const char *text, size_t length, struct item *item, struct berth_error *err)
{
    const char *end = text + length;
    const char *at = memchr(text, '@', length);
    const char *last = at ? at : end;
    const char *equal = memchr(text, '=', (size_t)(last - text));
    const char *digits = equal ? equal + 1 : last;

    *item = (struct item){.text = text, .length = (int)length};
    if (!equal)
        while (digits > text && isdigit((unsigned char)digits[-1]))
            digits--;
    size_t n = (size_t)((equal ? equal : digits) - text);
    if (n == 0 || !isalpha((unsigned char)*text))
        return berth_error_set(err, BERTH_EINPUT,
                               "mesh item '%.*s': expected an axis name and a size, as in tp8",
                               (int)length, text);
    if (n >= sizeof(item->name))
        return berth_error_set(err, BERTH_EINPUT,
                               "mesh item '%.40s...': an axis name has at most %d characters", text,
                               BERTH_AXIS_NAME_MAX - 1);
    for (size_t i = 0; i < n; i++)
        if (!name_char(text[i]))
            return berth_error_set(
                err, BERTH_EINPUT, "mesh item '%.*s': '%c' does not belong in an axis name",
                (int)length, text, isprint((unsigned char)text[i]) ? text[i] : '?');
    memcpy(item->name, text, n);
    long size = 0;
    for (const char *p = digits; p < last; p++) {
        if (!isdigit((unsigned char)*p) || size > BERTH_WORLD_MAX)
            return berth_error_set(err, BERTH_EINPUT,
                                   "mesh item '%.*s': the size must be a whole number from 1 to %d",
                                   (int)length, text, BERTH_WORLD_MAX);
        size = size * 10 + (*p - '0');
    }
    if ((digits < last && size < 1) || size > BERTH_WORLD_MAX || (equal && digits == last))
        return berth_error_set(err, BERTH_EINPUT,
                               "mesh item '%.*s': the size must be a whole number from 1 to %d",
                               (int)length, text, BERTH_WORLD_MAX);
    item->size = (int)size;
    if (at) {
        item->over = at + 1;
        item->over_length = (size_t)(end - at - 1);
        if (item->size == 0 || item->over_length == 0)
            return berth_error_set(
                err, BERTH_EINPUT,
                "mesh item '%.*s': a derived axis needs a size and the axes it is "
                "laid over, as in ep5@dp",
                (int)length, text);
    }
    return 0;
}

bool meshspec_is_axis(const char *item, size_t length)
{
    struct item parsed;
    if (memchr(item, '=', length)) {
        /* NAME=digits: options that take a number have none of the axes' names */
        const char *value = (const char *)memchr(item, '=', length) + 1;
        if (value == item + length || !isdigit((unsigned char)*value))
            return false;
    }
    return item_parse(item, length, &parsed, NULL) == 0;
}

/* All items of the specification, in the order written. */
static int items_parse(const char *spec, struct item *items, struct berth_error *err)
{
    int n = 0;
    for (const char *p = spec;;) {
        size_t length = strcspn(p, ",");
        if (length == 0)
            return berth_error_set(err, BERTH_EINPUT, "mesh '%.200s': an empty item at column %d",
                                   spec, (int)(p - spec) + 1);
        if (n == BERTH_AXES_MAX)
            return berth_error_set(err, BERTH_EINPUT, "mesh '%.200s': more than %d axes", spec,
                                   BERTH_AXES_MAX);
        if (item_parse(p, length, &items[n], err))
            return -1;
        for (int i = 0; i < n; i++)
            if (!strcmp(items[i].name, items[n].name))
                return berth_error_set(err, BERTH_EINPUT, "mesh '%.200s': axis %s stands twice",
                                       spec, items[n].name);
        n++;
        if (!p[length])
            return n;
        p += length + 1;
    }
}

static bool in_order(const char *order, const char *name, size_t n)
{
    for (const char *p = order; *p; p += strcspn(p, "-"), p += *p == '-')
        if (!strncmp(p, name, n) && (p[n] == '-' || !p[n]))
            return true;
    return false;
}

static int item_find(const struct item *items, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(items[i].name) == length && !memcmp(items[i].name, name, length))
            return i;
    return -1;
}

/* Moves the real axes into the mesh, fastest first. */
static int axes_order(struct berth_mesh *mesh, const struct item *items, int n, const char *order,
                      struct berth_error *err)
{
    bool given = order != NULL, known = true;
    for (int i = 0; i < n; i++) {
        if (items[i].over)
            continue;
        if (given && !in_order(order, items[i].name, strlen(items[i].name)))
            return berth_error_set(err, BERTH_EINPUT, "order '%.100s' does not name the axis %s",
                                   order, items[i].name);
        known = known && in_order(MESHSPEC_ORDER, items[i].name, strlen(items[i].name));
    }
    if (!given && !known) {
        for (int i = 0; i < n; i++)
            if (!items[i].over)
                strcpy(mesh->axes[mesh->n_axes].name, items[i].name),
                    mesh->axes[mesh->n_axes++].size = items[i].size;
        return 0;
    }
    for (const char *p = given ? order : MESHSPEC_ORDER; *p;) {
        size_t length = strcspn(p, "-");
        int i = item_find(items, n, p, length);
        if (length == 0)
            return berth_error_set(err, BERTH_EINPUT,
                                   "order '%.100s': write axis names joined by '-', "
                                   "as in tp-dp-pp",
                                   order);
        if (i < 0 && given && !in_order(MESHSPEC_ORDER, p, length))
            return berth_error_set(err, BERTH_EINPUT, "order '%.100s': the mesh has no axis %.*s",
                                   order, (int)(length > 40 ? 40 : length), p);
        /* Megatron's own string names axes that a mesh need not have, and ep although it is derived
         */
        if (i >= 0 && !items[i].over) {
            for (int k = 0; k < mesh->n_axes; k++)
                if (!strcmp(mesh->axes[k].name, items[i].name))
                    return berth_error_set(err, BERTH_EINPUT, "order '%.100s' names %s twice",
                                           order, items[i].name);
            strcpy(mesh->axes[mesh->n_axes].name, items[i].name);
            mesh->axes[mesh->n_axes++].size = items[i].size;
        }
        p += length + (p[length] == '-');
        if (!*p && p[-1] == '-')
            return berth_error_set(err, BERTH_EINPUT, "order '%.100s' ends in '-'", order);
    }
    return 0;
}

static int axis_index(const struct berth_mesh *mesh, const char *name, size_t length)
{
    for (int i = 0; i < mesh->n_axes; i++)
        if (strlen(mesh->axes[i].name) == length && !memcmp(mesh->axes[i].name, name, length))
            return i;
    return -1;
}

/* Lays one derived axis over the axes that its item names; they must be neighbours in the order. */
static int derived_add(struct berth_mesh *mesh, const struct item *item, struct berth_error *err)
{
    struct berth_axis *axis = &mesh->axes[mesh->n_axes + mesh->n_derived];
    int first = mesh->n_axes, last = -1, count = 0;
    const char *end = item->over + item->over_length;

    for (const char *p = item->over; p < end;) {
        const char *plus = memchr(p, '+', (size_t)(end - p));
        size_t length = (size_t)((plus ? plus : end) - p);
        int i = axis_index(mesh, p, length);
        if (length == 0 || (plus && plus + 1 == end))
            return berth_error_set(err, BERTH_EINPUT,
                                   "mesh item '%.*s': an axis is missing beside a '+'",
                                   item->length, item->text);
        if (i < 0)
            return berth_error_set(err, BERTH_EINPUT,
                                   "mesh item '%.*s': the mesh has no axis '%.*s'", item->length,
                                   item->text, (int)(length > 40 ? 40 : length), p);
        first = i < first ? i : first;
        last = i > last ? i : last;
        count++;
        p += length + 1;
    }
    if (last - first + 1 != count)
        return berth_error_set(err, BERTH_EINPUT,
                               "mesh item '%.*s': the axes it is laid over must stand next to each "
                               "other in the order",
                               item->length, item->text);
    *axis = (struct berth_axis){.size = item->size, .over_first = first, .over_count = count};
    strcpy(axis->name, item->name);
    mesh->n_derived++;
    return 0;
}

/* Gives the free axis what is left of the world, and holds the product against it. */
static int sizes_fit(struct berth_mesh *mesh, const char *spec, int world, struct berth_error *err)
{
    struct berth_axis *free_axis = NULL;
    long product = 1;

    for (int i = 0; i < mesh->n_axes; i++) {
        struct berth_axis *axis = &mesh->axes[i];
        if (axis->size == 0 && free_axis)
            return berth_error_set(err, BERTH_EINPUT,
                                   "mesh '%.200s': %s and %s both have no size; only one axis can "
                                   "take what is left",
                                   spec, free_axis->name, axis->name);
        if (axis->size == 0)
            free_axis = axis;
        else if ((product *= axis->size) > BERTH_WORLD_MAX)
            return berth_error_set(err, BERTH_EINPUT, "mesh '%.200s' has more than %d ranks", spec,
                                   BERTH_WORLD_MAX);
    }
    if (free_axis && world == 0)
        return berth_error_set(
            err, BERTH_EINPUT,
            "mesh '%.200s': give %s a size, the number of ranks is not known here", spec,
            free_axis->name);
    if (free_axis && world % product)
        return berth_error_set(
            err, BERTH_ENO,
            "mesh '%.200s': its sizes make %ld, which does not divide the job's %d "
            "ranks; %d or %ld ranks would fit",
            spec, product, world, (int)(world / product * product),
            (world / product + 1) * product);
    if (free_axis)
        free_axis->size = (int)(world / product);
    else if (world && product != world)
        return berth_error_set(
            err, BERTH_ENO,
            "mesh '%.200s' has %ld ranks, the job has %d; change a size, or leave one "
            "size out and that axis takes what is left",
            spec, product, world);
    return 0;
}

int meshspec_parse(const char *spec, const char *order, int world, struct berth_mesh *mesh,
                   struct berth_error *err)
{
    struct item items[BERTH_AXES_MAX];
    int n = items_parse(spec, items, err);

    if (n < 0)
        return -1;
    memset(mesh, 0, sizeof(*mesh));
    if (axes_order(mesh, items, n, order, err) || sizes_fit(mesh, spec, world, err))
        return -1;
    if (mesh->n_axes == 0)
        return berth_error_set(err, BERTH_EINPUT, "mesh '%.200s' has only derived axes", spec);
    for (int i = 0; i < n; i++)
        if (items[i].over && derived_add(mesh, &items[i], err))
            return -1;
    if (berth_mesh_finish(mesh, err))
        return berth_error_prefix(err, "mesh '%.200s'", spec);
    return 0;
}

const char *meshspec_format(const struct berth_mesh *mesh, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = 0;
    for (int i = 0; i < berth_mesh_count(mesh) && used < size; i++) {
        const struct berth_axis *axis = &mesh->axes[i];
        /* "x2" of size 4 would read back as x of size 24 */
        bool digit = isdigit((unsigned char)axis->name[strlen(axis->name) - 1]);
        used += (size_t)snprintf(buf + used, size - used, "%s%s%s%d", i ? "," : "", axis->name,
                                 digit ? "=" : "", axis->size);
        for (int k = 0; k < axis->over_count && used < size; k++)
            used += (size_t)snprintf(buf + used, size - used, "%c%s", k ? '+' : '@',
                                     mesh->axes[axis->over_first + k].name);
    }
    return buf;
}
