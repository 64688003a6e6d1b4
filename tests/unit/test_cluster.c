/*
 * The cluster model itself, its merging, Slurm's node records, and files told apart by content.
 * Right values: what cluster.h promises, on texts written for the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cluster *topology(const char *name, const char *text)
{
    struct cluster *c = cluster_read_topology(name, text, strlen(text), NULL);

    assert_non_null(c);
    return c;
}

static struct cluster *model(const char *name, const char *text)
{
    struct berth_error err = {0};
    struct cluster *c = cluster_read_model(name, text, strlen(text), &err);

    assert_string_equal(err.text, "");
    return c;
}

static void finds_by_name(void **state)
{
    struct cluster *c = cluster_new();
    char name[16];

    (void)state;
    assert_int_equal(cluster_find_node(c, "n0"), -1);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(cluster_add_node(c, name), i);
    }
    assert_int_equal(cluster_add_node(c, "n4321"), 4321); /* there already */
    assert_int_equal(cluster_find_node(c, "n4999"), 4999);
    assert_int_equal(cluster_find_node(c, "N4999"), -1);
    assert_int_equal(cluster_find_switch(c, "n1"), -1);
    assert_int_equal(c->nodes[7].gpus, -1);
    assert_int_equal(c->nodes[7].shape, -1);
    assert_int_equal(c->nodes[7].n_leaves, 0);
    cluster_free(c);
}

static void gives_paths(void **state)
{
    struct cluster *c = topology("t", "SwitchName=top Switches=mid,b\nSwitchName=mid Switches=a\n"
                                      "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n1\n");
    int path[4] = {-1, -1, -1, -1};

    (void)state;
    assert_int_equal(cluster_path(c, cluster_find_node(c, "n1"), 0, path, 4), 3);
    assert_string_equal(c->switches[path[0]].name, "a");
    assert_string_equal(c->switches[path[1]].name, "mid");
    assert_string_equal(c->switches[path[2]].name, "top");
    assert_int_equal(cluster_path(c, cluster_find_node(c, "n1"), 1, path, 1), 2);
    assert_string_equal(c->switches[path[0]].name, "b");
    assert_int_equal(cluster_path(c, cluster_find_node(c, "n0"), 1, path, 4), 0);
    cluster_free(c);
}

static void merges_what_is_new(void **state)
{
    struct cluster *c = topology("topology.conf", "SwitchName=leaf0 Nodes=n[0-1]\n"
                                                  "SwitchName=spine Switches=leaf0\n");
    struct cluster *m =
        model("site.json", "{\"berth_cluster\": 1, \"defaults\": {\"node\": {\"rate\": 5e9}},"
                           " \"switches\": [{\"name\": \"leaf0\", \"uplink\": 7e9}],"
                           " \"nodes\": [{\"names\": \"n1\", \"gpus\": 4, \"rate\": 1e9}]}");

    (void)state;
    assert_int_equal(cluster_merge(c, m, NULL), 0);
    assert_int_equal(c->n_nodes, 2);
    assert_int_equal(c->n_switches, 2);
    assert_true(c->switches[0].uplink == 7e9);
    assert_int_equal(c->switches[0].parent, 1); /* what the model does not say stays */
    assert_true(c->nodes[0].rate == 5e9);       /* the model's default, on the topology's node */
    assert_true(c->nodes[1].rate == 1e9);
    assert_int_equal(c->nodes[0].gpus, -1);
    assert_int_equal(c->nodes[1].gpus, 4);
    assert_int_equal(c->nodes[1].n_leaves, 1);
    assert_string_equal(c->source, "topology.conf, site.json");
    cluster_free(m);
    cluster_free(c);
}

static const struct {
    const char *topology, *model, *message;
} contradictions[] = {
    {"SwitchName=a Nodes=n0\nSwitchName=b Nodes=n1\n",
     "{\"berth_cluster\": 1, \"nodes\": [{\"names\": \"n0\", \"leaf\": \"b\"}]}",
     "T and M disagree on n0: on leaf a (of 1) in one, on b (of 1) in the other"},
    {"SwitchName=a Nodes=n0\nSwitchName=b Nodes=n1\n",
     "{\"berth_cluster\": 1, \"nodes\": [{\"names\": \"n0\", \"leaf\": [\"a\", \"b\"]}]}",
     "T and M disagree on n0: on leaf a (of 1) in one, on a (of 2) in the other"},
    {"SwitchName=a Nodes=n0\nSwitchName=r Switches=a\n",
     "{\"berth_cluster\": 1, \"switches\": [{\"name\": \"a\", \"parent\": \"q\"}]}",
     "T and M disagree on a: below r in one, below q in the other"},
    {"SwitchName=a Nodes=n0\nSwitchName=r Switches=a\n",
     "{\"berth_cluster\": 1, \"switches\": [{\"name\": \"r\", \"parent\": \"a\"}]}",
     "T, M: switch a is below itself: following Switches= upwards from it comes back to it"},
    {"SwitchName=a Nodes=n0\nSwitchName=r Switches=a\n",
     "{\"berth_cluster\": 1, \"nodes\": [{\"names\": \"x\", \"leaf\": \"r\"}]}",
     "T, M: switch r has both nodes and switches below it; attach nodes to leaves"},
};

