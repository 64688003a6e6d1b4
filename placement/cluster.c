/*
 * The cluster model: nodes and switches in arrays, found by name through an index of open
 * addressing, so that ten thousand nodes are read in a few milliseconds.
 */
#include "config.h"

#include "../lib/file.h"
#include "cluster.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)256 << 20)

/* Name -> position in an array of structs whose first member is `char *name`. */
struct index {
    size_t size; /* a power of two, at least twice the entries */
    int *slots;  /* position + 1; 0 is free */
};

static size_t hash_name(const char *name)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

static const char *name_at(const void *array, size_t width, int i)
{
    return *(char *const *)((const char *)array + (size_t)i * width);
}

/* The slot that holds the name, or the free one where it belongs. */
static int *index_slot(const struct index *index, const void *array, size_t width, const char *name)
{
    size_t at = hash_name(name) & (index->size - 1);

    while (index->slots[at] && strcmp(name_at(array, width, index->slots[at] - 1), name) != 0)
        at = (at + 1) & (index->size - 1);
    return &index->slots[at];
}

static int index_find(const struct index *index, const void *array, size_t width, const char *name)
{
    return index ? *index_slot(index, array, width, name) - 1 : -1;
}

/* Makes room for one more entry beside the `n` of the array. */
static int index_reserve(void **index_field, const void *array, size_t width, int n)
{
    struct index *old = *index_field, *index = old;

    if (old && (size_t)n * 2 + 2 <= old->size)
        return 0;
    index = malloc(sizeof *index);
    if (!index)
        return -1;
    index->size = old ? old->size * 2 : 64;
    index->slots = calloc(index->size, sizeof *index->slots);
    if (!index->slots) {
        free(index);
        return -1;
    }
    for (int i = 0; i < n; i++)
        *index_slot(index, array, width, name_at(array, width, i)) = i + 1;
    if (old)
        free(old->slots);
    free(old);
    *index_field = index;
    return 0;
}

static void index_free(struct index *index)
{
    if (index)
        free(index->slots);
    free(index);
}

/* Makes room for one more element in an array; -1 on no memory. */
static int reserve(void *array_field, size_t *room, int n, size_t width)
{
    void **array = array_field;

    if ((size_t)n < *room)
        return 0;
    size_t more = *room ? 2 * *room : 16;
    void *grown = realloc(*array, more * width);
    if (!grown)
        return -1;
    *array = grown;
    *room = more;
    return 0;
}

struct cluster *cluster_new(void)
{
    return calloc(1, sizeof(struct cluster));
}

void cluster_free(struct cluster *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n_switches; i++)
        free(c->switches[i].name);
    for (int i = 0; i < c->n_nodes; i++) {
        free(c->nodes[i].name);
        free(c->nodes[i].leaves);
        free(c->nodes[i].addr);
    }
    for (int i = 0; i < c->n_shapes; i++)
        berth_shape_clear(&c->shapes[i]);
    free(c->switches);
    free(c->nodes);
    free(c->shapes);
    free(c->source);
    free(c->refused);
    index_free(c->switch_index);
    index_free(c->node_index);
    free(c);
}

int cluster_find_node(const struct cluster *c, const char *name)
{
    return index_find(c->node_index, c->nodes, sizeof *c->nodes, name);
}

int cluster_find_switch(const struct cluster *c, const char *name)
{
    return index_find(c->switch_index, c->switches, sizeof *c->switches, name);
}

int cluster_add_node(struct cluster *c, const char *name)
{
    int at = cluster_find_node(c, name);
    char *copy;

    if (at >= 0)
        return at;
    if (c->n_nodes >= CLUSTER_NODES_MAX ||
        reserve(&c->nodes, &c->room_nodes, c->n_nodes, sizeof *c->nodes) ||
        index_reserve(&c->node_index, c->nodes, sizeof *c->nodes, c->n_nodes))
        return -1;
    copy = strdup(name);
    if (!copy)
        return -1;
    c->nodes[c->n_nodes] = (struct cluster_node){.name = copy, .shape = -1, .gpus = -1};
    *index_slot(c->node_index, c->nodes, sizeof *c->nodes, name) = c->n_nodes + 1;
    return c->n_nodes++;
}

