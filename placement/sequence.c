/*
 * Sequences of a job's nodes: a walk down the switches that have nodes of the job below them, which
 * differs only in the order in which it visits the children of a switch.
 */
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

#define PACK_CELLS_MAX 1000000L /* children x strip: the table that packing may fill */

/* Switch n_switches stands for "above all roots". Children and nodes of switch s are
 * child[first_child[s] .. first_child[s+1]-1] and node[first_node[s] ...]. */
struct sequence_tree {
    int n;
    int *count; /* nodes of the job at or below */
    int *first_child, *child;
    int *first_node, *node;
    int *picked, *reach; /* work space of the packing */
};

static void tree_free(struct sequence_tree *t)
{
    if (!t)
        return;
    void *all[] = {t->count, t->first_child, t->child, t->first_node, t->node, t->picked, t->reach};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    free(t);
}

static int above(const struct cluster *c, int sw)
{
    return c->switches[sw].parent >= 0 ? c->switches[sw].parent : c->n_switches;
}

static int leaf_of(const struct job *job, int i)
{
    const struct cluster_node *node = &job->cluster->nodes[job->nodes[i]];
    return node->n_leaves > 0 ? node->leaves[0] : job->cluster->n_switches;
}

static struct sequence_tree *tree_new(const struct job *job, const int *topology)
{
    const struct cluster *c = job->cluster;
    size_t n = (size_t)c->n_switches + 1;
    struct sequence_tree *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->n = (int)n;
    t->count = calloc(n, sizeof(int));
    t->first_child = calloc(n + 1, sizeof(int));
    t->child = calloc(n, sizeof(int));
    t->first_node = calloc(n + 1, sizeof(int));
    t->node = calloc((size_t)job->n_nodes, sizeof(int));
    t->picked = calloc(n, sizeof(int));
    t->reach = calloc((size_t)job->n_nodes + 1, sizeof(int));
    if (!t->count || !t->first_child || !t->child || !t->first_node || !t->node || !t->picked ||
        !t->reach) {
        tree_free(t);
        return NULL;
    }
    for (int i = 0; i < job->n_nodes; i++) {
        t->first_node[leaf_of(job, i) + 1]++;
        for (int s = leaf_of(job, i); s < c->n_switches; s = above(c, s))
            t->count[s]++;
    }
    t->count[c->n_switches] = job->n_nodes;
    for (int s = 0; s < c->n_switches; s++)
        if (t->count[s] > 0)
            t->first_child[above(c, s) + 1]++;
    for (int s = 0; s < t->n; s++) {
        t->first_child[s + 1] += t->first_child[s];
        t->first_node[s + 1] += t->first_node[s];
    }
    /* fill, using picked and reach as cursors; they are work space and zero again afterwards */
    for (int s = 0; s < c->n_switches; s++)
        if (t->count[s] > 0)
            t->child[t->first_child[above(c, s)] + t->picked[above(c, s)]++] = s;
    memset(t->picked, 0, n * sizeof(int));
    for (int k = 0; k < job->n_nodes; k++) {
        int s = leaf_of(job, topology[k]);
        t->node[t->first_node[s] + t->picked[s]++] = topology[k];
    }
    memset(t->picked, 0, n * sizeof(int));
    return t;
}

static bool same_class(const struct job *job, int a, int b)
{
    const struct cluster_node *x = &job->cluster->nodes[job->nodes[a]];
    const struct cluster_node *y = &job->cluster->nodes[job->nodes[b]];
    return leaf_of(job, a) == leaf_of(job, b) && job->slots[a] == job->slots[b] &&
           x->rate == y->rate && x->latency == y->latency && x->inner_rate == y->inner_rate &&
           x->inner_latency == y->inner_latency && x->gpus == y->gpus;
}

/* Classes in the topology's order; only the classes of the leaf in hand need comparing. */
static void classes_make(struct sequences *q, const int *topology)
{
    const struct job *job = q->job;
    int *representative = q->class_nodes; /* filled for good below */
    int leaf_start = 0;

    for (int k = 0; k < job->n_nodes; k++) {
        int node = topology[k], c;
        if (k > 0 && leaf_of(job, node) != leaf_of(job, topology[k - 1]))
            leaf_start = q->n_classes;
        for (c = leaf_start; c < q->n_classes; c++)
            if (same_class(job, representative[c], node))
                break;
        if (c == q->n_classes)
            representative[q->n_classes++] = node;
        q->class_of[node] = c;
        q->class_size[c]++;
    }
    for (int c = 1; c < q->n_classes; c++)
        q->class_first[c] = q->class_first[c - 1] + q->class_size[c - 1];
    int *next = calloc((size_t)job->n_nodes, sizeof(int));
    if (!next) {
        q->n_classes = 0;
        return;
    }
    for (int k = 0; k < job->n_nodes; k++) {
        int c = q->class_of[topology[k]];
        q->class_nodes[q->class_first[c] + next[c]++] = topology[k];
    }
    free(next);
}

