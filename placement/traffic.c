/*
 * Traffic: what each axis sends in a step, as a user writes it or as the reference model has it.
 */
#include "traffic.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [TRAFFIC_ALLREDUCE] = "allreduce",
    [TRAFFIC_REDUCESCATTER] = "reducescatter",
    [TRAFFIC_ALLGATHER] = "allgather",
    [TRAFFIC_ALLTOALL] = "alltoall",
    [TRAFFIC_P2P] = "p2p",
};
#define KINDS ((int)(sizeof(kind_names) / sizeof(kind_names[0])))

static const struct {
    const char *name;
    double factor;
} units[] = {
    {"", 1},      {"B", 1},      {"KB", 1e3},      {"MB", 1e6},         {"GB", 1e9},
    {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776},
};

bool traffic_is_chain(const struct traffic_item *item, const struct berth_mesh *mesh)
{
    return item->kind == TRAFFIC_P2P && !strcmp(mesh->axes[item->axis].name, "pp");
}

const char *traffic_kind_name(enum traffic_kind kind)
{
    return kind_names[kind];
}

/* A plain decimal number at the start of a field: no sign, hex, inf or nan. */
static const char *number(const char *text, double *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) || (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')))
        return NULL;
    *value = strtod(text, &end);
    return end;
}

static int bytes_parse(const char *field, double *bytes)
{
    const char *unit = number(field, bytes);
    if (!unit)
        return -1;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(unit, units[i].name)) {
            *bytes *= units[i].factor;
            return *bytes >= 1 && *bytes <= 1e18 ? 0 : -1;
        }
    return -1;
}

static int bounded_parse(const char *field, double low, double high, double *value)
{
    const char *end = number(field, value);
    return end && !*end && *value >= low && *value <= high ? 0 : -1;
}

/* One item, its fields separated by NULs in `fields`. */
static int item_fields(char **fields, int n, const char *text, const struct berth_mesh *mesh,
                       struct traffic_item *item, struct berth_error *err)
{
    if (n < 3 || n > 5)
        return berth_error_set(
            err, BERTH_EINPUT,
            "traffic item '%.80s': expected axis:collective:bytes[:count[:exposed]]", text);
    *item =
        (struct traffic_item){.axis = berth_mesh_axis(mesh, fields[0]), .count = 1, .exposed = 1};
    if (item->axis < 0)
        return berth_error_set(err, BERTH_EINPUT,
                               "traffic item '%.80s': the mesh (%.80s) has no axis '%.40s'", text,
                               mesh->order, fields[0]);
    int kind = 0;
    while (kind < KINDS && strcmp(fields[1], kind_names[kind]))
        kind++;
    if (kind == KINDS)
        return berth_error_set(
            err, BERTH_EINPUT,
            "traffic item '%.80s': unknown collective '%.40s'; it is one of allreduce, "
            "reducescatter, allgather, alltoall, p2p",
            text, fields[1]);
    item->kind = (enum traffic_kind)kind;
    if (bytes_parse(fields[2], &item->bytes))
        return berth_error_set(
            err, BERTH_EINPUT,
            "traffic item '%.80s': '%.40s' is not a number of bytes such as 8MB, 8MiB "
            "or 64KB",
            text, fields[2]);
    if (n > 3 && bounded_parse(fields[3], 1e-9, 1e9, &item->count))
        return berth_error_set(
            err, BERTH_EINPUT,
            "traffic item '%.80s': the count '%.40s' must be a number above 0 and at "
            "most 1e9",
            text, fields[3]);
    if (n > 4 && bounded_parse(fields[4], 0, 1, &item->exposed))
        return berth_error_set(
            err, BERTH_EINPUT,
            "traffic item '%.80s': the exposed share '%.40s' must be from 0 to 1", text, fields[4]);
    return 0;
}

int traffic_parse(const char *text, const struct berth_mesh *mesh, struct traffic *traffic,
                  struct berth_error *err)
{
    *traffic = (struct traffic){0};
    for (const char *p = text;;) {
        size_t length = strcspn(p, ",+");
        char item[160], copy[160], *fields[6];
        int n = 0;
        if (length == 0 || length >= sizeof(item))
            return berth_error_set(err, BERTH_EINPUT, "traffic '%.80s': %s at column %d", text,
                                   length ? "an item of over 159 characters" : "an empty item",
                                   (int)(p - text) + 1);
        if (traffic->n == TRAFFIC_ITEMS_MAX)
            return berth_error_set(err, BERTH_EINPUT, "traffic '%.80s...': more than %d items",
                                   text, TRAFFIC_ITEMS_MAX);
        memcpy(item, p, length);
        item[length] = 0;
        strcpy(copy, item);
        for (char *field = copy; field && n < 6; n++) {
            fields[n] = field;
            field = strchr(field, ':');
            if (field)
                *field++ = 0;
        }
        if (item_fields(fields, n, item, mesh, &traffic->items[traffic->n], err))
            return -1;
        traffic->n++;
        if (!p[length])
            return 0;
        p += length + 1;
    }
}