int cluster_add_switch(struct cluster *c, const char *name)
{
    int at = cluster_find_switch(c, name);
    char *copy;

    if (at >= 0)
        return at;
    if (c->n_switches >= CLUSTER_NODES_MAX ||
        reserve(&c->switches, &c->room_switches, c->n_switches, sizeof *c->switches) ||
        index_reserve(&c->switch_index, c->switches, sizeof *c->switches, c->n_switches))
        return -1;
    copy = strdup(name);
    if (!copy)
        return -1;
    c->switches[c->n_switches] = (struct cluster_switch){.name = copy, .parent = -1};
    *index_slot(c->switch_index, c->switches, sizeof *c->switches, name) = c->n_switches + 1;
    return c->n_switches++;
}

int cluster_attach(struct cluster *c, int node, int leaf)
{
    struct cluster_node *n = &c->nodes[node];

    for (int i = 0; i < n->n_leaves; i++)
        if (n->leaves[i] == leaf)
            return 0;
    if (n->n_leaves >= CLUSTER_LEAVES_MAX)
        return -1;
    /* full at 0, 1, 2, 4, 8 ...: most nodes have one */
    if ((n->n_leaves & (n->n_leaves - 1)) == 0) {
        int *more =
            realloc(n->leaves, sizeof(int) * (n->n_leaves ? 2u * (unsigned)n->n_leaves : 1));
        if (!more)
            return -1;
        n->leaves = more;
    }
    n->leaves[n->n_leaves++] = leaf;
    c->switches[leaf].nodes++;
    return 0;
}

int cluster_attach_all(struct cluster *c)
{
    int all = 0;

    while (all < c->n_switches && !c->switches[all].all)
        all++;
    for (int i = 0; all < c->n_switches && i < c->n_nodes; i++)
        if (c->nodes[i].n_leaves == 0 && cluster_attach(c, i, all))
            return -1;
    return 0;
}

int cluster_spread_shape(struct cluster *c, int shape)
{
    int gpus = c->shapes[shape].n_gpus, taken = 0;

    for (int i = 0; i < c->n_nodes; i++) {
        struct cluster_node *n = &c->nodes[i];
        if (n->shape >= 0 || (n->gpus >= 0 && n->gpus != gpus))
            continue;
        n->shape = shape;
        n->gpus = gpus;
        taken++;
    }
    return taken;
}

int cluster_path(const struct cluster *c, int node, int path, int *switches, int room)
{
    int depth = 0;

    if (path < 0 || path >= c->nodes[node].n_leaves)
        return 0;
    for (int s = c->nodes[node].leaves[path]; s >= 0; s = c->switches[s].parent) {
        if (depth < room)
            switches[depth] = s;
        depth++;
    }
    return depth;
}

/* ---- finishing ---- */

static int where(const struct cluster *c, const char *name, int sw, struct berth_error *err)
{
    if (c->switches[sw].line > 0)
        return berth_error_prefix(err, "%s:%d", name, c->switches[sw].line);
    return berth_error_prefix(err, "%s", name);
}

/*
 * Levels from the leaves up: a switch is done when all its children are. What is never done stands
 * in a cycle or above one; following the parents from there ends in the cycle.
 */
static int find_levels(struct cluster *c, const char *name, struct berth_error *err)
{
    int n = c->n_switches, head = 0, tail = 0, result = -1;
    int *waiting = calloc((size_t)n + 1, sizeof *waiting);
    int *queue = calloc((size_t)n + 1, sizeof *queue);

    if (!waiting || !queue) {
        berth_error_memory(err);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        c->switches[i].level = 0;
        if (c->switches[i].parent >= 0)
            waiting[c->switches[i].parent]++;
    }
    for (int i = 0; i < n; i++)
        if (!waiting[i])
            queue[tail++] = i;
    while (head < tail) {
        int i = queue[head++], p = c->switches[i].parent;
        if (p < 0)
            continue;
        if (c->switches[p].level <= c->switches[i].level)
            c->switches[p].level = c->switches[i].level + 1;
        if (--waiting[p] == 0)
            queue[tail++] = p;
    }
    if (tail == n) {
        result = 0;
        goto out;
    }
    int at = 0;
    while (!waiting[at])
        at++;
    for (int i = 0; i < n; i++)
        at = c->switches[at].parent;
    berth_error_set(
        err, BERTH_EINPUT,
        "switch %s is below itself: following Switches= upwards from it comes back to it",
        c->switches[at].name);
    where(c, name, at, err);
out:
    free(waiting);
    free(queue);
    return result;
}

