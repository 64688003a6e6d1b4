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
    int **ints[] = {&m->parent, &m->depth};
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
    m->leaf = calloc(nodes, sizeof(int));
    m->port = calloc((size_t)job->mesh.world, sizeof(double));
    if (!m->leaf || !m->port)
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
    void *all[] = {m->parent, m->depth,   m->uplink,     m->hop,           m->leaf,
                   m->rate,   m->latency, m->inner_rate, m->inner_latency, m->up,
                   m->down,   m->out,     m->in,         m->port};
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
        for (int r = 0; r < world; r++) {
            int i = r / stride % n;
            for (int k = 0; k < n; k++)
                if (k != i)
                    edge(m, at, r, r + (k - i) * stride, item->bytes / n);
        }
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
