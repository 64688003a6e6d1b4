/*
 * The site's cluster model, JSON (cluster.h says its keys). People write it by hand, so a key that
 * is not known is an error rather than nothing; "comment" and "source" are free, and "must_" keys
 * are unknown like all others.
 */
#include "cluster.h"
#include "hostlist.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_MAX ((size_t)16 << 20) /* jansson takes up to some 80 bytes for one of text */
#define NAMES_MAX (4 * (long long)HOSTLIST_MAX)

struct model {
    struct cluster *c;
    const char *name;
    int *shapes; /* the file's shapes: where they are in the cluster */
    int n_shapes;
    long long names;
    struct berth_error *err;
};

/* An object with the place that messages give it: "nodes[12]". */
struct item {
    const json_t *json;
    const char *array;
    int i; /* -1: not in an array */
};

static int wrong(const struct model *m, const struct item *item, const char *key, const char *what)
{
    char index[24] = "";

    if (item->i >= 0)
        snprintf(index, sizeof index, "[%d]", item->i);
    berth_error_set(m->err, BERTH_EINPUT, "%s", what);
    if (*item->array || key)
        berth_error_prefix(m->err, "%s%s%s%s", item->array, index, key && *item->array ? "." : "",
                           key ? key : "");
    return berth_error_prefix(m->err, "%s", m->name);
}

static int check_keys(const struct model *m, const struct item *item, const char *const *keys)
{
    const char *key;
    json_t *value;

    if (!json_is_object(item->json))
        return wrong(m, item, NULL, "expected an object");
    json_object_foreach((json_t *)item->json, key, value)
    {
        int i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i] && strcmp(key, "comment") != 0 && strcmp(key, "source") != 0) {
            char shown[64];
            snprintf(shown, sizeof shown, "%s", key);
            return wrong(m, item, shown, "this key is not known");
        }
    }
    return 0;
}

#define RATE_MAX 1e18    /* bytes/s: what no link does; with RATE_MIN it keeps every cost finite */
#define RATE_MIN 1e-3
#define LATENCY_MAX 1e6 /* seconds */

/*
 * A rate (above 0) or a latency, which may be 0 for "not known": what berth-step --links cannot
 * tell from noise. *value stays where the key is absent.
 */
static int read_number(const struct model *m, const struct item *item, const char *key,
                       double *value)
{
    const json_t *json = json_object_get(item->json, key);
    bool latency = strstr(key, "latency") != NULL;

    if (!json)
        return 0;
    double number = json_number_value(json);
    if (!json_is_number(json) || !isfinite(number) || number < 0 ||
        (latency ? number > LATENCY_MAX : number < RATE_MIN || number > RATE_MAX))
        return wrong(m, item, key,
                     latency ? "expected seconds, not below 0"
                             : "expected bytes per second above 0");
    *value = number;
    return 0;
}

static int read_int(const struct model *m, const struct item *item, const char *key, int max,
                    int *value)
{
    const json_t *json = json_object_get(item->json, key);
    char what[64];

    if (!json)
        return 0;
    json_int_t number = json_integer_value(json);
    if (!json_is_integer(json) || number < 0 || number > max) {
        snprintf(what, sizeof what, "expected a whole number from 0 to %d", max);
        return wrong(m, item, key, what);
    }
    *value = (int)number;
    return 0;
}

/* ---- lists of names ---- */

struct names_call {
    struct model *m;
    int (*each)(struct model *m, const char *name, void *arg);
    void *arg;
};

static int each_counted(const char *name, void *arg)
{
    struct names_call *call = arg;

    if (++call->m->names > NAMES_MAX)
        return berth_error_set(call->m->err, BERTH_EINPUT, "the file makes more than %lld names",
                               NAMES_MAX);
    return call->each(call->m, name, call->arg);
}

/* Calls `each` for the names of one hostlist string; its errors get the place. */
static int each_name(struct model *m, const struct item *item, const char *key, const json_t *json,
                     int (*each)(struct model *m, const char *name, void *arg), void *arg)
{
    struct names_call call = {m, each, arg};
    char text[BERTH_ERROR_MAX];

    if (!json_is_string(json))
        return wrong(m, item, key, "expected names");
    if (hostlist_each(json_string_value(json), json_string_length(json), each_counted, &call,
                      m->err) == 0)
        return 0;
    if (!m->err || m->err->kind != BERTH_EINPUT)
        return -1;
    memcpy(text, m->err->text, sizeof text);
    return wrong(m, item, key, text);
}

