/*
 * The mapper on the fixed cases of spec.md 6 and on random ones. Right values: hand computations
 * named at each case; for the exact solver, every one of the 10!/(3! 5! 2!) = 2520 ways to hand ten
 * cells to the three leaves, tried here without the mapper.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "starve.h"

#include "cluster_t.h"
#include "plan.h"
#include <math.h>

#define CLOSE(a, b) (fabs((a) - (b)) <= 1e-4 * fabs(b) + 1e-9)

struct solved {
    struct cluster *c;
    struct job job;
    struct plan plan;
};

static void solve(struct solved *s, double host, double uplink, const char *mesh, const char *order,
                  const char *traffic, const char *without, int each, bool blocks)
{
    struct berth_error err = {0};
    s->c = cluster_t(host * MBIT, uplink * MBIT);
    if (job_t(&s->job, s->c, mesh, order, traffic, without, each, &err))
        fail_msg("%s", err.text);
    s->job.blocks = blocks;
    if (plan_solve(&s->job, &s->plan, &err))
        fail_msg("%s", err.text);
}

static void done(struct solved *s)
{
    plan_clear(&s->plan);
    job_clear(&s->job);
    cluster_free(s->c);
}

/* Times by hand, seconds: Slurm's name order (0: not worked out), topology order, the planned one.
 */
static const struct {
    const char *what, *mesh, *traffic, *without;
    double host, uplink, name, topology, planned;
} cases[] = {
    /* test_cost.c: three edges through an uplink, against one */
    {"T1", "dp10", "dp:allreduce:8MB", "", 200, 200, 1.728, 0.576, 0.576},
    /* {leaf1} and {leaf0, leaf2}: one ring crosses, 12.8 MB / 25; all five pp pairs cross, 4 * 320
       KB / 25 */
    {"T2", "dp5,pp2", "dp:allreduce:8MB,pp:p2p:64KB:4", "", 400, 200, 0, 1.024 + 0.01024,
     0.512 + 0.0512},
    /* leaves of 2, 4, 2: {leaf1} and {leaf0, leaf2}: 2*3/4 * 8 MB = 12 MB; four pairs cross */
    {"T6", "dp4,pp2", "dp:allreduce:8MB,pp:p2p:64KB:4", "08", 400, 200, 0, 0.96,
     0.48 + 4 * 4 * 64e3 / 25e6},
    /* one ring of seven over leaves of 2, 4, 1 is as good as it gets: 2*6/7 * 8 MB / 25 */
    {"T7", "dp7", "dp:allreduce:8MB", "345", 400, 200, 0, 12.0 / 7 * 8 / 25, 12.0 / 7 * 8 / 25},
    /* one ring of seven, leaf1 and leaf2 only */
    {"T12", "dp7", "dp:allreduce:8MB", "036", 400, 200, 0, 12.0 / 7 * 8 / 25, 12.0 / 7 * 8 / 25},
};

static void the_fixed_cases_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct solved s;
        solve(&s, cases[i].host, cases[i].uplink, cases[i].mesh,
              strstr(cases[i].mesh, "pp") ? "pp-dp" : NULL, cases[i].traffic, cases[i].without, 1,
              false);
        if (cases[i].name > 0 && !CLOSE(s.plan.name_cost.seconds, cases[i].name))
            fail_msg("%s: name order %.6f", cases[i].what, s.plan.name_cost.seconds);
        /* T6: pp pairs that cross in topology order are below a hundredth of the step */
        if (fabs(s.plan.topology_cost.seconds / cases[i].topology - 1) > 0.03)
            fail_msg("%s: topology order %.6f", cases[i].what, s.plan.topology_cost.seconds);
        if (!CLOSE(s.plan.planned_cost.seconds, cases[i].planned))
            fail_msg("%s: planned %.6f", cases[i].what, s.plan.planned_cost.seconds);
        done(&s);
    }
}

