/*
 * The cost model: loads every link with the edges of all rings of an axis and takes the busiest.
 */
#include "cost.h"

#include <stdlib.h>
#include <string.h>

struct cost_model {
    const struct job *job;
    int n_switches;
    int *parent, *depth;    /* per switch; depth 0 at a root */
    double *uplink, *hop;   /* per switch: rate and one-way latency of its uplink */
    int *leaf;              /* per node of the job: its leaf, -1 */
    double *rate, *latency; /* per node of the job: its link */
    double *inner_rate, *inner_latency;
    /* load of the item under evaluation, bytes per operation */
    double *up, *down, *out, *in, *port; /* per switch, switch, node, node, rank */
    double worst_latency, bytes_leaf;
    long edges_leaf;
    /* one group of an all-to-all: ranks per node and below each switch, and which were touched */
    int *members, *below, *direct, *touched_nodes, *touched_switches;
    struct farthest *farthest; /* per switch */
};

/* The two members of a group that are farthest below a switch, under different children of it. */
struct farthest {
    int child; /* of the first; a switch, or -2 - node */
    double first, second;
};

static void switch_rates(struct cost_model *m)
{
    const struct cluster *c = m->job->cluster;
    int slots = (m->job->mesh.world + m->job->n_nodes - 1) / m->job->n_nodes, deepest = 0;

    for (int i = 0; i < c->n_nodes; i++) {
        const struct cluster_node *node = &c->nodes[i];
        double rate =
            node->rate > 0 ? node->rate : COST_NIC_RATE * (node->gpus > 0 ? node->gpus : slots);
        for (int k = 0; k < node->n_leaves; k++)
            m->uplink[node->leaves[k]] += rate / node->n_leaves / COST_OVERSUBSCRIPTION;
    }
    for (int s = 0; s < m->n_switches; s++)
        deepest = m->depth[s] > deepest ? m->depth[s] : deepest;
    for (int d = deepest; d >= 0; d--)
        for (int s = 0; s < m->n_switches; s++) {
            if (m->depth[s] != d)
                continue;
            if (c->switches[s].uplink > 0)
                m->uplink[s] = c->switches[s].uplink;
            else if (m->uplink[s] <= 0)
                m->uplink[s] = COST_NIC_RATE; /* nothing is known below it */
            if (m->parent[s] >= 0)
                m->uplink[m->parent[s]] += m->uplink[s] / COST_OVERSUBSCRIPTION;
            m->hop[s] =
                c->switches[s].link_latency > 0 ? c->switches[s].link_latency : COST_SWITCH_LATENCY;
        }
}

static void node_rates(struct cost_model *m)
{
    for (int i = 0; i < m->job->n_nodes; i++) {
        const struct cluster_node *node = &m->job->cluster->nodes[m->job->nodes[i]];
        int nics = node->gpus > m->job->slots[i] ? node->gpus : m->job->slots[i];
        m->leaf[i] = node->n_leaves > 0 ? node->leaves[0] : -1;
        m->rate[i] = node->rate > 0 ? node->rate : COST_NIC_RATE * nics;
        m->latency[i] = node->latency > 0 ? node->latency : COST_NODE_LATENCY;
        m->inner_rate[i] = node->inner_rate > 0 ? node->inner_rate : COST_INNER_RATE;
        m->inner_latency[i] = node->inner_latency > 0 ? node->inner_latency : COST_INNER_LATENCY;
    }
}

struct cost_model *cost_model_new(const struct job *job, struct berth_error *err)
{
    const struct cluster *c = job->cluster;
    struct cost_model *m = calloc(1, sizeof(*m));
    size_t switches = (size_t)c->n_switches + 1, nodes = (size_t)job->n_nodes;