static int check_switch(const struct cluster *c, int i, struct berth_error *err)
{
    const struct cluster_switch *s = &c->switches[i];

    if (s->level > 0 && s->nodes > 0)
        return berth_error_set(
            err, BERTH_EINPUT,
            "switch %s has both nodes and switches below it; attach nodes to leaves", s->name);
    if (s->level >= BERTH_LEVELS_MAX)
        return berth_error_set(err, BERTH_EINPUT, "switch %s tops more than %d levels of switches",
                               s->name, BERTH_LEVELS_MAX);
    return 0;
}

static void set_default(double *value, double standard)
{
    if (*value == 0)
        *value = standard;
}

static void apply_defaults(struct cluster *c)
{
    const struct cluster_defaults *d = &c->defaults;

    for (int i = 0; i < c->n_nodes; i++) {
        struct cluster_node *n = &c->nodes[i];
        set_default(&n->rate, d->rate);
        set_default(&n->latency, d->latency);
        set_default(&n->inner_rate, d->inner_rate);
        set_default(&n->inner_latency, d->inner_latency);
    }
    for (int i = 0; i < c->n_switches; i++) {
        set_default(&c->switches[i].uplink, d->uplink);
        set_default(&c->switches[i].link_latency, d->link_latency);
    }
}

int cluster_finish(struct cluster *c, const char *name, struct berth_error *err)
{
    if (find_levels(c, name, err))
        return -1;
    if (cluster_attach_all(c))
        return berth_error_memory(err);
    for (int i = 0; i < c->n_switches; i++)
        if (check_switch(c, i, err))
            return where(c, name, i, err);
    apply_defaults(c);
    return 0;
}

char *cluster_slurp(const char *path, size_t *size, struct berth_error *err)
{
    return berth_file_read(path, FILE_MAX, size, err);
}

/* ---- hardware ---- */

int cluster_add_shape(struct cluster *c, const struct berth_shape *shape)
{
    for (int i = 0; i < c->n_shapes; i++)
        if (berth_shape_compare(&c->shapes[i], shape) == 0)
            return i;
    if (reserve(&c->shapes, &c->room_shapes, c->n_shapes, sizeof *c->shapes) ||
        berth_shape_copy(&c->shapes[c->n_shapes], shape))
        return -1;
    return c->n_shapes++;
}

/* ---- merging ---- */

struct merge {
    struct cluster *into;
    const struct cluster *from;
    int *shapes, *switches; /* of `from`: where they are in `into` */
    struct berth_error *err;
};

static const char *source_of(const struct cluster *c)
{
    return c->source ? c->source : "another source";
}

static int contradict(const struct merge *m, const char *what)
{
    return berth_error_prefix(m->err, "%s and %s disagree on %s", source_of(m->into),
                              source_of(m->from), what);
}

static void take(double *value, double newer)
{
    if (newer != 0)
        *value = newer;
}

static int merge_switches(struct merge *m)
{
    bool first = !m->into->source;

    for (int i = 0; i < m->from->n_switches; i++) {
        const struct cluster_switch *s = &m->from->switches[i];
        int at = m->switches[i] = cluster_add_switch(m->into, s->name);
        if (at < 0)
            return berth_error_memory(m->err);
        struct cluster_switch *t = &m->into->switches[at];
        t->all |= s->all;
        take(&t->uplink, s->uplink);
        take(&t->link_latency, s->link_latency);
        t->line = first ? s->line : 0;
    }
    for (int i = 0; !first && i < m->into->n_switches; i++)
        m->into->switches[i].line = 0; /* it would not say of which source */
    for (int i = 0; i < m->from->n_switches; i++) {
        int parent = m->from->switches[i].parent;
        struct cluster_switch *t = &m->into->switches[m->switches[i]];
        if (parent < 0 || t->parent == m->switches[parent])
            continue;
        if (t->parent >= 0) {
            berth_error_set(m->err, BERTH_EINPUT, "below %s in one, below %s in the other",
                            m->into->switches[t->parent].name, m->from->switches[parent].name);
            return contradict(m, t->name);
        }
        t->parent = m->switches[parent];
    }
    return 0;
}