static void refuses_contradictions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++) {
        struct berth_error err = {0};
        struct cluster *c = topology("T", contradictions[i].topology);
        struct cluster *m = model("M", contradictions[i].model);
        assert_int_equal(cluster_merge(c, m, &err), -1);
        assert_int_equal(err.kind, BERTH_EINPUT);
        assert_string_equal(err.text, contradictions[i].message);
        cluster_free(m);
        cluster_free(c);
    }
}

static void refuses_other_gpus(void **state)
{
    struct berth_error err = {0};
    struct cluster *a =
        model("A", "{\"berth_cluster\": 1, \"nodes\": [{\"names\": \"n\", \"gpus\": 8}]}");
    struct cluster *b =
        model("B", "{\"berth_cluster\": 1, \"nodes\": [{\"names\": \"n\", \"gpus\": 4}]}");

    (void)state;
    assert_int_equal(cluster_merge(a, b, &err), -1);
    assert_string_equal(err.text, "A and B disagree on n: 8 GPUs in one, 4 in the other");
    cluster_free(a);
    cluster_free(b);
}

/* ---- scontrol show node ---- */

static const struct {
    const char *line;
    int gpus;
    const char *addr;
} nodes[] = {
    {"NodeName=n0 Gres=gpu:8 NodeAddr=n0 NodeHostName=n0 ", 8, NULL},
    {"NodeName=n0 Gres=gpu:a100:4(S:0-1),gpu:v100:2(S:0,1),nic:3 NodeAddr=10.0.0.1 ", 6,
     "10.0.0.1"},
    {"NodeName=n0 Arch=x86_64 Gres=gpu NodeAddr=fe80::1 OS=Linux 6.1 #1 SMP ", 1, "fe80::1"},
    {"NodeName=n0 Gres=gpu:h100 OS=Linux", 1, NULL},
    {"NodeName=n0 Gres=gpu:1080:2", 2, NULL}, /* 1080 is the type */
    {"NodeName=n0 Gres=gpumem:4,nic:2", -1, NULL},
    {"NodeName=n0 Gres=(null) NodeAddr=n0", -1, NULL},
    {"NodeName=n0 CPUAlloc=0", -1, NULL},
    /* free text at the end is not looked into */
    {"NodeName=n0 Gres=gpu:1 OS=Linux Reason=was Gres=gpu:9 NodeAddr=x [root@2024]", 1, NULL},
    {"NodeName=n0 Comment=Gres=gpu:9 NodeAddr=x", -1, NULL},
};

static void reads_slurm_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct cluster *c = cluster_new();
        struct berth_error err = {0};
        cluster_read_scontrol_nodes(c, "s", nodes[i].line, strlen(nodes[i].line), &err);
        assert_string_equal(err.text, "");
        assert_int_equal(c->n_nodes, 1);
        assert_int_equal(c->nodes[0].gpus, nodes[i].gpus);
        if (nodes[i].addr)
            assert_string_equal(c->nodes[0].addr, nodes[i].addr);
        else
            assert_null(c->nodes[0].addr);
        cluster_free(c);
    }
}

/* The header: no GPU in Gres is none only where another node has one. Nodes keep their leaf. */
static void reads_several_slurm_nodes(void **state)
{
    static const char text[] =
        "NodeName=n0 Gres=gpu:2\n\nNodeName=n1 Gres=(null)\r\nNodeName=n2 \n";
    struct cluster *c = topology("t", "SwitchName=a Nodes=n[0-1]\n");

    (void)state;
    assert_int_equal(cluster_read_scontrol_nodes(c, "s", text, sizeof text - 1, NULL), 0);
    assert_int_equal(c->nodes[0].gpus, 2);
    assert_int_equal(c->nodes[0].n_leaves, 1);
    assert_int_equal(c->nodes[1].gpus, 0);
    assert_int_equal(c->nodes[2].gpus, -1); /* its line does not say */
    cluster_free(c);
}