struct positions {
    int *at;
    int n, room;
};

static int remember(struct model *m, struct positions *p, int at)
{
    if (p->n == p->room) {
        int room = p->room ? 2 * p->room : 16;
        int *more = realloc(p->at, (size_t)room * sizeof *more);
        if (!more)
            return berth_error_memory(m->err);
        p->at = more;
        p->room = room;
    }
    p->at[p->n++] = at;
    return 0;
}

static int want_node(struct model *m, const char *name, void *arg)
{
    int at = cluster_add_node(m->c, name);

    if (at >= 0)
        return remember(m, arg, at);
    if (m->c->n_nodes >= CLUSTER_NODES_MAX)
        return berth_error_set(m->err, BERTH_EINPUT, "more than %d nodes", CLUSTER_NODES_MAX);
    return berth_error_memory(m->err);
}

static int want_switch(struct model *m, const char *name, void *arg)
{
    int at = cluster_add_switch(m->c, name);

    if (at >= 0)
        return remember(m, arg, at);
    if (m->c->n_switches >= CLUSTER_NODES_MAX)
        return berth_error_set(m->err, BERTH_EINPUT, "more than %d switches", CLUSTER_NODES_MAX);
    return berth_error_memory(m->err);
}

/* ---- defaults and shapes ---- */

static int read_defaults(struct model *m, const json_t *json)
{
    static const char *const keys[] = {"node", "switch", NULL};
    static const char *const node_keys[] = {"rate", "latency", "inner_rate", "inner_latency", NULL};
    static const char *const switch_keys[] = {"uplink", "latency", NULL};
    struct cluster_defaults *d = &m->c->defaults;
    struct item all = {json, "defaults", -1};
    struct item node = {json_object_get(json, "node"), "defaults.node", -1};
    struct item sw = {json_object_get(json, "switch"), "defaults.switch", -1};

    if (!json)
        return 0;
    if (check_keys(m, &all, keys))
        return -1;
    if (node.json && (check_keys(m, &node, node_keys) || read_number(m, &node, "rate", &d->rate) ||
                      read_number(m, &node, "latency", &d->latency) ||
                      read_number(m, &node, "inner_rate", &d->inner_rate) ||
                      read_number(m, &node, "inner_latency", &d->inner_latency)))
        return -1;
    if (sw.json && (check_keys(m, &sw, switch_keys) || read_number(m, &sw, "uplink", &d->uplink) ||
                    read_number(m, &sw, "latency", &d->link_latency)))
        return -1;
    return 0;
}

/* The array under a key, NULL with *size = 0 where it is absent; -1 where it is something else. */
static int read_array(const struct model *m, const json_t *root, const char *key, size_t max,
                      const json_t **array, size_t *size)
{
    struct item item = {root, "", -1};

    *array = json_object_get(root, key);
    *size = json_array_size(*array);
    if (*array && !json_is_array(*array))
        return wrong(m, &item, key, "expected an array");
    if (*size > max)
        return wrong(m, &item, key, "too many entries");
    return 0;
}

static int read_shapes(struct model *m, const json_t *root)
{
    const json_t *array;
    size_t n;

    if (read_array(m, root, "shapes", 4096, &array, &n))
        return -1;
    m->shapes = calloc(n + 1, sizeof *m->shapes);
    if (!m->shapes)
        return berth_error_memory(m->err);
    for (size_t i = 0; i < n; i++) {
        struct berth_shape shape = {0};
        char place[32];
        snprintf(place, sizeof place, "shapes[%zu]", i);
        if (berth_shape_read(json_array_get(array, i), place, &shape, m->err))
            return berth_error_prefix(m->err, "%s", m->name);
        int at = cluster_add_shape(m->c, &shape);
        berth_shape_clear(&shape);
        if (at < 0)
            return berth_error_memory(m->err);
        m->shapes[m->n_shapes++] = at;
    }
    return 0;
}

/* ---- switches ---- */

static int read_switch(struct model *m, const struct item *item, struct positions *found)
{
    static const char *const keys[] = {"name", "parent", "uplink", "latency", "all", NULL};
    const json_t *all = json_object_get(item->json, "all");
    double uplink = 0, latency = 0;

    if (check_keys(m, item, keys) ||
        each_name(m, item, "name", json_object_get(item->json, "name"), want_switch, found) ||
        read_number(m, item, "uplink", &uplink) || read_number(m, item, "latency", &latency))
        return -1;
    if (all && !json_is_boolean(all))
        return wrong(m, item, "all", "expected true or false");
    for (int i = 0; i < found->n; i++) {
        struct cluster_switch *s = &m->c->switches[found->at[i]];
        s->all |= json_is_true(all);
        s->uplink = uplink != 0 ? uplink : s->uplink;
        s->link_latency = latency != 0 ? latency : s->link_latency;
    }
    return 0;
}

