/*
 * The cost model against hand computations on cluster T (spec.md 6). 200 Mbit/s = 25 MB/s, 400
 * = 50.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster_t.h"
#include "cost.h"
#include <math.h>

#define assert_near(a, b)                                                      \
    do {                                                                       \
        if (fabs((a) - (b)) > 1e-4 * fabs((double)(b)) + 1e-9)                 \
            fail_msg("%s = %.9g, by hand %.9g", #a, (double)(a), (double)(b)); \
    } while (0)

/* Evaluates Slurm's order of a case; the caller frees with done(). */
struct run {
    struct cluster *c;
    struct job job;
    struct cost_model *model;
    struct placement p;
    struct cost cost;
};

static void run(struct run *r, double host, double uplink, const char *mesh, const char *traffic,
                const char *without, int each, enum placement_order order)
{
    struct berth_error err = {0};
    r->c = cluster_t(host * MBIT, uplink * MBIT);
    if (job_t(&r->job, r->c, mesh, strstr(mesh, "pp") ? "tp-cp-pp-dp" : NULL, traffic, without,
              each, &err))
        fail_msg("%s", err.text);
    r->model = cost_model_new(&r->job, &err);
    assert_non_null(r->model);
    assert_int_equal(placement_default(&r->job, order, &r->p, &err), 0);
    assert_int_equal(cost_init(&r->cost, &r->job, &err), 0);
    cost_evaluate(r->model, &r->p, &r->cost);
}

static void done(struct run *r)
{
    cost_clear(&r->cost);
    placement_clear(&r->p);
    cost_model_free(r->model);
    job_clear(&r->job);
    cluster_free(r->c);
}

/*
 * T1 in name order: the ring n00 n01 ... n09 leaves leaf0 at n00, n03, n06, leaf1 at n01, n04, n09
 * and leaf2 at n02, n05. Every edge carries 2*9/10 * 8 MB = 14.4 MB; three of them take 43.2 MB /
 * 25 MB/s.
 */
static void t1_name_order(void **state)
{
    struct run r;
    (void)state;
    run(&r, 200, 200, "dp10", "dp:allreduce:8MB", "", 1, PLACEMENT_NAME);
    assert_near(r.cost.up[0], 43.2e6);
    assert_near(r.cost.up[1], 43.2e6);
    assert_near(r.cost.up[2], 28.8e6);
    assert_near(r.cost.down[0], 43.2e6);
    assert_near(r.cost.up[3], 0);
    assert_int_equal(r.cost.items[0].edges_leaf, 8);
    assert_near(r.cost.bytes_leaf, 8 * 14.4e6);
    assert_near(r.cost.seconds, 43.2 / 25);
    done(&r);
}

/* T1 sorted: each leaf is left once, so hosts and uplinks all carry one edge: 14.4 / 25. 3.0 times
 * less. */
static void t1_topology_order(void **state)
{
    struct run r;
    (void)state;
    run(&r, 200, 200, "dp10", "dp:allreduce:8MB", "", 1, PLACEMENT_TOPOLOGY);
    for (int leaf = 0; leaf < 3; leaf++)
        assert_near(r.cost.up[leaf], 14.4e6);
    assert_near(r.cost.seconds, 14.4 / 25);
    done(&r);
}

/*
 * T2 sorted, dp slowest: both rings of five enter and leave leaf1 once, 2 * 2*4/5 * 8 MB = 25.6 MB;
 * one pp pair (n06, n01) crosses with 64 KB each way, 4 times: 2.56 ms each through 25 MB/s.
 */
static void t2_topology_order(void **state)
{
    struct run r;
    (void)state;
    run(&r, 400, 200, "dp5,pp2", "dp:allreduce:8MB,pp:p2p:64KB:4", "", 1, PLACEMENT_TOPOLOGY);
    assert_near(r.cost.up[1], 25.6e6 + 4 * 64e3);
    assert_near(r.cost.items[0].seconds, 25.6 / 25);
    assert_near(r.cost.items[1].seconds, 4 * 64e3 / 25e6);
    /* leaf0 has nodes of both rings and the crossing pair too: it is as busy, and stands first */
    assert_int_equal(r.cost.worst_switch, 0);
    assert_near(r.cost.worst_seconds, (25.6e6 + 4 * 64e3) / 25e6);
    done(&r);
}

