/*
 * Slurm's topology.conf and `scontrol show topology`. Each text is written for the test; its right
 * reading follows from topology.conf(5) and Slurm's parser (comments, continuation, case), by hand.
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

static struct cluster *read_text(const char *text, struct berth_error *err)
{
    return cluster_read_topology("t", text, strlen(text), err);
}

/* The tree as text: "switch(parent)level: nodes", a switch after the other, in the order read. */
static char *shown(const struct cluster *c)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (int s = 0; s < c->n_switches; s++) {
        const struct cluster_switch *sw = &c->switches[s];
        fprintf(out, "%s%s(%s)%d:", s ? "; " : "", sw->name,
                sw->parent < 0 ? "" : c->switches[sw->parent].name, sw->level);
        for (int n = 0; n < c->n_nodes; n++)
            for (int l = 0; l < c->nodes[n].n_leaves; l++)
                if (c->nodes[n].leaves[l] == s)
                    fprintf(out, " %s", c->nodes[n].name);
    }
    fclose(out);
    return text;
}

static const struct {
    const char *text, *tree;
} good[] = {
    {"SwitchName=a Nodes=n[0-1]", "a()0: n0 n1"}, /* no newline at the end */
    {"SwitchName=a Nodes=n0\nSwitchName=b Nodes=n1\nSwitchName=c Switches=[a-b],a\n", NULL},
    {"SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2,4]\nSwitchName=r Switches=s[0-1]\n",
     "s0(r)0: n0 n1; s1(r)0: n2 n4; r()1:"},
    /* children before they are defined, unequal depth */
    {"SwitchName=r Switches=m,b\nSwitchName=m Switches=a\nSwitchName=a Nodes=n0\nSwitchName=b "
     "Nodes=n1",
     "r()2:; m(r)1:; a(m)0: n0; b(r)0: n1"},
    {"SwitchName=a Nodes=n0\nSwitchName=b Nodes=n1\n", "a()0: n0; b()0: n1"}, /* two roots */
    {"# head\n\n  # indented\nSwitchName=a Nodes=n0 # tail\n", "a()0: n0"},
    {"SwitchName=a \\\n Nodes=n0,\\\nn1\n", "a()0: n0 n1"},
    {"SwitchName=a # no continuation \\\nNodes=n0\n", NULL},
    {"sWITCHnAME=a NODES=n0\n", "a()0: n0"},
    {"SwitchName=A Nodes=N0\nSwitchName=a Nodes=n0\n", "A()0: N0; a()0: n0"}, /* names keep case */
    {"\tSwitchName=a\tNodes=n0\t\r\n", "a()0: n0"},
    {"\xef\xbb\xbfSwitchName=a Nodes=n0\n", "a()0: n0"},
    {"SwitchName = a Nodes = n0\n", "a()0: n0"},
    {"SwitchName=\"a\" Nodes=\"n0, n1\"\n", "a()0: n0 n1"},
    {"SwitchName=a Nodes=n0 LinkSpeed=100\n", "a()0: n0"},
    {"SwitchName=s[0-1] Nodes=n0\n", "s0()0: n0; s1()0: n0"}, /* a rail each: two attachments */
    {"SwitchName=a Nodes=n0\nSwitchName=b Nodes=n0\n", "a()0: n0; b()0: n0"},
    {"SwitchName=a Nodes=n0,n0\n", "a()0: n0"},
    {"SwitchName=a\n", "a()0:"}, /* a leaf without nodes */
    {"SwitchName=a Nodes=\nSwitchName=b Nodes= Switches=a\n", "a(b)0:; b()1:"},
    {"SwitchName=c Switches=b\nSwitchName=b Switches=a\nSwitchName=a Nodes=n0\n",
     "c()2:; b(c)1:; a(b)0: n0"},                 /* a chain */
    {"SwitchName=a Switches=nowhere\n", "a()0:"}, /* Slurm logs it and goes on */
    {"SwitchName=a Nodes=ALL\n", "a()0:"},        /* which nodes is not known from here */
    /* scontrol: Nodes= on an inner switch is no attachment; keys of a later Slurm are let pass */
    {"SwitchName=a Level=0 LinkSpeed=1 Nodes=n0 New=1\nSwitchName=r Level=1 Nodes=n0 Switches=a\n",
     "a(r)0: n0; r()1:"},
    {"", ""},
    {"# nothing\n\n", ""},
};