/* After all switches are named, so that they keep the order of the file. */
static int read_parent(struct model *m, const struct item *item, struct positions *found)
{
    const json_t *json = json_object_get(item->json, "parent");

    if (!json)
        return 0;
    if (each_name(m, item, "name", json_object_get(item->json, "name"), want_switch, found))
        return -1;
    int n = found->n;
    if (each_name(m, item, "parent", json, want_switch, found))
        return -1;
    if (found->n != n + 1)
        return wrong(m, item, "parent", "expected the name of one switch");
    for (int i = 0; i < n; i++) {
        struct cluster_switch *s = &m->c->switches[found->at[i]];
        if (s->parent >= 0 && s->parent != found->at[n])
            return wrong(m, item, "parent", "this switch already has another parent");
        s->parent = found->at[n];
    }
    return 0;
}

static int read_switches(struct model *m, const json_t *root)
{
    const json_t *array;
    size_t n;
    struct positions found = {0};
    int result = read_array(m, root, "switches", CLUSTER_NODES_MAX, &array, &n);

    for (size_t i = 0; !result && i < 2 * n; i++) {
        struct item item = {json_array_get(array, i % n), "switches", (int)(i % n)};
        found.n = 0;
        result = i < n ? read_switch(m, &item, &found) : read_parent(m, &item, &found);
    }
    free(found.at);
    return result;
}

/* ---- nodes ---- */

static int read_leaves(struct model *m, const struct item *item, struct positions *leaves)
{
    const json_t *json = json_object_get(item->json, "leaf");

    if (!json)
        return 0;
    if (!json_is_array(json))
        return each_name(m, item, "leaf", json, want_switch, leaves);
    for (size_t i = 0; i < json_array_size(json); i++)
        if (each_name(m, item, "leaf", json_array_get(json, i), want_switch, leaves))
            return -1;
    return 0;
}

static int attach_nodes(struct model *m, const struct item *item, const struct positions *nodes,
                        const struct positions *leaves)
{
    if (leaves->n > CLUSTER_LEAVES_MAX)
        return wrong(m, item, "leaf", "a node has at most 64 leaves");
    for (int i = 0; i < nodes->n && leaves->n > 0; i++) {
        if (m->c->nodes[nodes->at[i]].n_leaves > 0)
            return wrong(m, item, "leaf", "a node of this entry has its leaf from another entry");
        for (int j = 0; j < leaves->n; j++)
            if (cluster_attach(m->c, nodes->at[i], leaves->at[j]))
                return berth_error_memory(m->err);
    }
    return 0;
}

struct addresses {
    const struct positions *nodes;
    int n;
};

static int set_addr(struct model *m, const char *addr, void *arg)
{
    struct addresses *a = arg;

    if (a->n == a->nodes->n)
        return berth_error_set(m->err, BERTH_EINPUT, "more addresses than names");
    struct cluster_node *node = &m->c->nodes[a->nodes->at[a->n++]];
    free(node->addr);
    node->addr = strdup(addr);
    return node->addr ? 0 : berth_error_memory(m->err);
}

static int read_addr(struct model *m, const struct item *item, const struct positions *nodes)
{
    const json_t *json = json_object_get(item->json, "addr");
    struct addresses a = {nodes, 0};

    if (!json)
        return 0;
    if (each_name(m, item, "addr", json, set_addr, &a))
        return -1;
    return a.n == nodes->n ? 0 : wrong(m, item, "addr", "fewer addresses than names");
}

/* "gpus" and "shape", which must agree. */
static int read_hardware(struct model *m, const struct item *item, const struct positions *nodes)
{
    int gpus = -1, shape = -1;

    if (read_int(m, item, "gpus", BERTH_GPUS_MAX, &gpus) ||
        read_int(m, item, "shape", CLUSTER_NODES_MAX, &shape))
        return -1;
    if (shape >= m->n_shapes) {
        char what[64];
        snprintf(what, sizeof what, "the file has %d shapes, counted from 0", m->n_shapes);
        return wrong(m, item, "shape", what);
    }
    for (int i = 0; i < nodes->n; i++) {
        struct cluster_node *node = &m->c->nodes[nodes->at[i]];
        if (shape >= 0)
            node->shape = m->shapes[shape];
        if (gpus >= 0)
            node->gpus = gpus;
        else if (shape >= 0)
            node->gpus = m->c->shapes[node->shape].n_gpus;
        if (node->shape >= 0 && node->gpus != m->c->shapes[node->shape].n_gpus)
            return wrong(m, item, gpus >= 0 ? "gpus" : "shape",
                         "the shape has another number of GPUs");
    }
    return 0;
}