/* T8: with leaf1's uplink at 100 Mbit/s the best map still leaves leaf1 alone: dp 12.8 MB / 25; the
 * five pp pairs cross leaf1's uplink at 12.5 MB/s. Topology order puts both rings on it: 25.6
 * / 12.5. */
static void t8_avoids_the_slow_uplink(void **state)
{
    struct solved s;
    struct berth_error err;
    (void)state;
    solve(&s, 400, 200, "dp5,pp2", "pp-dp", "dp:allreduce:8MB,pp:p2p:64KB:4", "", 1, false);
    s.c->switches[1].uplink = 100 * MBIT;
    plan_clear(&s.plan);
    assert_int_equal(plan_solve(&s.job, &s.plan, &err), 0);
    assert_true(CLOSE(s.plan.topology_cost.items[0].seconds, 25.6 / 12.5));
    assert_true(CLOSE(s.plan.planned_cost.items[0].seconds, 0.512));
    assert_true(CLOSE(s.plan.planned_cost.items[1].seconds, 4 * 5 * 64e3 / 12.5e6));
    assert_string_equal(s.plan.why, "");
    done(&s);
}

static bool next_label(int *label, int n)
{
    int i = n - 2, j = n - 1, t;
    while (i >= 0 && label[i] >= label[i + 1])
        i--;
    if (i < 0)
        return false;
    while (label[j] <= label[i])
        j--;
    t = label[i], label[i] = label[j], label[j] = t;
    for (i++, j = n - 1; i < j; i++, j--)
        t = label[i], label[i] = label[j], label[j] = t;
    return true;
}

/* The least time of all ways to give rank r to a leaf, one rank per node. */
static double brute_force(const struct job *job)
{
    static const int node_of[3][5] = {{0, 3, 6, -1, -1}, {1, 4, 7, 8, 9}, {2, 5, -1, -1, -1}};
    int label[10] = {0, 0, 0, 1, 1, 1, 1, 1, 2, 2}, ways = 0;
    struct berth_error err;
    struct cost_model *model = cost_model_new(job, &err);
    struct placement p;
    struct cost cost;
    double best = INFINITY;

    assert_int_equal(placement_init(&p, 10, &err), 0);
    assert_int_equal(cost_init(&cost, job, &err), 0);
    do {
        int used[3] = {0};
        for (int r = 0; r < 10; r++)
            p.node[r] = node_of[label[r]][used[label[r]]++];
        cost_evaluate(model, &p, &cost);
        best = cost.seconds < best ? cost.seconds : best;
        ways++;
    } while (next_label(label, 10));
    assert_int_equal(ways, 2520);
    cost_clear(&cost);
    placement_clear(&p);
    cost_model_free(model);
    return best;
}

static void small_jobs_are_solved_exactly(void **state)
{
    static const char *const meshes[][2] = {
        {"dp10", "dp:allreduce:8MB"},
        {"dp5,pp2", "dp:allreduce:8MB,pp:p2p:64KB:4"},
        {"dp5,pp2", "dp:allreduce:1MB,pp:p2p:2MB:4"},
        {"dp2,pp5", "dp:allreduce:8MB,pp:p2p:256KB:4"},
        {"cp2,dp5", "cp:p2p:2MB:4,dp:allreduce:4MB"},
        {"dp10,ep5@dp", "ep:alltoall:2MB:2,dp:allreduce:2MB"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(meshes) / sizeof(meshes[0]); i++) {
        struct solved s;
        solve(&s, 400, 200, meshes[i][0], NULL, meshes[i][1], "", 1, false);
        double best = brute_force(&s.job);
        if (!CLOSE(s.plan.planned_cost.seconds, best))
            fail_msg("%s: planned %.6f, best of all %.6f", meshes[i][0],
                     s.plan.planned_cost.seconds, best);
        done(&s);
    }
}

/* T10: two ranks per node; tp pairs must share a node whatever else the traffic wants. */
static void tensor_parallel_stays_in_the_node(void **state)
{
    static const char *const traffic[] = {
        "tp:allreduce:256KB:8,dp:allreduce:8MB,pp:p2p:64KB:4",
        "tp:allreduce:1KB,dp:allreduce:80MB,pp:p2p:64KB:4",
    };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct solved s;
        solve(&s, 400, 200, "tp2,dp5,pp2", NULL, traffic[i], "", 2, false);
        for (int r = 0; r < 20; r += 2)
            assert_int_equal(s.plan.planned.node[r], s.plan.planned.node[r + 1]);
        done(&s);
    }
}