static void reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct berth_error err = {0};
        struct cluster *c = read_text(good[i].text, &err);
        if (!good[i].tree) {
            assert_null(c);
            continue;
        }
        assert_string_equal(err.text, "");
        char *tree = shown(c);
        assert_string_equal(tree, good[i].tree);
        free(tree);
        cluster_free(c);
    }
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"SwitchName=a Nodes=n[0-\n", "t:1: Nodes=: column 2: this '[' is never closed"},
    {"SwitchName=a Nodes=n0\nSwitchName=b Nodes=n]\n", "t:2: Nodes=: column 2: ']' without '['"},
    {"\n\nSwitchName=a Nodes=n0 n1\n", "t:3:23: expected Key=Value"},
    {"hello\n", "t:1:1: expected Key=Value"},
    {"{\"berth_cluster\": 1}", "t:1:1: expected Key=Value"},
    {"Nodes=n0 SwitchName=a\n", "t:1:1: expected a record that starts with SwitchName="},
    {"ClusterName=x\n", "t:1:1: expected a record that starts with SwitchName="},
    {"SwitchName=a Node=n0\n",
     "t:1:14: unknown key; a switch has Nodes=, Switches= and LinkSpeed="},
    {"SwitchName=a Nodes=n0 nodes=n1\n", "t:1:23: Nodes= stands twice in one record"},
    {"SwitchName=a Nodes=\"n0\n", "t:1:20: this quote is never closed"},
    {"SwitchName=\n", "t:1: SwitchName= has no name"},
    {"SwitchName=a \\\nFoo=1\n", "t:1: unknown key; a switch has Nodes=, Switches= and LinkSpeed="},
    {"SwitchName=a Nodes=n0\n\nSwitchName=a Nodes=n1\n",
     "t:3: switch a is defined twice, first in line 1"},
    {"SwitchName=a Nodes=n0\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n",
     "t:3: switch a is below c here and below b (line 2); a tree has one parent for each"},
    {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
     "t:1: switch a is below itself: following Switches= upwards from it comes back to it"},
    {"SwitchName=a Switches=a\n",
     "t:1: switch a is below itself: following Switches= upwards from it comes back to it"},
    {"SwitchName=a Nodes=n0 Switches=b\n",
     "t:1: switch a has both Nodes= and Switches=; Slurm takes one of them"},
    {"SwitchName=a Nodes=n0\nBlockName=b Nodes=n1\n",
     "t:2: a block record among tree records; a file has one kind"},
    {"---\n- topology: t\n",
     "t:1: this looks like topology.yaml, which this version does not read; give topology.conf or "
     "what `scontrol show topology` prints"},
    {"SwitchName=a Nodes=n\xff\n", "t:1: Nodes=: column 2: byte 0xff cannot stand in a name"},
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

static void refuses_binary(void **state)
{
    static const char text[] = "SwitchName=a Nodes=n0\n\x7f"
                               "ELF\0\1\2";
    struct berth_error err = {0};

    (void)state;
    assert_null(cluster_read_topology("t", text, sizeof text - 1, &err));
    assert_string_equal(err.text, "t:2:5: a NUL byte; this is not a text file");
}

/* Kinds that this version does not use are named, with their nodes and no switches. */
static void names_other_kinds(void **state)
{
    static const struct {
        const char *text, *kind;
        int nodes;
    } kinds[] = {
        {"BlockName=b Nodes=n[0-3]\nBlockSizes=4\n", "block", 4},
        {"BlockName=b BlockIndex=0 Nodes=n[0-1] BlockSize=2\nAggregatedBlock=b,c BlockIndex=2 "
         "Nodes=n[0-3] BlockSize=4\n",
         "block", 4},
        {"# BlockName=b1\nBlockSizes=20\n", "block", 0},
        {"RingName=r Nodes=n[01-08]\n", "ring", 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct cluster *c = read_text(kinds[i].text, NULL);
        assert_non_null(c);
        assert_string_equal(c->refused, kinds[i].kind);
        assert_int_equal(c->n_switches, 0);
        assert_int_equal(c->n_nodes, kinds[i].nodes);
        cluster_free(c);
    }
}

static void bounds_what_it_makes(void **state)
{
    struct berth_error err = {0};
    char text[4096] = "", line[64];

    (void)state;
    /* 65 leaves over one node: CLUSTER_LEAVES_MAX is 64 */
    assert_null(read_text("SwitchName=s[0-64] Nodes=n0\n", &err));
    assert_string_equal(err.text, "t:1: node n0 is on more than 64 leaves");
    /* 5 times a million names over the same million nodes: NAMES_MAX is 4 Mi */
    assert_null(read_text("SwitchName=s[0-4] Nodes=n[0-999999]\n", &err));
    assert_string_equal(err.text, "t:1: the lists up to here make more than 4194304 names");
    /* 17 levels: BERTH_LEVELS_MAX is 16 */
    for (int i = 0; i < 17; i++) {
        snprintf(line, sizeof line, "SwitchName=s%d %s%d\n", i, i == 16 ? "Nodes=n" : "Switches=s",
                 i + 1);
        strcat(text, line);
    }
    assert_null(read_text(text, &err));
    assert_string_equal(err.text, "t:1: switch s0 tops more than 16 levels of switches");
}

/* A line of a megabyte, and ten thousand nodes on 500 leaves in 1000 records. */
static void takes_large_files(void **state)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    fprintf(out, "SwitchName=a Nodes=n0");
    for (int i = 0; i < 150000; i++)
        fprintf(out, ",n%05d", i % 1000);
    fclose(out);
    struct cluster *c = read_text(text, NULL);
    assert_int_equal(c->n_nodes, 1001); /* n0 and n00000 .. n00999 */
    cluster_free(c);
    free(text);

    out = open_memstream(&text, &size);
    fprintf(out, "SwitchName=root Switches=leaf[0-499]\n");
    for (int i = 0; i < 500; i++)
        fprintf(out, "SwitchName=leaf%d Nodes=n[%d-%d]\n", i, 20 * i, 20 * i + 19);
    fclose(out);
    c = read_text(text, NULL);
    assert_int_equal(c->n_nodes, 10000);
    assert_int_equal(c->switches[500].nodes, 20);
    assert_int_equal(c->switches[0].level, 1);
    cluster_free(c);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_binary),
        cmocka_unit_test(names_other_kinds),
        cmocka_unit_test(bounds_what_it_makes),
        cmocka_unit_test(takes_large_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