    if (!m)
        goto memory;
    m->job = job;
    m->n_switches = c->n_switches;
    int **ints[] = {&m->parent, &m->depth, &m->below, &m->direct, &m->touched_switches};
    int **node_ints[] = {&m->leaf, &m->members, &m->touched_nodes};
    double **by_switch[] = {&m->uplink, &m->hop, &m->up, &m->down};
    double **by_node[] = {&m->rate,          &m->latency, &m->inner_rate,
                          &m->inner_latency, &m->out,     &m->in};
    for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++)
        if (!(*ints[i] = calloc(switches, sizeof(int))))
            goto memory;
    for (size_t i = 0; i < sizeof(by_switch) / sizeof(by_switch[0]); i++)
        if (!(*by_switch[i] = calloc(switches, sizeof(double))))
            goto memory;
    for (size_t i = 0; i < sizeof(by_node) / sizeof(by_node[0]); i++)
        if (!(*by_node[i] = calloc(nodes, sizeof(double))))
            goto memory;
    for (size_t i = 0; i < sizeof(node_ints) / sizeof(node_ints[0]); i++)
        if (!(*node_ints[i] = calloc(nodes, sizeof(int))))
            goto memory;
    m->port = calloc((size_t)job->mesh.world, sizeof(double));
    m->farthest = calloc(switches, sizeof(*m->farthest));
    if (!m->port || !m->farthest)
        goto memory;
    for (int s = 0; s < m->n_switches; s++) {
        m->parent[s] = c->switches[s].parent;
        for (int up = m->parent[s]; up >= 0; up = c->switches[up].parent)
            m->depth[s]++;
    }
    switch_rates(m);
    node_rates(m);
    return m;
memory:
    berth_error_memory(err);
    cost_model_free(m);
    return NULL;
}

void cost_model_free(struct cost_model *m)
{
    if (!m)
        return;
    void *all[] = {m->parent,
                   m->depth,
                   m->uplink,
                   m->hop,
                   m->leaf,
                   m->rate,
                   m->latency,
                   m->inner_rate,
                   m->inner_latency,
                   m->up,
                   m->down,
                   m->out,
                   m->in,
                   m->port,
                   m->members,
                   m->below,
                   m->direct,
                   m->touched_nodes,
                   m->touched_switches,
                   m->farthest};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    free(m);
}

double cost_uplink_rate(const struct cost_model *m, int sw)
{
    return m->uplink[sw];
}

double cost_node_rate(const struct cost_model *m, int node)
{
    return m->rate[node];
}

int cost_init(struct cost *cost, const struct job *job, struct berth_error *err)
{
    *cost = (struct cost){.n_switches = job->cluster->n_switches, .n_items = job->traffic.n};
    cost->up = calloc((size_t)cost->n_switches + 1, sizeof(double));
    cost->down = calloc((size_t)cost->n_switches + 1, sizeof(double));
    if (cost->up && cost->down)
        return 0;
    cost_clear(cost);
    return berth_error_memory(err);
}

void cost_clear(struct cost *cost)
{
    free(cost->up);
    free(cost->down);
    cost->up = cost->down = NULL;
}

/* One edge: `bytes` from rank `from` to rank `to`. */
static inline void edge(struct cost_model *m, const int *at, int from, int to, double bytes)
{
    int a = at[from], b = at[to];
    double latency;

    if (a == b) {
        m->port[from] += bytes;
        if (m->inner_latency[a] > m->worst_latency)
            m->worst_latency = m->inner_latency[a];
        return;
    }
    m->out[a] += bytes;
    m->in[b] += bytes;
    latency = m->latency[a] + m->latency[b];
    int up = m->leaf[a], down = m->leaf[b];
    if (up != down) {
        m->bytes_leaf += bytes;
        m->edges_leaf++;
    }
    while (up != down) {
        if (down < 0 || (up >= 0 && m->depth[up] >= m->depth[down])) {
            m->up[up] += bytes;
            latency += m->hop[up];
            up = m->parent[up];
        } else {
            m->down[down] += bytes;
            latency += m->hop[down];
            down = m->parent[down];
        }
    }
    if (latency > m->worst_latency)
        m->worst_latency = latency;
}