static double axis_size(const struct berth_mesh *mesh, const char *name)
{
    int axis = berth_mesh_axis(mesh, name);
    return axis < 0 ? 1 : mesh->axes[axis].size;
}

static void add(struct traffic *traffic, const struct berth_mesh *mesh, const char *name,
                enum traffic_kind kind, double bytes, double count, double exposed)
{
    int axis = berth_mesh_axis(mesh, name);
    if (axis >= 0 && mesh->axes[axis].size > 1)
        traffic->items[traffic->n++] = (struct traffic_item){axis, kind, bytes, count, exposed};
}

/*
 * The reference model: a dense transformer of 70 billion parameters (80 layers, hidden 8192, one KV
 * head to eight heads; Llama 3 70B's published sizes), bf16, sequences of 8192 tokens, one per
 * micro-batch, 1024 per step. Bytes and counts follow docs/traffic.md; with ep every layer sends
 * each token to two experts. The exposed shares are assumptions, not measurements: gradients and
 * ring attention are half and three quarters hidden, the rest is not.
 */
void traffic_reference(const struct berth_mesh *mesh, struct traffic *traffic)
{
    const double params = 70e9, layers = 80, hidden = 8192, kv_share = 1.0 / 8, sequence = 8192;
    const double sequences = 1024, experts_per_token = 2;
    double tp = axis_size(mesh, "tp"), cp = axis_size(mesh, "cp"), pp = axis_size(mesh, "pp");
    double shard = axis_size(mesh, "shard");
    int shard_axis = berth_mesh_axis(mesh, "shard");
    double replicas = axis_size(mesh, "dp");
    if (shard_axis >= 0 && mesh->axes[shard_axis].over_count == 0)
        replicas *= shard; /* a real axis multiplies the replicas, a derived one cuts dp */
    double batches = sequences / replicas > 1 ? sequences / replicas : 1;
    double tokens = sequence / cp, activation = 2 * tokens * hidden;
    double per_layer = layers / pp * batches, part = params / (tp * pp);

    *traffic = (struct traffic){.reference = true};
    add(traffic, mesh, "tp", TRAFFIC_ALLREDUCE, activation, 4 * per_layer, 1);
    add(traffic, mesh, "etp", TRAFFIC_ALLREDUCE, activation * experts_per_token, 2 * per_layer, 1);
    add(traffic, mesh, "cp", TRAFFIC_P2P, 2 * activation * kv_share / tp, 3 * (cp - 1) * per_layer,
        0.25);
    add(traffic, mesh, "ep", TRAFFIC_ALLTOALL, activation * experts_per_token / tp, 4 * per_layer,
        1);
    add(traffic, mesh, "pp", TRAFFIC_P2P, activation / tp, batches, 1);
    add(traffic, mesh, "shard", TRAFFIC_ALLGATHER, 2 * part, 2 * batches, 0.5);
    add(traffic, mesh, "shard", TRAFFIC_REDUCESCATTER, 4 * part, batches, 0.5);
    if (shard > 1) {
        add(traffic, mesh, "dp", TRAFFIC_ALLREDUCE, 4 * part / shard, 1, 0.5);
    } else {
        add(traffic, mesh, "dp", TRAFFIC_REDUCESCATTER, 4 * part, 1, 0.5);
        add(traffic, mesh, "dp", TRAFFIC_ALLGATHER, 2 * part, 1, 0.5);
    }
}

int traffic_parse_or_reference(const char *text, const struct berth_mesh *mesh,
                               struct traffic *traffic, struct berth_error *err)
{
    if (text)
        return traffic_parse(text, mesh, traffic, err);
    traffic_reference(mesh, traffic);
    return 0;
}

const char *traffic_format(const struct traffic_item *item, const struct berth_mesh *mesh,
                           char *buf, size_t size)
{
    snprintf(buf, size, "%s:%s:%.0f:%.15g:%.15g", mesh->axes[item->axis].name,
             kind_names[item->kind], item->bytes, item->count, item->exposed);
    return buf;
}