static int read_rates(struct model *m, const struct item *item, const struct positions *nodes)
{
    double rate = 0, latency = 0, inner_rate = 0, inner_latency = 0;

    if (read_number(m, item, "rate", &rate) || read_number(m, item, "latency", &latency) ||
        read_number(m, item, "inner_rate", &inner_rate) ||
        read_number(m, item, "inner_latency", &inner_latency))
        return -1;
    for (int i = 0; i < nodes->n; i++) {
        struct cluster_node *node = &m->c->nodes[nodes->at[i]];
        node->rate = rate != 0 ? rate : node->rate;
        node->latency = latency != 0 ? latency : node->latency;
        node->inner_rate = inner_rate != 0 ? inner_rate : node->inner_rate;
        node->inner_latency = inner_latency != 0 ? inner_latency : node->inner_latency;
    }
    return 0;
}

static int read_nodes(struct model *m, const json_t *root)
{
    static const char *const keys[] = {"names",   "leaf",       "gpus",          "shape", "rate",
                                       "latency", "inner_rate", "inner_latency", "addr",  NULL};
    const json_t *array;
    size_t n;
    struct positions nodes = {0}, leaves = {0};
    int result = read_array(m, root, "nodes", CLUSTER_NODES_MAX, &array, &n);

    for (size_t i = 0; !result && i < n; i++) {
        struct item item = {json_array_get(array, i), "nodes", (int)i};
        nodes.n = leaves.n = 0;
        result =
            check_keys(m, &item, keys) ||
            each_name(m, &item, "names", json_object_get(item.json, "names"), want_node, &nodes) ||
            read_leaves(m, &item, &leaves) || attach_nodes(m, &item, &nodes, &leaves) ||
            read_addr(m, &item, &nodes) || read_hardware(m, &item, &nodes) ||
            read_rates(m, &item, &nodes);
    }
    free(nodes.at);
    free(leaves.at);
    return result ? -1 : 0;
}

/* ---- the whole ---- */

static int read_root(struct model *m, const json_t *root)
{
    static const char *const keys[] = {"berth_cluster", "defaults", "shapes", "switches",
                                       "nodes",         "refused",  NULL};
    struct item item = {root, "", -1};
    const json_t *version = json_object_get(root, "berth_cluster");
    const json_t *refused = json_object_get(root, "refused");

    if (check_keys(m, &item, keys))
        return -1;
    if (!json_is_integer(version) || json_integer_value(version) != 1)
        return wrong(m, &item, "berth_cluster", "expected 1, the version that this Berth reads");
    if (refused && !json_is_string(refused))
        return wrong(m, &item, "refused", "expected the name of a kind of topology");
    if (refused && !(m->c->refused = strdup(json_string_value(refused))))
        return berth_error_memory(m->err);
    if (read_defaults(m, json_object_get(root, "defaults")) || read_shapes(m, root) ||
        read_switches(m, root) || read_nodes(m, root))
        return -1;
    return cluster_finish(m->c, m->name, m->err);
}

struct cluster *cluster_read_model(const char *name, const char *bytes, size_t size,
                                   struct berth_error *err)
{
    struct model m = {.c = cluster_new(), .name = name, .err = err};
    json_error_t at;
    json_t *root = NULL;
    bool ok = false;

    if (m.c)
        m.c->source = strdup(name);
    if (!m.c || !m.c->source) {
        berth_error_memory(err);
        goto out;
    }
    if (size > MODEL_MAX) {
        berth_error_set(err, BERTH_EINPUT, "%s: a cluster model is at most 16 MiB", name);
        goto out;
    }
    root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &at);
    if (root)
        ok = read_root(&m, root) == 0;
    else
        berth_error_set(err, BERTH_EINPUT, "%s: line %d, column %d: %s", name, at.line, at.column,
                        at.text);
out:
    json_decref(root);
    free(m.shapes);
    if (!ok) {
        cluster_free(m.c);
        return NULL;
    }
    return m.c;
}
