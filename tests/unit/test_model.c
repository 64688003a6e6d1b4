/*
 * The site's cluster model, JSON, both ways. Right values: cluster.h's description of the format;
 * tests/data/model/whole.json was written by hand from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "starve.h"

#include "cluster.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster *read_text(const char *text, struct berth_error *err)
{
    return cluster_read_model("m", text, strlen(text), err);
}

static struct cluster *read_whole(void)
{
    char path[4096];
    struct berth_error err = {0};
    size_t size;

    snprintf(path, sizeof path, "%s/tests/data/model/whole.json", getenv("SRCDIR") ?: ".");
    char *text = cluster_slurp(path, &size, &err);
    assert_string_equal(err.text, "");
    struct cluster *c = cluster_read_model("whole.json", text, size, &err);
    assert_string_equal(err.text, "");
    free(text);
    return c;
}

static void reads_every_key(void **state)
{
    struct cluster *c = read_whole();

    (void)state;
    assert_int_equal(c->n_switches, 4); /* leaf0 spine, then r0 r1 that only a node names */
    assert_string_equal(c->switches[0].name, "leaf0");
    assert_int_equal(c->switches[0].parent, 1);
    assert_int_equal(c->switches[0].level, 0);
    assert_int_equal(c->switches[1].level, 1);
    assert_true(c->switches[0].uplink == 2.5e7);
    assert_true(c->switches[1].uplink == 2e11); /* the default */
    assert_true(c->switches[0].link_latency == 1e-6);
    assert_int_equal(c->n_nodes, 3);
    assert_string_equal(c->nodes[1].name, "n01");
    assert_string_equal(c->nodes[1].addr, "10.0.0.2");
    assert_int_equal(c->nodes[0].shape, 0);
    assert_int_equal(c->nodes[0].gpus, 1); /* its shape's */
    assert_true(c->nodes[0].rate == 5e10);
    assert_true(c->nodes[0].inner_latency == 1e-6);
    assert_int_equal(c->nodes[2].gpus, 8);
    assert_int_equal(c->nodes[2].shape, -1);
    assert_int_equal(c->nodes[2].n_leaves, 2);
    assert_string_equal(c->switches[c->nodes[2].leaves[1]].name, "r1");
    assert_true(c->nodes[2].rate == 1e9);
    assert_string_equal(c->shapes[0].gpus[0].nic, "mlx5_0");
    cluster_free(c);
}

static void assert_same_text(const char *a, const char *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same(const struct cluster *a, const struct cluster *b)
{
    assert_int_equal(a->n_switches, b->n_switches);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_shapes, b->n_shapes);
    assert_same_text(a->refused, b->refused);
    assert_memory_equal(&a->defaults, &b->defaults, sizeof a->defaults);
    for (int i = 0; i < a->n_shapes; i++)
        assert_int_equal(berth_shape_compare(&a->shapes[i], &b->shapes[i]), 0);
    for (int i = 0; i < a->n_switches; i++) {
        const struct cluster_switch *s = &a->switches[i], *t = &b->switches[i];
        assert_string_equal(s->name, t->name);
        assert_int_equal(s->parent, t->parent);
        assert_int_equal(s->level, t->level);
        assert_int_equal(s->nodes, t->nodes);
        assert_int_equal(s->all, t->all);
        assert_true(s->uplink == t->uplink && s->link_latency == t->link_latency);
    }
    for (int i = 0; i < a->n_nodes; i++) {
        const struct cluster_node *m = &a->nodes[i], *n = &b->nodes[i];
        assert_string_equal(m->name, n->name);
        assert_same_text(m->addr, n->addr);
        assert_int_equal(m->shape, n->shape);
        assert_int_equal(m->gpus, n->gpus);
        assert_int_equal(m->n_leaves, n->n_leaves);
        for (int l = 0; l < m->n_leaves; l++)
            assert_int_equal(m->leaves[l], n->leaves[l]);
        assert_true(m->rate == n->rate && m->latency == n->latency);
        assert_true(m->inner_rate == n->inner_rate && m->inner_latency == n->inner_latency);
    }
}

