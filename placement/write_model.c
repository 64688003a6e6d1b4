/*
 * The cluster model as JSON, such that reading it back gives the same model: switches and nodes in
 * their order, neighbours in the list that are alike in all but their name as one entry.
 */
#include "cluster.h"
#include "hostlist.h"
#include <stdlib.h>
#include <string.h>

/* Sets a number unless it is unknown or what the defaults say. 0 or -1. */
static int set_number(json_t *object, const char *key, double value, double standard)
{
    return value == 0 || value == standard ? 0 : json_object_set_new(object, key, json_real(value));
}

/* Adds an object under a key of another, or lets it go when it is empty. */
static int set_unless_empty(json_t *object, const char *key, json_t *value)
{
    if (value && json_object_size(value) == 0 && json_array_size(value) == 0) {
        json_decref(value);
        return 0;
    }
    return json_object_set_new(object, key, value);
}

static json_t *write_defaults(const struct cluster_defaults *d)
{
    json_t *all = json_object(), *node = json_object(), *sw = json_object();

    int failed =
        set_number(node, "rate", d->rate, 0) || set_number(node, "latency", d->latency, 0) ||
        set_number(node, "inner_rate", d->inner_rate, 0) ||
        set_number(node, "inner_latency", d->inner_latency, 0) ||
        set_number(sw, "uplink", d->uplink, 0) || set_number(sw, "latency", d->link_latency, 0);
    failed |= set_unless_empty(all, "node", node) != 0;
    failed |= set_unless_empty(all, "switch", sw) != 0;
    if (failed) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *write_shapes(const struct cluster *c)
{
    json_t *array = json_array();

    for (int i = 0; array && i < c->n_shapes; i++)
        if (json_array_append_new(array, berth_shape_json(&c->shapes[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *write_switch(const struct cluster *c, const struct cluster_switch *s)
{
    json_t *object = json_pack("{s:s}", "name", s->name);

    if (!object)
        return NULL;
    if ((s->parent >= 0 &&
         json_object_set_new(object, "parent", json_string(c->switches[s->parent].name))) ||
        (s->all && json_object_set_new(object, "all", json_true())) ||
        set_number(object, "uplink", s->uplink, c->defaults.uplink) ||
        set_number(object, "latency", s->link_latency, c->defaults.link_latency)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *write_switches(const struct cluster *c)
{
    json_t *array = json_array();

    for (int i = 0; array && i < c->n_switches; i++)
        if (json_array_append_new(array, write_switch(c, &c->switches[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static bool alike(const struct cluster_node *a, const struct cluster_node *b)
{
    return a->shape == b->shape && a->gpus == b->gpus && a->rate == b->rate &&
           a->latency == b->latency && a->inner_rate == b->inner_rate &&
           a->inner_latency == b->inner_latency && !a->addr == !b->addr &&
           a->n_leaves == b->n_leaves &&
           (a->n_leaves == 0 ||
            memcmp(a->leaves, b->leaves, (size_t)a->n_leaves * sizeof *a->leaves) == 0);
}

static json_t *hostlist_json(const char **names, int n)
{
    char *text = hostlist_compress(names, n);
    json_t *json = text ? json_string(text) : NULL;

    free(text);
    return json;
}

static json_t *leaf_json(const struct cluster *c, const struct cluster_node *node)
{
    if (node->n_leaves == 1)
        return json_string(c->switches[node->leaves[0]].name);
    json_t *array = json_array();
    for (int i = 0; array && i < node->n_leaves; i++)
        if (json_array_append_new(array, json_string(c->switches[node->leaves[i]].name))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* One entry for nodes[0..n), which are alike. `names` has room for n. */
static json_t *write_entry(const struct cluster *c, const struct cluster_node *nodes, int n,
                           const char **names)
{
    const struct cluster_defaults *d = &c->defaults;
    json_t *object = json_object();
    int failed;

    for (int i = 0; i < n; i++)
        names[i] = nodes[i].name;
    failed =
        json_object_set_new(object, "names", hostlist_json(names, n)) ||
        (nodes->n_leaves && json_object_set_new(object, "leaf", leaf_json(c, nodes))) ||
        (nodes->gpus >= 0 && json_object_set_new(object, "gpus", json_integer(nodes->gpus))) ||
        (nodes->shape >= 0 && json_object_set_new(object, "shape", json_integer(nodes->shape))) ||
        set_number(object, "rate", nodes->rate, d->rate) ||
        set_number(object, "latency", nodes->latency, d->latency) ||
        set_number(object, "inner_rate", nodes->inner_rate, d->inner_rate) ||
        set_number(object, "inner_latency", nodes->inner_latency, d->inner_latency);
    for (int i = 0; nodes->addr && i < n; i++)
        names[i] = nodes[i].addr;
    if (failed || (nodes->addr && json_object_set_new(object, "addr", hostlist_json(names, n)))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *write_nodes(const struct cluster *c)
{
    const char **names = calloc((size_t)c->n_nodes + 1, sizeof *names);
    json_t *array = names ? json_array() : NULL;

    for (int i = 0, j; array && i < c->n_nodes; i = j) {
        for (j = i + 1; j < c->n_nodes && alike(&c->nodes[i], &c->nodes[j]); j++)
            ;
        if (json_array_append_new(array, write_entry(c, &c->nodes[i], j - i, names))) {
            json_decref(array);
            array = NULL;
        }
    }
    free(names);
    return array;
}

json_t *cluster_write_model(const struct cluster *c)
{
    json_t *root = json_pack("{s:i}", "berth_cluster", 1);

    if (!root)
        return NULL;
    if ((c->refused && json_object_set_new(root, "refused", json_string(c->refused))) ||
        set_unless_empty(root, "defaults", write_defaults(&c->defaults)) ||
        set_unless_empty(root, "shapes", write_shapes(c)) ||
        set_unless_empty(root, "switches", write_switches(c)) ||
        set_unless_empty(root, "nodes", write_nodes(c))) {
        json_decref(root);
        return NULL;
    }
    return root;
}