/* One launcher per node: each node holds one block of consecutive ranks, in whatever node order. */
static void blocks_stay_contiguous(void **state)
{
    struct solved s;
    (void)state;
    solve(&s, 400, 200, "tp2,dp5,pp2", "tp-pp-dp", "dp:allreduce:8MB,pp:p2p:64KB:4", "", 2, true);
    for (int r = 0; r < 20; r += 2)
        assert_int_equal(s.plan.planned.node[r], s.plan.planned.node[r + 1]);
    assert_true(s.plan.planned_cost.seconds <= s.plan.topology_cost.seconds);
    done(&s);
    /* 30 ranks, 3 per node: a node's block does not follow the axes, and must still be one block */
    solve(&s, 400, 200, "tp2,dp5,pp3", NULL, "dp:allreduce:8MB,pp:p2p:64KB:4", "", 3, true);
    for (int r = 0; r < 30; r++)
        assert_int_equal(s.plan.planned.node[r], s.plan.planned.node[r / 3 * 3]);
    done(&s);
}

static void says_when_there_is_nothing_to_gain(void **state)
{
    static const struct {
        const char *mesh, *traffic, *without, *why;
    } quiet[] = {
        {"dp5", "dp:allreduce:8MB", "02356",
         "nothing to gain: all nodes are under one leaf switch, so all orders of them cost the "
         "same"},
        {"dp1", "dp:allreduce:8MB", "012345678",
         "nothing to gain: the job has one node, and every group stays inside it"},
        {"dp7", "dp:allreduce:8MB", "036",
         "nothing to gain over topology order: the busiest uplink is as busy in every order found"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++) {
        struct solved s;
        solve(&s, 400, 200, quiet[i].mesh, NULL, quiet[i].traffic, quiet[i].without, 1, false);
        assert_string_equal(s.plan.why, quiet[i].why);
        done(&s);
    }
}

/* A job with nothing to gain at all keeps Slurm's own order. */
static void keeps_slurms_order_where_it_is_best(void **state)
{
    struct solved s;
    (void)state;
    solve(&s, 400, 200, "dp5", NULL, "dp:allreduce:8MB", "02356", 1, false);
    for (int r = 0; r < 5; r++)
        assert_int_equal(s.plan.planned.node[r], r);
    done(&s);
}

static uint32_t random_next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* A random tree of `nodes` nodes in leaves of 1..6 under one or two levels. */
static struct cluster *random_cluster(uint32_t *seed, int nodes, char (*names)[24])
{
    struct cluster *c = cluster_new();
    struct berth_error err;
    char name[16];
    int left = 0, leaf = -1, pods = 1 + (int)(random_next(seed) % 3), leaves = 0;
    int root = cluster_add_switch(c, "root"), pod[3];

    for (int i = 0; i < pods; i++) {
        snprintf(name, sizeof(name), "pod%d", i);
        pod[i] = cluster_add_switch(c, name);
        c->switches[pod[i]].parent = root;
    }
    for (int i = 0; i < nodes; i++) {
        if (left-- == 0) {
            snprintf(name, sizeof(name), "leaf%d", leaves);
            leaf = cluster_add_switch(c, name);
            c->switches[leaf].parent = pod[leaves++ % pods];
            left = (int)(random_next(seed) % 6);
        }
        snprintf(names[i], sizeof(names[i]), "n%u-%d", random_next(seed) % 100, i);
        cluster_attach(c, cluster_add_node(c, names[i]), leaf);
    }
    if (cluster_finish(c, "random", &err))
        fail_msg("%s", err.text);
    return c;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* For any mesh and cluster: every rank once, no node over its slots, never worse than Slurm's own
 * orders, and the same answer twice. */
static void any_job_gets_a_sound_map(void **state)
{
    uint32_t seed = 2463534242u;
    (void)state;
    for (int round = 0; round < 60; round++) {
        int slots = 1 << random_next(&seed) % 4, tp = 1 << random_next(&seed) % 4;
        int pp = 1 + (int)(random_next(&seed) % 4), dp = 1 + (int)(random_next(&seed) % 9);
        int world = tp * pp * dp, nodes = (world + slots - 1) / slots;
        char names[320][24], spec[64], *list[320];
        struct cluster *c = random_cluster(&seed, nodes, names);
        struct berth_error err = {0};
        struct berth_mesh mesh;
        struct traffic traffic;
        struct job job;
        struct plan plan, again;
        int counts[320], left = world;

        for (int i = 0; i < nodes; i++) {
            counts[i] = left < slots ? left : slots; /* the last node may have fewer */
            left -= counts[i];
            list[i] = names[i];
        }
        qsort(list, (size_t)nodes, sizeof(list[0]), compare_names);
        snprintf(spec, sizeof(spec), "tp%d,pp%d,dp%d", tp, pp, dp);
        assert_int_equal(meshspec_parse(spec, NULL, world, &mesh, &err), 0);
        traffic_reference(&mesh, &traffic);
        if (job_init(&job, c, &mesh, &traffic, list, counts, 0, nodes, &err))
            fail_msg("%s", err.text);
        job.blocks = round % 5 == 4;
        assert_int_equal(plan_solve(&job, &plan, &err), 0);
        assert_int_equal(plan_solve(&job, &again, &err), 0);
        assert_memory_equal(plan.planned.node, again.planned.node, (size_t)world * sizeof(int));
        assert_true(plan.planned_cost.seconds <= plan.name_cost.seconds * (1 + 1e-9));
        assert_true(plan.planned_cost.seconds <= plan.topology_cost.seconds * (1 + 1e-9));
        int used[320] = {0};
        for (int r = 0; r < world; r++)
            used[plan.planned.node[r]]++;
        assert_memory_equal(used, counts, (size_t)nodes * sizeof(int));
        struct berth_map *map = plan_map(&job, &plan, &plan.planned, &err);
        if (!map)
            fail_msg("%s: %s", spec, err.text);
        assert_int_equal(berth_map_world(map), world);
        for (int r = 0; r < world; r++)
            assert_string_equal(berth_map_node_name(map, berth_map_node_of(map, r)),
                                list[plan.planned.node[r]]);
        berth_map_close(map);
        plan_clear(&plan);
        plan_clear(&again);
        job_clear(&job);
        cluster_free(c);
    }
}

static json_t *write_cost(void *arg)
{
    struct solved *s = arg;
    return plan_cost_json(&s->job, &s->plan, &s->plan.planned_cost);
}

static void writes_costs_whole_or_not(void **state)
{
    struct solved s;
    (void)state;
    solve(&s, 100, 200, "dp5,pp2", NULL, "dp:allreduce:8MB,pp:p2p:64KB:4,dp:allgather:1MB", "", 1,
          false);
    assert_true(starve(write_cost, &s) > 20);
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixed_cases_by_hand),
        cmocka_unit_test(t8_avoids_the_slow_uplink),
        cmocka_unit_test(small_jobs_are_solved_exactly),
        cmocka_unit_test(tensor_parallel_stays_in_the_node),
        cmocka_unit_test(blocks_stay_contiguous),
        cmocka_unit_test(says_when_there_is_nothing_to_gain),
        cmocka_unit_test(keeps_slurms_order_where_it_is_best),
        cmocka_unit_test(writes_costs_whole_or_not),
        cmocka_unit_test(any_job_gets_a_sound_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