/* Takes `c`: writes it, reads that, compares. */
static void round_trip(struct cluster *c)
{
    struct berth_error err = {0};
    json_t *json = cluster_write_model(c);
    char *text = json_dumps(json, 0);

    assert_non_null(text);
    struct cluster *again = cluster_read_model("again", text, strlen(text), &err);
    assert_string_equal(err.text, "");
    assert_same(c, again);
    json_decref(json);
    free(text);
    cluster_free(again);
    cluster_free(c);
}

static json_t *write_model(void *c)
{
    return cluster_write_model(c);
}

static void writes_all_or_nothing(void **state)
{
    static const char tree[] = "SwitchName=r Switches=l[0-1]\nSwitchName=l0 Nodes=n[0-3]\n"
                               "SwitchName=l1 Nodes=m[7-9],n3\nSwitchName=any Nodes=ALL\n";
    struct cluster *list[] = {read_whole(),
                              cluster_read_topology("t", tree, sizeof tree - 1, NULL)};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_true(starve(write_model, list[i]) > 20);
        cluster_free(list[i]);
    }
}

static void writes_what_it_reads(void **state)
{
    static const char tree[] = "SwitchName=r Switches=l[0-1]\nSwitchName=l0 Nodes=n[0-3]\n"
                               "SwitchName=l1 Nodes=m[7-9],n3\nSwitchName=any Nodes=ALL\n";
    static const char block[] = "BlockName=b Nodes=n[0-3]\n";

    (void)state;
    round_trip(read_whole());
    round_trip(cluster_read_topology("t", tree, sizeof tree - 1, NULL));
    round_trip(cluster_read_topology("t", block, sizeof block - 1, NULL));
    round_trip(cluster_new());
    round_trip(
        read_text("{\"berth_cluster\": 1, \"nodes\": [{\"names\": \"n\", \"rate\": 0.1}]}", NULL));
}

/* Neighbours that are alike are one entry: ten thousand nodes stay a short file. */
static void writes_ranges(void **state)
{
    static const char tree[] = "SwitchName=l0 Nodes=n[0000-9999]\n";
    struct cluster *c = cluster_read_topology("t", tree, sizeof tree - 1, NULL);
    json_t *json = cluster_write_model(c);
    char *text = json_dumps(json, JSON_COMPACT);

    (void)state;
    assert_string_equal(text, "{\"berth_cluster\":1,\"switches\":[{\"name\":\"l0\"}],"
                              "\"nodes\":[{\"names\":\"n[0000-9999]\",\"leaf\":\"l0\"}]}");
    free(text);
    json_decref(json);
    cluster_free(c);
}

