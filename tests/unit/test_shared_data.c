/*
 * Real files of ../shared/data/slurm: what topology.conf files and scontrol texts in it must be
 * read as. Right values: its readings.json (an independent reader's, checked by hand), except where
 * a comment argues otherwise.
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
#include <time.h>
#include <unistd.h>

#define DATA "../shared/data/slurm"

/* Roots and leaf sizes in the file's order, joined by blanks. */
static const struct {
    const char *file;
    int switches, leaves, nodes;
    const char *roots, *leaf_sizes;
} trees[] = {
    {"azure-cyclecloud/readme-sharp-leaves.topology.conf", 4, 4, 27, "sw00 sw01 sw02 sw03",
     "6 12 1 8"},
    {"azure-cyclecloud/slurm_topology.txt", 6, 5, 16, "sw05", "3 6 3 2 2"},
    {"cinek810-docker.topology.conf", 7, 4, 8, "main1", "2 2 2 2"},
    {"hyperpod-tree-24x-blank-lines.topology.conf", 4, 2, 2, "nn-6fe9d8a965d34d181", "1 1"},
    {"schedmd-doc-tux-2level.topology.conf", 5, 4, 16, "s4", "4 4 4 4"},
    {"schedmd-doc-tux-8nodes.topology.conf", 7, 4, 8, "s6", "2 2 2 2"},
    {"schedmd-man-tree-dev.topology.conf", 4, 3, 18, "s3", "6 6 6"},
    {"schedmd-test_133_1-case1/topology.conf", 529, 500, 10000, "root", "20 times 500"},
    {"schedmd-test_133_1-case2/topology.conf", 528, 500, 10000, "root", "20 times 500"},
    {"schedmd-test_133_1-case3/topology.conf", 23, 20, 400, "root", "20 times 20"},
    {"schedmd-test_133_1-case5/topology.conf", 22, 20, 400, "grp10 grp11", "20 times 20"},
    {"slurm_conf-bidon.topology.conf", 1, 1, 4, "SwitchBidon", "4"},
    {"soperator-only-unknown.topology.conf", 2, 1, 2, "root", "2"},
    {"soperator-uneven-depth.topology.conf", 7, 4, 4, "root", "1 1 1 1"},
    {"tara.topology.conf", 5, 4, 10, "s4", "4 2 2 2"},
    {"topograph-shortnames-dots.topology.conf", 5, 2, 2, "switch.3.1", "1 1"},
    {"unsw-abacus.topology.conf", 5, 4, 13, "abacusc-net", "4 4 4 1"},
    /* 180 nodes are known from the inner switch, 10 of them hang on the one leaf that is listed */
    {"scontrol/leonardo-excerpt.txt", 2, 1, 180, "isw-L2-CELLG1", "10"},
    {"scontrol/soperator-forest.txt", 2, 2, 2, "treeA treeB", "1 1"},
    {"scontrol/soperator-hash-names.txt", 6, 3, 4, "root", "1 1 2"},
    /* readings.json counts ALL as a node's name; it stands for nodes that the file does not name */
    {"scontrol/soperator-nodes-all.txt", 1, 1, 0, "root", "0"},
};

/* Kinds of topology that this version names and does not use: kind, and the nodes they name. */
static const struct {
    const char *file, *kind;
    int nodes;
} others[] = {
    {"azure-cyclecloud/block_topology.txt", "block", 72},
    {"azure-cyclecloud/readme-gb200-uneven-blocks.topology.conf", "block", 51},
    {"azure-cyclecloud/slurm_illegal_block_topology.txt", "block", 0},
    {"hyperpod-ultraserver.topology.conf", "block", 36},
    {"schedmd-check-topology-8x4.topology.conf", "block", 32},
    {"schedmd-doc-ring.topology.conf", "ring", 16},
    {"schedmd-man-block-30-120.topology.conf", "block", 128},
    {"schedmd-unit-backfill-block.topology.conf", "block", 32},
    {"scontrol/nebius-gb300-block.txt", "block", 36},
    {"topograph-block-size1.topology.conf", "block", 4},
    {"topograph-block-uneven.topology.conf", "block", 7},
    {"topograph-slinky-dra-block.conf.topology.conf", "block", 96},
};