/* A member at distance `latency` below a switch, under one of its children. */
static void note_distance(struct farthest *f, int child, double latency)
{
    if (child == f->child) {
        f->first = latency > f->first ? latency : f->first;
    } else if (latency > f->first) {
        f->second = f->first;
        f->first = latency;
        f->child = child;
    } else if (latency > f->second) {
        f->second = latency;
    }
}

/* Climbs from a node with `k` of a group's members, counting them below each switch up to the one
 * above all n, or to the root. Switch n_switches stands for what is above all roots. */
static int climb(struct cost_model *m, int node, int k, int n_touched)
{
    double latency = m->latency[node];
    int child = -2 - node;

    for (int s = m->leaf[node];; s = m->parent[s]) {
        int at = s < 0 ? m->n_switches : s;
        if (m->below[at] == 0) {
            m->touched_switches[n_touched++] = at;
            m->farthest[at] = (struct farthest){.child = -1};
        }
        m->below[at] += k;
        note_distance(&m->farthest[at], child, latency);
        if (s < 0)
            return n_touched;
        latency += m->hop[s];
        child = s;
    }
}

/*
 * One group of an all-to-all, by counts: k of n members on a node or below a switch send k (n-k)
 * pairs out of it and receive as many. The same sums as pair by pair, in the time of one walk.
 */
static void load_pairs(struct cost_model *m, const int *at, int axis, int group, double bytes)
{
    const struct berth_mesh *mesh = &m->job->mesh;
    int n = mesh->axes[axis].size, n_nodes = 0, n_switches = 0;
    long inside = 0; /* ordered pairs under one leaf, a rank with itself among them */

    for (int i = 0; i < n; i++) {
        int node = at[berth_mesh_member(mesh, axis, group, i)];
        if (m->members[node]++ == 0)
            m->touched_nodes[n_nodes++] = node;
    }
    for (int i = 0; i < n; i++) {
        int rank = berth_mesh_member(mesh, axis, group, i), node = at[rank];
        m->port[rank] += bytes * (m->members[node] - 1);
        if (m->members[node] > 1 && m->inner_latency[node] > m->worst_latency)
            m->worst_latency = m->inner_latency[node];
    }
    for (int i = 0; i < n_nodes; i++) {
        int node = m->touched_nodes[i], k = m->members[node];
        m->out[node] += bytes * k * (n - k);
        m->in[node] += bytes * k * (n - k);
        n_switches = climb(m, node, k, n_switches);
        int leaf = m->leaf[node] < 0 ? m->n_switches : m->leaf[node];
        inside += (2L * m->direct[leaf] + k) * k;
        m->direct[leaf] += k;
        m->members[node] = 0;
    }
    m->edges_leaf += (long)n * n - inside;
    m->bytes_leaf += bytes * (double)((long)n * n - inside);
    for (int i = 0; i < n_switches; i++) {
        int s = m->touched_switches[i], k = m->below[s];
        const struct farthest *f = &m->farthest[s];
        if (f->second > 0 && f->first + f->second > m->worst_latency)
            m->worst_latency = f->first + f->second;
        if (s < m->n_switches) {
            m->up[s] += bytes * k * (n - k);
            m->down[s] += bytes * k * (n - k);
        }
        m->below[s] = m->direct[s] = 0;
    }
}

/* All groups of an item's axis at once; returns the number of rounds. */
static int load(struct cost_model *m, const int *at, const struct traffic_item *item)
{
    const struct berth_axis *axis = &m->job->mesh.axes[item->axis];
    int n = axis->size, stride = axis->stride, world = m->job->mesh.world;
    bool chain = traffic_is_chain(item, &m->job->mesh);
    double share = 1.0;
    int rounds = 1;

    if (n == 1)
        return 0;
    if (item->kind == TRAFFIC_ALLTOALL) {
        for (int g = 0; g < berth_mesh_groups(&m->job->mesh, item->axis); g++)
            load_pairs(m, at, item->axis, g, item->bytes / n);
        return n - 1;
    }
    if (item->kind != TRAFFIC_P2P) {
        share = (double)(n - 1) / n * (item->kind == TRAFFIC_ALLREDUCE ? 2 : 1);
        rounds = (n - 1) * (item->kind == TRAFFIC_ALLREDUCE ? 2 : 1);
    }
    for (int r = 0; r < world; r++) {
        bool last = r / stride % n == n - 1;
        if (last && chain)
            continue;
        int next = last ? r - (n - 1) * stride : r + stride;
        edge(m, at, r, next, item->bytes * share);
        if (chain)
            edge(m, at, next, r, item->bytes);
    }
    return rounds;
}