#define V "{\"berth_cluster\": 1, "

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "m: line 1, column 0: '[' or '{' expected near end of file"},
    {V "\"nodes\": [,]}", "m: line 1, column 32: unexpected token near ','"},
    {"[]", "m: expected an object"},
    {"{}", "m: berth_cluster: expected 1, the version that this Berth reads"},
    {"{\"berth_cluster\": 2}", "m: berth_cluster: expected 1, the version that this Berth reads"},
    {V "\"must_x\": 1}", "m: must_x: this key is not known"},
    {V "\"node\": []}", "m: node: this key is not known"},
    {V "\"nodes\": {}}", "m: nodes: expected an array"},
    {V "\"nodes\": [{}]}", "m: nodes[0].names: expected names"},
    {V "\"nodes\": [{\"names\": \"a\"}, 7]}", "m: nodes[1]: expected an object"},
    {V "\"nodes\": [{\"names\": \"n[0-\"}]}",
     "m: nodes[0].names: column 2: this '[' is never closed"},
    {V "\"nodes\": [{\"names\": \"n\", \"rat\": 1}]}", "m: nodes[0].rat: this key is not known"},
    {V "\"nodes\": [{\"names\": \"n\", \"rate\": 0}]}",
     "m: nodes[0].rate: expected bytes per second above 0"},
    {V "\"nodes\": [{\"names\": \"n\", \"rate\": -1e9}]}",
     "m: nodes[0].rate: expected bytes per second above 0"},
    {V "\"nodes\": [{\"names\": \"n\", \"rate\": \"1\"}]}",
     "m: nodes[0].rate: expected bytes per second above 0"},
    {V "\"nodes\": [{\"names\": \"n\", \"latency\": -1}]}",
     "m: nodes[0].latency: expected seconds, not below 0"},
    {V "\"nodes\": [{\"names\": \"n\", \"gpus\": 4097}]}",
     "m: nodes[0].gpus: expected a whole number from 0 to 4096"},
    {V "\"nodes\": [{\"names\": \"n\", \"gpus\": 1.5}]}",
     "m: nodes[0].gpus: expected a whole number from 0 to 4096"},
    {V "\"nodes\": [{\"names\": \"n\", \"shape\": 0}]}",
     "m: nodes[0].shape: the file has 0 shapes, counted from 0"},
    {V
     "\"shapes\": [{\"gpus\": [{}]}], \"nodes\": [{\"names\": \"n\", \"shape\": 0, \"gpus\": 2}]}",
     "m: nodes[0].gpus: the shape has another number of GPUs"},
    {V "\"nodes\": [{\"names\": \"n[0-1]\", \"addr\": \"x\"}]}",
     "m: nodes[0].addr: fewer addresses than names"},
    {V "\"nodes\": [{\"names\": \"n\", \"addr\": \"x,y\"}]}",
     "m: nodes[0].addr: more addresses than names"},
    {V "\"nodes\": [{\"names\": \"n\", \"leaf\": \"a\"}, {\"names\": \"n\", \"leaf\": \"a\"}]}",
     "m: nodes[1].leaf: a node of this entry has its leaf from another entry"},
    {V "\"nodes\": [{\"names\": \"n\", \"leaf\": [1]}]}", "m: nodes[0].leaf: expected names"},
    {V "\"nodes\": [{\"names\": \"n\", \"leaf\": \"s[0-64]\"}]}",
     "m: nodes[0].leaf: a node has at most 64 leaves"},
    {V "\"switches\": [{\"name\": \"a\", \"parent\": \"b,c\"}]}",
     "m: switches[0].parent: expected the name of one switch"},
    {V
     "\"switches\": [{\"name\": \"a\", \"parent\": \"b\"}, {\"name\": \"a\", \"parent\": \"c\"}]}",
     "m: switches[1].parent: this switch already has another parent"},
    {V "\"switches\": [{\"name\": \"a\", \"parent\": \"a\"}]}",
     "m: switch a is below itself: following Switches= upwards from it comes back to it"},
    {V "\"switches\": [{\"name\": \"a\", \"all\": 1}]}",
     "m: switches[0].all: expected true or false"},
    {V "\"defaults\": {\"nodes\": {}}}", "m: defaults.nodes: this key is not known"},
    {V "\"defaults\": {\"switch\": {\"uplink\": 0}}}",
     "m: defaults.switch.uplink: expected bytes per second above 0"},
    {V "\"refused\": 1}", "m: refused: expected the name of a kind of topology"},
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct berth_error err = {0};
        assert_null(read_text(bad[i].text, &err));
        assert_int_equal(err.kind, BERTH_EINPUT);
        assert_string_equal(err.text, bad[i].message);
    }
}

/* berth-step --links writes a latency of 0 where it is lost in noise: unknown. */
static void takes_latency_zero(void **state)
{
    struct cluster *c =
        read_text(V "\"switches\": [{\"name\": \"a\", \"uplink\": 1e9, \"latency\": 0.0}]}", NULL);

    (void)state;
    assert_non_null(c);
    assert_true(c->switches[0].link_latency == 0);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_key),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(writes_all_or_nothing),
        cmocka_unit_test(writes_ranges),
        cmocka_unit_test(refuses),
        cmocka_unit_test(takes_latency_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