/* What is no topology.conf: a sentence, and no cluster. */
static const struct {
    const char *file, *message;
} refused[] = {
    {"gcp-blue-green-tpu.topology.yaml", ":4: this looks like topology.yaml"},
    {"gcp-empty-tree.topology.yaml", ":4: this looks like topology.yaml"},
    {"schedmd-doc-torus3d-regions.topology.yaml", ":1: this looks like topology.yaml"},
    {"schedmd-man-five-topologies.topology.yaml", ":1: this looks like topology.yaml"},
    {"schedmd-test_150_5-dynamic-leaves-empty.topology.yaml", ":1: this looks like topology.yaml"},
    {"schedmd-test_150_6-mixed.topology.yaml", ":1: this looks like topology.yaml"},
    {"schedmd-test_161_1-torus3d.topology.yaml", ":1: this looks like topology.yaml"},
    {"soperator-docs-block-no-sizes.topology.yaml", ":1: this looks like topology.yaml"},
    {"topograph-five.topology.yaml", ":1: this looks like topology.yaml"},
    {"ec2-describe-instance-topology.sample.json", ": not a file that describes a cluster"},
    {"readings.json", ": not a file that describes a cluster"},
    {"azure-cyclecloud/nodes_clusterUUIDs.txt", ": not a file that describes a cluster"},
    {"azure-cyclecloud/nodes_guids.txt", ": not a file that describes a cluster"},
    {"schedmd-test_133_1-case1/slurm.conf", ": expected a record that starts with SwitchName="},
};

static const char *in_data(const char *file)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/" DATA "/%s", getenv("SRCDIR") ?: ".", file);
    return path;
}

static void needs_data(void)
{
    if (access(in_data(""), R_OK) != 0) {
        print_message(DATA " is not here: not tested on real files\n");
        skip();
    }
}

static struct cluster *read_file(const char *file, struct berth_error *err)
{
    const char *path = in_data(file);

    return cluster_read_files(&path, 1, err);
}

/* Writes "root root|size size", or "root|20 times 500" where all of many leaves are alike. */
static void describe(const struct cluster *c, int *leaves, char *roots, char *sizes)
{
    int first = -1;
    bool alike = true;

    *leaves = 0;
    *roots = *sizes = '\0';
    for (int s = 0; s < c->n_switches; s++) {
        if (c->switches[s].parent < 0)
            sprintf(roots + strlen(roots), "%s%s", *roots ? " " : "", c->switches[s].name);
        if (c->switches[s].level > 0)
            continue;
        first = first < 0 ? c->switches[s].nodes : first;
        alike &= c->switches[s].nodes == first;
        sprintf(sizes + strlen(sizes), "%s%d", *sizes ? " " : "", c->switches[s].nodes);
        ++*leaves;
    }
    if (alike && *leaves >= 20)
        sprintf(sizes, "%d times %d", first, *leaves);
}

static void reads_trees(void **state)
{
    (void)state;
    needs_data();
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        struct berth_error err = {0};
        char roots[4096], sizes[8192];
        int leaves;
        struct cluster *c = read_file(trees[i].file, &err);
        print_message("%s\n", trees[i].file);
        assert_string_equal(err.text, "");
        assert_null(c->refused);
        describe(c, &leaves, roots, sizes);
        assert_int_equal(c->n_switches, trees[i].switches);
        assert_int_equal(leaves, trees[i].leaves);
        assert_int_equal(c->n_nodes, trees[i].nodes);
        assert_string_equal(roots, trees[i].roots);
        assert_string_equal(sizes, trees[i].leaf_sizes);
        cluster_free(c);
    }
}

static void names_other_kinds(void **state)
{
    (void)state;
    needs_data();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct berth_error err = {0};
        struct cluster *c = read_file(others[i].file, &err);
        print_message("%s\n", others[i].file);
        assert_string_equal(err.text, "");
        assert_string_equal(c->refused, others[i].kind);
        assert_int_equal(c->n_switches, 0);
        assert_int_equal(c->n_nodes, others[i].nodes);
        cluster_free(c);
    }
}

static void refuses_the_rest(void **state)
{
    (void)state;
    needs_data();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct berth_error err = {0};
        print_message("%s\n", refused[i].file);
        assert_null(read_file(refused[i].file, &err));
        assert_int_equal(err.kind, BERTH_EINPUT);
        assert_non_null(strstr(err.text, refused[i].message));
    }
}

/* A topology of ten thousand nodes in under 50 ms, of processor time so that load does not count.
 */
static void reads_ten_thousand_nodes_in_time(void **state)
{
    struct timespec start, end;
    double best = 1e9;

    (void)state;
    needs_data();
    if (getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "valgrind"))
        skip();
    for (int i = 0; i < 5; i++) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
        struct cluster *c = read_file("schedmd-test_133_1-case1/topology.conf", NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        double ms = 1e3 * (double)(end.tv_sec - start.tv_sec) +
                    1e-6 * (double)(end.tv_nsec - start.tv_nsec);
        best = ms < best ? ms : best;
        assert_int_equal(c->n_nodes, 10000);
        cluster_free(c);
    }
    print_message("10,000 nodes: %.1f ms\n", best);
    assert_true(best < 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_trees),
        cmocka_unit_test(names_other_kinds),
        cmocka_unit_test(refuses_the_rest),
        cmocka_unit_test(reads_ten_thousand_nodes_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