/*
 * T5 sorted: cp pairs are neighbours (cp fastest) and exchange 2 MB both ways, 4 times; the pair
 * (n06, n01) crosses: 2 MB / 25 MB/s. dp: two rings through leaf1, 2 * 2*4/5 * 4 MB = 12.8 MB.
 */
static void t5_topology_order(void **state)
{
    struct run r;
    (void)state;
    run(&r, 400, 200, "cp2,dp5", "cp:p2p:2MB:4,dp:allreduce:4MB", "", 1, PLACEMENT_TOPOLOGY);
    assert_near(r.cost.items[0].seconds, 4 * 2e6 / 25e6);
    assert_near(r.cost.items[1].seconds, 12.8e6 / 25e6);
    done(&r);
}

/*
 * T10: tp pairs stay inside their node: 2*1/2 * 256 KB per rank at 1 GB/s, 8 times. No byte of them
 * on a link.
 */
static void t10_tensor_parallel_stays_inside(void **state)
{
    struct run r;
    (void)state;
    run(&r, 400, 200, "tp2,dp5,pp2", "tp:allreduce:256KB:8", "", 2, PLACEMENT_TOPOLOGY);
    assert_near(r.cost.items[0].seconds, 8 * 256e3 / 1e9);
    assert_near(r.cost.bytes_leaf, 0);
    assert_int_equal(r.cost.worst_switch, -1);
    done(&r);
}

/*
 * T11 name order, ep5 over dp10: two blocks n00-n04 and n05-n09, every ordered pair 2/5 MB. Block 1
 * has leaf0 {n00,n03}, leaf1 {n01,n04}, leaf2 {n02}; block 2 leaf0 {n06}, leaf1 {n07,n08,n09},
 * leaf2 {n05}. Leaf1 sends 2*3 + 3*2 = 12 pairs, leaf0 2*3 + 1*4 = 10, leaf2 4 + 4 = 8: 12 * 0.4 MB
 * / 25 MB/s, twice.
 */
static void t11_expert_blocks(void **state)
{
    struct run r;
    (void)state;
    run(&r, 400, 200, "dp10,ep5@dp", "ep:alltoall:2MB:2", "", 1, PLACEMENT_NAME);
    assert_near(r.cost.up[0], 2 * 10 * 0.4e6);
    assert_near(r.cost.up[1], 2 * 12 * 0.4e6);
    assert_near(r.cost.up[2], 2 * 8 * 0.4e6);
    assert_near(r.cost.seconds, 2 * 12 * 0.4e6 / 25e6);
    done(&r);
}

/*
 * All-to-all is summed by counts; here pair by pair, on T11's placement by name and on two ranks
 * per node: uplinks, edges above a leaf, and the largest latency (2 nodes at 1 ms, two hops of 0.25
 * ms).
 */