static int merge_leaves(struct merge *m, const struct cluster_node *n, int at)
{
    struct cluster_node *t = &m->into->nodes[at];
    bool had = t->n_leaves > 0;

    for (int i = 0; i < n->n_leaves; i++) {
        int leaf = m->switches[n->leaves[i]], j = 0;
        while (j < t->n_leaves && t->leaves[j] != leaf)
            j++;
        if (had && (j == t->n_leaves || n->n_leaves != t->n_leaves)) {
            berth_error_set(m->err, BERTH_EINPUT,
                            "on leaf %s (of %d) in one, on %s (of %d) in the other",
                            m->into->switches[t->leaves[0]].name, t->n_leaves,
                            m->into->switches[leaf].name, n->n_leaves);
            return contradict(m, t->name);
        }
        if (cluster_attach(m->into, at, leaf))
            return berth_error_memory(m->err);
    }
    return 0;
}

static int merge_hardware(struct merge *m, const struct cluster_node *n, struct cluster_node *t)
{
    if (n->gpus >= 0 && t->gpus >= 0 && n->gpus != t->gpus) {
        berth_error_set(m->err, BERTH_EINPUT, "%d GPUs in one, %d in the other", t->gpus, n->gpus);
        return contradict(m, t->name);
    }
    if (n->shape >= 0 && t->shape >= 0 && m->shapes[n->shape] != t->shape) {
        berth_error_set(m->err, BERTH_EINPUT, "different hardware");
        return contradict(m, t->name);
    }
    if (n->gpus >= 0)
        t->gpus = n->gpus;
    if (n->shape >= 0)
        t->shape = m->shapes[n->shape];
    return 0;
}

static int merge_nodes(struct merge *m)
{
    for (int i = 0; i < m->from->n_nodes; i++) {
        const struct cluster_node *n = &m->from->nodes[i];
        int at = cluster_add_node(m->into, n->name);
        if (at < 0)
            return berth_error_memory(m->err);
        struct cluster_node *t = &m->into->nodes[at];
        if (merge_leaves(m, n, at) || merge_hardware(m, n, t))
            return -1;
        take(&t->rate, n->rate);
        take(&t->latency, n->latency);
        take(&t->inner_rate, n->inner_rate);
        take(&t->inner_latency, n->inner_latency);
        if (n->addr) {
            char *addr = strdup(n->addr);
            if (!addr)
                return berth_error_memory(m->err);
            free(t->addr);
            t->addr = addr;
        }
    }
    return 0;
}

static int merge_rest(struct merge *m)
{
    struct cluster_defaults *d = &m->into->defaults;
    const struct cluster_defaults *n = &m->from->defaults;
    char *source = NULL;

    take(&d->rate, n->rate);
    take(&d->latency, n->latency);
    take(&d->inner_rate, n->inner_rate);
    take(&d->inner_latency, n->inner_latency);
    take(&d->uplink, n->uplink);
    take(&d->link_latency, n->link_latency);
    if (m->from->refused && !m->into->refused && !(m->into->refused = strdup(m->from->refused)))
        return berth_error_memory(m->err);
    if (m->from->note)
        m->into->note = m->from->note;
    if (!m->from->source)
        return 0;
    if (asprintf(&source, "%s%s%s", m->into->source ? m->into->source : "",
                 m->into->source ? ", " : "", m->from->source) < 0)
        return berth_error_memory(m->err);
    free(m->into->source);
    m->into->source = source;
    return 0;
}

int cluster_merge(struct cluster *into, const struct cluster *from, struct berth_error *err)
{
    struct merge m = {.into = into, .from = from, .err = err};
    int result = -1;

    m.shapes = calloc((size_t)from->n_shapes + 1, sizeof *m.shapes);
    m.switches = calloc((size_t)from->n_switches + 1, sizeof *m.switches);
    if (!m.shapes || !m.switches) {
        berth_error_memory(err);
        goto out;
    }
    for (int i = 0; i < from->n_shapes; i++) {
        m.shapes[i] = cluster_add_shape(into, &from->shapes[i]);
        if (m.shapes[i] < 0) {
            berth_error_memory(err);
            goto out;
        }
    }
    if (merge_switches(&m) || merge_nodes(&m) || merge_rest(&m))
        goto out;
    result = cluster_finish(into, source_of(into), err);
out:
    free(m.shapes);
    free(m.switches);
    return result;
}