struct sequences *sequences_new(const struct job *job)
{
    size_t n = (size_t)job->n_nodes;
    struct sequences *q = calloc(1, sizeof(*q));
    int *topology = job_topology_order(job);

    if (!q || !topology)
        goto fail;
    q->job = job;
    q->slots = job->slots[0];
    for (int i = 1; i < job->n_nodes; i++)
        if (job->slots[i] != q->slots)
            q->slots = 0;
    q->class_of = calloc(n, sizeof(int));
    q->class_first = calloc(n, sizeof(int));
    q->class_size = calloc(n, sizeof(int));
    q->class_nodes = calloc(n, sizeof(int));
    q->tree = tree_new(job, topology);
    if (!q->class_of || !q->class_first || !q->class_size || !q->class_nodes || !q->tree)
        goto fail;
    classes_make(q, topology);
    if (q->n_classes == 0)
        goto fail;
    free(topology);
    return q;
fail:
    free(topology);
    sequences_free(q);
    return NULL;
}

void sequences_free(struct sequences *q)
{
    if (!q)
        return;
    tree_free(q->tree);
    free(q->class_of);
    free(q->class_first);
    free(q->class_size);
    free(q->class_nodes);
    free(q);
}

/* Sorts children by size, stable, so that equal ones keep the topology's order. */
static void by_size(const struct sequence_tree *t, int *children, int n, bool largest)
{
    for (int i = 1; i < n; i++) {
        int c = children[i], k = i;
        while (k > 0 && (largest ? t->count[children[k - 1]] < t->count[c]
                                 : t->count[children[k - 1]] > t->count[c])) {
            children[k] = children[k - 1];
            k--;
        }
        children[k] = c;
    }
}

/*
 * Moves to the front of children[0..n) some whose sizes make exactly `need`, and returns how many;
 * 0 if none do. reach[s] is the last child of a set that makes s; sets grow by later children only,
 * so that walking back never meets one twice.
 */
static int pack(struct sequence_tree *t, int *children, int n, int need)
{
    int taken = 0;

    if ((long)n * need > PACK_CELLS_MAX)
        return 0;
    for (int s = 0; s <= need; s++)
        t->reach[s] = -1;
    for (int i = 0; i < n; i++) {
        int size = t->count[children[i]];
        for (int s = need; s >= size; s--)
            if (t->reach[s] < 0 && (s == size || t->reach[s - size] >= 0))
                t->reach[s] = i;
    }
    if (t->reach[need] < 0)
        return 0;
    for (int s = need; s > 0;) {
        int i = t->reach[s];
        s -= t->count[children[i]];
        t->picked[children[i]] = 1;
        taken++;
    }
    for (int pass = 0, at = 0; pass < n && at < taken; pass++)
        if (t->picked[children[pass]]) {
            int c = children[pass];
            memmove(&children[at + 1], &children[at], (size_t)(pass - at) * sizeof(int));
            children[at++] = c;
            t->picked[c] = 0;
        }
    return taken;
}

static void pack_all(struct sequence_tree *t, int *children, int n, int strip, int at)
{
    by_size(t, children, n, true);
    while (n > 1) {
        int need = strip - at % strip, total = 0, taken = 0;
        for (int i = 0; i < n; i++)
            total += t->count[children[i]];
        if (need < total)
            taken = pack(t, children, n, need);
        if (taken == 0)
            taken = 1;
        for (; taken > 0; taken--, n--)
            at += t->count[*children++];
    }
}

static int emit(struct sequence_tree *t, int sw, enum sequence_kind kind, int strip, int *order,
                int at)
{
    int first = t->first_child[sw], n = t->first_child[sw + 1] - first;
    int *children = &t->child[first];

    for (int i = t->first_node[sw]; i < t->first_node[sw + 1]; i++)
        order[at++] = t->node[i];
    if (kind == SEQUENCE_LARGEST || kind == SEQUENCE_SMALLEST)
        by_size(t, children, n, kind == SEQUENCE_LARGEST);
    else if (kind == SEQUENCE_PACKED)
        pack_all(t, children, n, strip, at);
    for (int i = 0; i < n; i++)
        at = emit(t, children[i], kind, strip, order, at);
    return at;
}

static int ascending(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

void sequence_make(struct sequences *q, enum sequence_kind kind, int strip, int *order)
{
    struct sequence_tree *t = q->tree;

    /* an earlier sequence left the children in its own order: start from the topology's */
    for (int s = 0; s < t->n; s++)
        qsort(&t->child[t->first_child[s]], (size_t)(t->first_child[s + 1] - t->first_child[s]),
              sizeof(int), ascending);
    emit(t, t->n - 1, kind, strip, order, 0);
}