static void refuses_wrong_slurm_nodes(void **state)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"NodeName=n0\nNode n9 not found\n", "s:2: expected a line that starts with NodeName="},
        {" NodeName=n0\n", "s:1: expected a line that starts with NodeName="},
        {"NodeName=n[0 \n", "s:1: NodeName=: column 2: this '[' is never closed"},
        {"NodeName=n0 Gres=gpu:4097\n", "s:1: Gres= has more GPUs than a node can have"},
        {"NodeName=n0 Gres=gpu:99999999999999999999\n",
         "s:1: Gres= has more GPUs than a node can have"},
        {"NodeName=n0 NodeAddr=\x01\n", "s:1: NodeAddr= is not an address"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cluster *c = cluster_new();
        struct berth_error err = {0};
        int rc = cluster_read_scontrol_nodes(c, "s", wrong[i].text, strlen(wrong[i].text), &err);
        assert_int_equal(rc, -1);
        assert_string_equal(err.text, wrong[i].message);
        cluster_free(c);
    }
}

/* Nodes=ALL: the nodes that become known later hang there, those with a leaf of their own do not.
 */
static void attaches_to_all(void **state)
{
    struct cluster *c = topology("t", "SwitchName=root Nodes=ALL\nSwitchName=b Nodes=n1\n");
    static const char text[] = "NodeName=n0\nNodeName=n1\n";

    (void)state;
    assert_int_equal(cluster_read_scontrol_nodes(c, "s", text, sizeof text - 1, NULL), 0);
    int n0 = cluster_find_node(c, "n0"), n1 = cluster_find_node(c, "n1");
    assert_int_equal(c->nodes[n0].leaves[0], cluster_find_switch(c, "root"));
    assert_int_equal(c->nodes[n1].n_leaves, 1);
    assert_int_equal(c->nodes[n1].leaves[0], cluster_find_switch(c, "b"));
    cluster_free(c);
}

/* ---- files ---- */

static char directory[] = "/tmp/berth-test-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
    static char paths[4][64];
    static int at;
    char *path = paths[at++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    return path;
}

static struct cluster *read_one(const char *text, struct berth_error *err)
{
    const char *path = write_file("file", text);
    struct cluster *c = cluster_read_files(&path, 1, err);

    unlink(path);
    return c;
}

static void tells_files_apart(void **state)
{
    struct berth_error err = {0};
    struct cluster *c;

    (void)state;
    c = read_one("# topology\nSwitchName=a Nodes=n0\n", &err);
    assert_int_equal(c->n_switches, 1);
    cluster_free(c);
    c = read_one("\n  {\"berth_cluster\": 1, \"nodes\": [{\"names\": \"n[0-2]\"}]}", &err);
    assert_int_equal(c->n_nodes, 3);
    cluster_free(c);
    c = read_one("NodeName=n0 Gres=gpu:2\n", &err);
    assert_int_equal(c->nodes[0].gpus, 2);
    cluster_free(c);
    c = read_one("# only a comment\n", &err);
    assert_int_equal(c->n_switches + c->n_nodes, 0);
    cluster_free(c);
}

static void refuses_other_files(void **state)
{
    static const char *const texts[] = {"<system version=\"1\"></system>",
                                        "{\"a\": 1}",
                                        "[1]",
                                        "\x7f"
                                        "ELF",
                                        "hello world\n",
                                        "key: value\n"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct berth_error err = {0};
        char message[BERTH_ERROR_MAX];
        assert_null(read_one(texts[i], &err));
        snprintf(message, sizeof message,
                 "%s/file: not a file that describes a cluster; read are topology.conf, what "
                 "`scontrol show topology` or `scontrol show node --oneliner` prints, hwloc XML "
                 "(lstopo --of xml) and Berth's cluster model (JSON with berth_cluster)",
                 directory);
        assert_string_equal(err.text, message);
    }
}

static void refuses_no_file(void **state)
{
    struct berth_error err = {0};
    const char *missing = "/nonexistent/topology.conf", *dir = "/tmp";

    (void)state;
    assert_null(cluster_read_files(&missing, 1, &err));
    assert_int_equal(err.kind, BERTH_ESYSTEM);
    assert_null(cluster_read_files(&dir, 1, &err));
    assert_int_equal(err.kind, BERTH_EINPUT);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_name),
        cmocka_unit_test(gives_paths),
        cmocka_unit_test(merges_what_is_new),
        cmocka_unit_test(refuses_contradictions),
        cmocka_unit_test(refuses_other_gpus),
        cmocka_unit_test(reads_slurm_nodes),
        cmocka_unit_test(reads_several_slurm_nodes),
        cmocka_unit_test(refuses_wrong_slurm_nodes),
        cmocka_unit_test(attaches_to_all),
        cmocka_unit_test(tells_files_apart),
        cmocka_unit_test(refuses_other_files),
        cmocka_unit_test(refuses_no_file),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