static double busiest(const struct cost_model *m, const int *at)
{
    double worst = 0;
    for (int s = 0; s < m->n_switches; s++) {
        double bytes = m->up[s] > m->down[s] ? m->up[s] : m->down[s];
        if (bytes > worst * m->uplink[s])
            worst = bytes / m->uplink[s];
    }
    for (int i = 0; i < m->job->n_nodes; i++) {
        double bytes = m->out[i] > m->in[i] ? m->out[i] : m->in[i];
        if (bytes > worst * m->rate[i])
            worst = bytes / m->rate[i];
    }
    for (int r = 0; r < m->job->mesh.world; r++)
        if (m->port[r] > worst * m->inner_rate[at[r]])
            worst = m->port[r] / m->inner_rate[at[r]];
    return worst;
}

static void item_clear(struct cost_model *m)
{
    memset(m->up, 0, (size_t)m->n_switches * sizeof(double));
    memset(m->down, 0, (size_t)m->n_switches * sizeof(double));
    memset(m->out, 0, (size_t)m->job->n_nodes * sizeof(double));
    memset(m->in, 0, (size_t)m->job->n_nodes * sizeof(double));
    memset(m->port, 0, (size_t)m->job->mesh.world * sizeof(double));
    m->worst_latency = m->bytes_leaf = 0;
    m->edges_leaf = 0;
}

/* Totals over the items: per uplink, and which one is busy longest. */
static void uplinks_sum(const struct cost_model *m, struct cost *out)
{
    for (int s = 0; s < m->n_switches; s++) {
        double up = out->up[s] / m->uplink[s], down = out->down[s] / m->uplink[s];
        double longer = up > down ? up : down;
        out->uplink_seconds += up + down;
        if (longer > out->worst_seconds) {
            out->worst_seconds = longer;
            out->worst_switch = s;
        }
    }
}

void cost_evaluate(struct cost_model *m, const struct placement *p, struct cost *out)
{
    const struct traffic *traffic = &m->job->traffic;

    out->seconds = out->uplink_seconds = out->bytes_leaf = out->worst_seconds = 0;
    out->worst_switch = -1;
    memset(out->up, 0, (size_t)m->n_switches * sizeof(double));
    memset(out->down, 0, (size_t)m->n_switches * sizeof(double));
    for (int i = 0; i < traffic->n; i++) {
        const struct traffic_item *item = &traffic->items[i];
        item_clear(m);
        int rounds = load(m, p->node, item);
        double busy = item->count * (busiest(m, p->node) + rounds * m->worst_latency);
        out->items[i] = (struct cost_item){.busy = busy,
                                           .seconds = busy * item->exposed,
                                           .bytes_leaf = m->bytes_leaf * item->count,
                                           .edges_leaf = m->edges_leaf};
        out->seconds += out->items[i].seconds;
        out->bytes_leaf += out->items[i].bytes_leaf;
        for (int s = 0; s < m->n_switches; s++) {
            out->up[s] += m->up[s] * item->count;
            out->down[s] += m->down[s] * item->count;
        }
    }
    uplinks_sum(m, out);
}

bool cost_better(const struct cost *a, const struct cost *b)
{
    double slack = b->seconds * 1e-9;
    if (a->seconds < b->seconds - slack)
        return true;
    return a->seconds <= b->seconds + slack && a->uplink_seconds < b->uplink_seconds * (1 - 1e-9);
}