static void alltoall_by_counts_is_alltoall_by_pairs(void **state)
{
    static const int leaf_of[10] = {0, 1, 2, 0, 1, 2, 0, 1, 1, 1};
    (void)state;
    for (int each = 1; each <= 2; each++) {
        double up[3] = {0}, down[3] = {0};
        long edges = 0;
        struct run r;
        struct berth_error err;
        run(&r, 400, 200, each == 1 ? "dp10,ep5@dp" : "tp2,dp10,ep4@tp+dp", "ep:alltoall:2MB", "",
            each, PLACEMENT_NAME);
        int n = each == 1 ? 5 : 4;
        for (int a = 0; a < r.job.mesh.world; a++)
            for (int b = a / n * n; b < a / n * n + n; b++) {
                int from = leaf_of[r.p.node[a]], to = leaf_of[r.p.node[b]];
                if (from != to) {
                    up[from] += 2e6 / n;
                    down[to] += 2e6 / n;
                    edges++;
                }
            }
        for (int leaf = 0; leaf < 3; leaf++) {
            assert_near(r.cost.up[leaf], up[leaf]);
            assert_near(r.cost.down[leaf], down[leaf]);
        }
        assert_int_equal(r.cost.items[0].edges_leaf, edges);
        assert_near(r.cost.bytes_leaf, (double)edges * 2e6 / n);
        double bytes = r.cost.seconds;
        for (int i = 0; i < 10; i++)
            r.c->nodes[i].latency = 1e-3;
        for (int s = 0; s < 3; s++)
            r.c->switches[s].link_latency = 0.25e-3;
        cost_model_free(r.model);
        r.model = cost_model_new(&r.job, &err);
        cost_evaluate(r.model, &r.p, &r.cost);
        assert_near(r.cost.seconds - bytes, (n - 1) * 2.5e-3);
        done(&r);
    }
}

/* Reduce-scatter and all-gather move half of what an all-reduce moves, and an exposed share counts.
 */
static void halves_and_shares(void **state)
{
    struct run r;
    (void)state;
    run(&r, 200, 200, "dp10", "dp:reducescatter:8MB:1:0.5,dp:allgather:8MB", "", 1,
        PLACEMENT_TOPOLOGY);
    assert_near(r.cost.items[0].busy, 7.2 / 25);
    assert_near(r.cost.items[0].seconds, 3.6 / 25);
    assert_near(r.cost.items[1].seconds, 7.2 / 25);
    assert_near(r.cost.seconds, 10.8 / 25);
    done(&r);
}

/*
 * Latency: all nodes 1 ms, uplinks 0.25 ms: an edge between leaves takes 1 + 1 + 2 * 0.25 ms, and a
 * ring all-reduce over ten has 18 rounds: 45 ms on top of the bytes.
 */
static void latency_counts_per_round(void **state)
{
    struct run r;
    struct berth_error err;
    (void)state;
    run(&r, 200, 200, "dp10", "dp:allreduce:8MB", "", 1, PLACEMENT_TOPOLOGY);
    for (int i = 0; i < 10; i++)
        r.c->nodes[i].latency = 1e-3;
    for (int s = 0; s < 3; s++)
        r.c->switches[s].link_latency = 0.25e-3;
    cost_model_free(r.model);
    r.model = cost_model_new(&r.job, &err);
    cost_evaluate(r.model, &r.p, &r.cost);
    assert_near(r.cost.seconds, 14.4 / 25 + 18 * 2.5e-3);
    done(&r);
}

/* Unknown rates: a node with 8 slots has 8 NICs of 50 GB/s; a leaf of five such nodes sends half of
 * that. */
static void defaults_where_nothing_is_known(void **state)
{
    struct run r;
    struct berth_error err;
    (void)state;
    run(&r, 200, 200, "tp8,dp10", "dp:allreduce:8MB", "", 8, PLACEMENT_TOPOLOGY);
    for (int i = 0; i < 10; i++)
        r.c->nodes[i].rate = 0;
    for (int s = 0; s < 3; s++)
        r.c->switches[s].uplink = 0;
    cost_model_free(r.model);
    r.model = cost_model_new(&r.job, &err);
    assert_near(cost_node_rate(r.model, 0), 400e9);
    assert_near(cost_uplink_rate(r.model, 1), 5 * 400e9 / 2);
    done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t1_name_order),
        cmocka_unit_test(t1_topology_order),
        cmocka_unit_test(t2_topology_order),
        cmocka_unit_test(t5_topology_order),
        cmocka_unit_test(t10_tensor_parallel_stays_inside),
        cmocka_unit_test(t11_expert_blocks),
        cmocka_unit_test(alltoall_by_counts_is_alltoall_by_pairs),
        cmocka_unit_test(halves_and_shares),
        cmocka_unit_test(latency_counts_per_round),
        cmocka_unit_test(defaults_where_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
