/*
 * Reading and querying rank maps: the fixtures of tests/data/map, and every way in which a map is
 * refused, with its sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "map_fixture.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- ranges ---- */

static const struct {
    const char *text;
    int n, values[8];
} lists[] = {
    {"", 0, {0}},
    {"0", 1, {0}},
    {"0-3,8", 5, {0, 1, 2, 3, 8}}, /* the header's own example */
    {"4,0-1", 3, {4, 0, 1}},
    {"7,7", 2, {7, 7}},
    {"3,2,1", 3, {3, 2, 1}},
};

static void ranges_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        int *values = NULL;
        struct berth_error err;
        assert_int_equal(berth_ranges_parse(lists[i].text, 8, 8, &values, &err), lists[i].n);
        assert_memory_equal(values, lists[i].values, lists[i].n * sizeof(int));
        char *text = berth_ranges_format(values, lists[i].n);
        assert_string_equal(text, lists[i].text);
        free(text);
        free(values);
    }
    char *text = berth_ranges_format((const int[]){-1, 0, 1, -1, -1, 5}, 6);
    assert_string_equal(text, "-,0-1,-,-,5");
    free(text);
}

static const struct {
    const char *text, *message;
} bad_lists[] = {
    {"x", "\"x\" is no list of ranges like \"0-3,8\": a number is expected at column 1"},
    {"-", "\"-\" is no list of ranges like \"0-3,8\": a number is expected at column 1"},
    {"1,", "\"1,\" is no list of ranges like \"0-3,8\": a number is expected at column 3"},
    {",1", "\",1\" is no list of ranges like \"0-3,8\": a number is expected at column 1"},
    {"1 2", "\"1 2\" is no list of ranges like \"0-3,8\": a comma is expected at column 2"},
    {"1-", "\"1-\" is no list of ranges like \"0-3,8\": a number is expected at column 3"},
    {"3-1", "\"3-1\" is no list of ranges like \"0-3,8\": a range that descends at column 3"},
    {"-1", "\"-1\" is no list of ranges like \"0-3,8\": a number is expected at column 1"},
    {"0,9", "the number at column 3 is above the highest possible, 8"},
    {"99999999999999999999999", "the number at column 1 is above the highest possible, 8"},
    {"0-4", "more than 4 numbers"},
    {"0-2,0-1", "more than 4 numbers"},
};

static void ranges_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_lists); i++) {
        int *values = NULL;
        struct berth_error err = {0};
        assert_int_equal(berth_ranges_parse(bad_lists[i].text, 8, 4, &values, &err), -1);
        assert_null(values);
        assert_int_equal(err.kind, BERTH_EINPUT);
        assert_string_equal(err.text, bad_lists[i].message);
    }
}

/* ---- the spec's vectors and their answers ---- */

static void spec_vectors(void **state)
{
    (void)state;
    struct berth_map *one = open_fixture("vector1.json"), *two = open_fixture("vector2.json");
    assert_string_equal(berth_map_hash(one),
                        "sha256:"
                        "f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87");
    assert_string_equal(berth_map_hash(two),
                        "sha256:"
                        "689f6db4f266ce87ca47fac2297f22dd1eae927e5823682005ef3d47d40a37fb");
    berth_map_close(one);
    berth_map_close(two);
}

/* spec.md 1, second vector: tp2,dp2,pp2 with ep2 over dp on n2:0 n2:1 n0:0 n0:1 n1:1 n1:0 n3:- n3:-
 */
static void queries(void **state)
{
    (void)state;
    static const struct {
        int node, local, slot;
    } want[8] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 0},  {1, 1, 1},
                 {2, 0, 1}, {2, 1, 0}, {3, 0, -1}, {3, 1, -1}};
    struct berth_map *map = open_fixture("vector2.json");
    assert_int_equal(berth_map_world(map), 8);
    assert_string_equal(berth_map_order(map), "tp-dp-pp");
    assert_int_equal(berth_map_axes(map), 4);
    assert_int_equal(berth_map_derived_axes(map), 1);
    assert_int_equal(berth_map_axis(map, "ep"), 3);
    assert_string_equal(berth_map_axis_name(map, 3), "ep");
    assert_int_equal(berth_map_axis_size(map, 2), 2);
    assert_null(berth_map_traffic(map));
    assert_int_equal(berth_map_nodes(map), 4);
    assert_int_equal(berth_map_node(map, "n1"), 2);
    assert_string_equal(berth_map_node_name(map, 0), "n2");
    for (int rank = 0; rank < 8; rank++) {
        assert_int_equal(berth_map_node_of(map, rank), want[rank].node);
        assert_int_equal(berth_map_local_rank(map, rank), want[rank].local);
        assert_int_equal(berth_map_slot(map, rank), want[rank].slot);
        assert_null(berth_map_gpu(map, rank));
    }
    int ranks[2]; /* rank 5 = tp 1, dp 0, pp 1; its dp group differs in dp only: ranks 5 and 7 */
    assert_int_equal(berth_map_coord(map, 2, 5), 1);
    int group = berth_map_group(map, 1, 5);
    assert_int_equal(group, 3); /* dp groups by lowest rank: 0, 1, 4, 5 */
    assert_int_equal(berth_map_group_ranks(map, 1, group, ranks, 2), 2);
    assert_int_equal(ranks[0], 5);
    assert_int_equal(ranks[1], 7);
    berth_map_close(map);
}

/* berth.h: queries about what the map does not have return -1 or NULL. */
static void queries_out_of_range(void **state)
{
    (void)state;
    struct berth_map *map = open_fixture("vector2.json");
    int ranks[8];
    static const int bad_axis[] = {-1, 4}, bad_rank[] = {-1, 8}, bad_node[] = {-1, 4};
    for (int i = 0; i < 2; i++) {
        assert_null(berth_map_axis_name(map, bad_axis[i]));
        assert_int_equal(berth_map_axis_size(map, bad_axis[i]), -1);
        assert_int_equal(berth_map_coord(map, bad_axis[i], 0), -1);
        assert_int_equal(berth_map_coord(map, 0, bad_rank[i]), -1);
        assert_int_equal(berth_map_group(map, bad_axis[i], 0), -1);
        assert_int_equal(berth_map_group(map, 0, bad_rank[i]), -1);
        assert_int_equal(berth_map_group_ranks(map, bad_axis[i], 0, ranks, 8), -1);
        assert_int_equal(berth_map_node_of(map, bad_rank[i]), -1);
        assert_int_equal(berth_map_local_rank(map, bad_rank[i]), -1);
        assert_int_equal(berth_map_slot(map, bad_rank[i]), -1);
        assert_null(berth_map_gpu(map, bad_rank[i]));
        assert_null(berth_map_node_name(map, bad_node[i]));
        assert_int_equal(berth_map_node_ranks(map, bad_node[i], NULL), -1);
        assert_int_equal(berth_map_paths(map, bad_node[i]), -1);
        assert_null(berth_map_path_switch(map, bad_node[i], 0, 0));
        assert_null(berth_map_path_nic(map, bad_node[i], 0));
    }
    assert_int_equal(berth_map_group_ranks(map, 0, -1, ranks, 8), -1);
    assert_int_equal(berth_map_group_ranks(map, 0, 4, ranks, 8), -1);
    assert_int_equal(berth_map_group_ranks(map, 0, 0, ranks, 1), -1);
    assert_int_equal(berth_map_axis(map, "cp"), -1);
    assert_int_equal(berth_map_node(map, "n"), -1);
    assert_null(berth_map_path_switch(map, 0, 0, 0));
    berth_map_close(map);
}

/* everything.json has every key there is, out of order, with escapes and keys from the future. */
static void everything(void **state)
{
    (void)state;
    struct berth_map *map = open_fixture("everything.json");
    const int *ranks;
    /* sha256sum of spec.md 1's text for this map, written out by hand */
    assert_string_equal(berth_map_hash(map),
                        "sha256:"
                        "59d2854d3247e56880ba3ae5771f8f6745448b6878d7661643b235f1159ce6ad");
    assert_string_equal(berth_map_traffic(map), "dp:allreduce:8000000:1:1");
    assert_int_equal(berth_map_node(map, "gpu-b.1"), 0);
    assert_int_equal(berth_map_node_ranks(map, 0, &ranks), 3);
    assert_memory_equal(ranks, ((int[]){4, 0, 1}), 3 * sizeof(int));
    assert_int_equal(berth_map_slot(map, 1), -1);
    assert_int_equal(berth_map_local_rank(map, 1), 2);
    assert_string_equal(berth_map_gpu(map, 4), "0001:04:00.1"); /* rank 4 has slot 1 of shape 0 */
    assert_string_equal(berth_map_gpu(map, 0), "0000:18:00.0");
    assert_null(berth_map_gpu(map, 5)); /* shape 1 knows only how many */
    assert_int_equal(berth_map_paths(map, 0), 2);
    assert_string_equal(berth_map_path_switch(map, 0, 0, 1), "spine");
    assert_string_equal(berth_map_path_switch(map, 0, 1, 0), "rail1");
    assert_null(berth_map_path_switch(map, 0, 1, 1));
    assert_string_equal(berth_map_path_nic(map, 0, 1), "mlx5_1");
    assert_string_equal(berth_map_path_switch(map, 1, 1, 0), "MF0;sp\"i\\ne:MQM/U1");
    assert_null(berth_map_path_nic(map, 1, 1));
    assert_int_equal(berth_map_node_ranks(map, 3, NULL), 0);
    assert_int_equal(map->n_paths, 3); /* rail0+spine through mlx5_0 is one path, on two nodes */
    assert_int_equal(map->n_shapes, 3);
    assert_int_equal(map->shapes[0].gpus[0].index, 3);
    assert_int_equal(map->shapes[0].gpus[1].numa, -1);
    berth_map_close(map);
}

/* ---- refusals ---- */

static const char base[] =
    "{\"berth_map\": 1, \"world\": 4,\n"
    " \"mesh\": {\"order\": \"tp-dp\", \"axes\": [{\"name\": \"tp\", \"size\": 2}, {\"name\": "
    "\"dp\", "
    "\"size\": 2}]},\n"
    " \"shapes\": [{\"gpus\": [{\"pci\": \"0000:18:00.0\"}, {\"pci\": \"0000:2a:00.0\"}],\n"
    "             \"nics\": [{\"name\": \"mlx5_0\"}], \"nvlink_cliques\": [\"0-1\"]}],\n"
    " \"nodes\": [{\"name\": \"a\", \"shape\": 0, \"ranks\": \"0-1\", \"slots\": \"0-1\", "
    "\"paths\": "
    "[{\"switches\": [\"leaf0\"]}]},\n"
    "           {\"name\": \"b\", \"ranks\": \"2-3\", \"slots\": \"0,1\"}],\n"
    " \"cost\": {}, \"source\": {\"traffic\": \"dp:allreduce:8MB\"},\n"
    " \"hash\": \"sha256:f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87\"}\n";

/* base with the first `from` after `after` replaced by `to`; caller frees. */
static char *edit(const char *after, const char *from, const char *to)
{
    const char *start = strstr(base, after);
    assert_non_null(start);
    const char *at = strstr(start, from);
    assert_non_null(at);
    char *text = malloc(strlen(base) + strlen(to) + 1);
    sprintf(text, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
    return text;
}

#define MUST " is not known to this version of Berth, and its name says that a reader must know it"
#define NAMES "cannot be a node's name: use letters, digits, '.', '_' and '-', at most 255"

static const struct {
    const char *after, *from, *to, *message;
} refusals[] = {
    /* what it is */
    {"", "berth_map\": 1", "berth_map\": 2", "berth_map: version 2; this Berth reads version 1"},
    {"", "berth_map\": 1", "berth_map\": \"1\"", "berth_map: a whole number is expected"},
    {"", "\"berth_map\": 1, ", "", "key \"berth_map\" is missing"},
    {"", "\"world\": 4,", "", "key \"world\" is missing"},
    {"", "world\": 4", "world\": 4.0", "world: a whole number is expected"},
    {"", "world\": 4", "world\": 0", "world: the number must be between 1 and 16777216"},
    {"", "world\": 4", "world\": -99999999999999999999",
     "world: the number must be between 1 and 16777216"},
    {"", "world\": 4", "world\": 5", "mesh: the axes' sizes make 4 ranks, but world is 5"},
    {"", "world\": 4", "world\": 4, \"world\": 4", "key \"world\" is given twice"},
    {"mesh", "\"order\"", "\"order\": \"tp-dp\", \"order\"", "mesh: key \"order\" is given twice"},
    {"", "world\": 4", "world\": 4, \"must_have\": 1", "key \"must_have\"" MUST},
    /* mesh */
    {"", "tp-dp", "dp-tp", "mesh.order: \"dp-tp\", but the names of mesh.axes make \"tp-dp\""},
    {"mesh", "\"order\": \"tp-dp\", ", "", "mesh: key \"order\" is missing"},
    {"axes", "2}", "2, \"must_x\": 0}", "mesh.axes[0]: key \"must_x\"" MUST},
    {"\"dp\", ", "2", "0", "mesh.axes[1].size: the number must be between 1 and 16777216"},
    {"axes", "\"tp\"", "\"t p\"",
     "mesh.axes[0]: \"t p\" cannot be an axis name: use a letter, then letters, digits or '_', at "
     "most "
     "31 characters"},
    {"axes", "\"dp\"", "\"tp\"",
     "mesh.axes[1]: axis tp is there twice (names that differ in case only are the same variable)"},
    {"axes", "2}]", "2}], \"derived\": [{\"name\": \"ep\", \"size\": 3, \"over\": [\"dp\"]}]",
     "mesh.derived[0]: derived axis ep has size 3, which does not divide the 2 of what it lies "
     "over"},
    {"axes", "2}]", "2}], \"derived\": [{\"name\": \"ep\", \"size\": 2, \"over\": [\"pp\"]}]",
     "mesh.derived[0].over[0]: \"pp\" is not one of mesh.axes"},
    {"axes", "2}]",
     "2}], \"derived\": [{\"name\": \"ep\", \"size\": 2, \"over\": [\"dp\",\"tp\"]}]",
     "mesh.derived[0].over[1]: tp does not follow dp in the order; a derived axis lies over "
     "adjacent "
     "axes, fastest first"},
    {"axes", "2}]", "2}], \"derived\": [{\"name\": \"ep\", \"size\": 2, \"over\": []}]",
     "mesh.derived[0]: derived axis ep must lie over one or more axes of the mesh"},
    {"axes", "2}]", "2}], \"derived\": [{\"name\": \"ep\", \"size\": 2}]",
     "mesh.derived[0]: key \"over\" is missing"},
    /* shapes */
    {"shapes", "18:00.0", "2a:00.0",
     "shapes[0].gpus[1].pci: 0000:2a:00.0 does not come after the GPU before it; a shape lists its "
     "GPUs "
     "in PCI bus order"},
    {"shapes", "0000:18:00.0", "18:00",
     "shapes[0].gpus[0].pci: \"18:00\" is no PCI bus id like "
     "0000:18:00.0"},
    {"shapes", "\"gpus\": [{", "\"gpus\": [{\"must_y\": 1, ",
     "shapes[0].gpus[0]: key \"must_y\"" MUST},
    {"shapes", "\"gpus\": [{", "\"gpus\": [{\"numa\": \"0\", ",
     "shapes[0].gpus[0].numa: a number from 0 to 65535, or -1 for unknown, is expected"},
    {"shapes", "\"gpus\": [{", "\"gpus\": [{\"cpus\": \"0-\", ",
     "shapes[0].gpus[0].cpus: \"0-\" is no list of ranges like \"0-3,8\": a number is expected at "
     "column 3"},
    {"nics", "\"name\": \"mlx5_0\"", "", "shapes[0].nics[0]: key \"name\" is missing"},
    {"cliques", "0-1", "0-2",
     "shapes[0].nvlink_cliques[0]: the number at column 3 is above the highest possible, 1"},
    {"", "\"shapes\": [", "\"shapes\": [7, ", "shapes[0]: an object is expected"},
    /* nodes */
    {"nodes", "\"a\"", "\"a b\"", "nodes[0].name: \"a b\" " NAMES},
    {"nodes", "\"a\"", "\"-a\"", "nodes[0].name: \"-a\" " NAMES},
    {"nodes", "\"a\"", "\"a\\u000a\"", "nodes[0].name: \"a?\" " NAMES},
    {"nodes", "\"name\": \"a\", ", "", "nodes[0]: key \"name\" is missing"},
    {"nodes", "\"b\"", "\"a\"", "nodes[1].name: a is there already, as nodes[0]"},
    {"nodes", "\"shape\": 0", "\"shape\": 1",
     "nodes[0].shape: 1, but the map has 1 shapes, counted from 0"},
    {"nodes", "\"shape\": 0", "\"must_z\": 0", "nodes[0]: key \"must_z\"" MUST},
    {"nodes", "\"2-3\"", "\"2-4\"", "nodes[1].slots: 2 entries for the node's 3 ranks"},
    {"nodes", "\"2-3\"", "\"2,4\"", "nodes[1].ranks: rank 4 is not one of the world's 0 to 3"},
    {"nodes", "\"2-3\"", "\"1-2\"", "nodes[1].ranks: rank 1 is there twice, first on nodes[0] (a)"},
    {"nodes", "\"2-3\"", "\"2,2\"", "nodes[1].ranks: rank 2 is there twice, first on nodes[1] (b)"},
    {"nodes", "\"2-3\", \"slots\": \"0,1\"", "\"3\"",
     "nodes: rank 2 is on no node; the nodes have 3 of 4 ranks"},
    {"nodes", "\"2-3\", \"slots\": \"0,1\"", "\"0-3\"",
     "nodes[1].ranks: rank 0 is there twice, first on nodes[0] (a)"},
    {"nodes", "\"2-3\"", "\"2-x\"",
     "nodes[1].ranks: \"2-x\" is no list of ranges like \"0-3,8\": a number is expected at column "
     "3"},
    {"nodes", "\"2-3\"", "\"-,-\"",
     "nodes[1].ranks: \"-,-\" is no list of ranges like \"0-3,8\": a number is expected at column "
     "1"},
    {"nodes", "\"2-3\"", "\"0-16777215\"", "nodes[1].ranks: more than 4096 numbers"},
    {"nodes", "\"2-3\"", "[2, 3]", "nodes[1].ranks: a string is expected"},
    {"nodes", "\"0-1\", \"paths", "\"0,2\", \"paths",
     "nodes[0].slots: slot 2 of rank 1: its shape has 2 GPUs, counted from 0"},
    {"nodes", "\"0,1\"", "\"0,4096\"",
     "nodes[1].slots: the number at column 3 is above the highest possible, 4095"},
    {"nodes", "[{\"switches\"", "[{\"must_w\": [], \"switches\"",
     "nodes[0].paths[0]: key \"must_w\"" MUST},
    {"nodes", "\"switches\"", "\"via\"", "nodes[0].paths[0]: key \"switches\" is missing"},
    {"nodes", "\"leaf0\"", "\"\"",
     "nodes[0].paths[0].switches[0]: a name of 1 to 255 bytes is "
     "expected"},
    {"nodes", "\"leaf0\"", "\"l\\u00e9af\"",
     "nodes[0].paths[0]: a path is at most 16 switches, and their names and the NIC's 1 to 255 "
     "printable ASCII characters"},
    {"nodes", "\"leaf0\"", "7", "nodes[0].paths[0].switches[0]: a string is expected"},
    {"", "\"nodes\": [", "\"nodes\": {}, \"n\": [", "nodes: an array is expected"},
    /* the rest */
    {"", "\"cost\": {}", "\"cost\": []", "cost: an object is expected"},
    {"", "\"cost\": {}", "\"cost\": {\"must_pay\": 1}", "cost: key \"must_pay\"" MUST},
    {"source", "\"dp:allreduce:8MB\"", "8", "source.traffic: a string is expected"},
    {"hash", "f7c9", "f7c8",
     "hash: it says sha256:f7c846e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87, but "
     "the "
     "map's own is sha256:f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87: the "
     "file "
     "was changed after it was made"},
    {"hash", "sha256:", "md5:", "hash: \"sha256:\" and 64 hexadecimal digits are expected"},
    {"nodes", "\"b\"", "\"c\"",
     "hash: it says sha256:f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87, but "
     "the "
     "map's own is sha256:24bb510ad97995cd96b7897a3091814d16e7d24c517897e64dd76e3d22240314: the "
     "file "
     "was changed after it was made"},
    /* not JSON: line and column, counted in characters */
    {"", "{\"berth_map\"", "{berth_map\"", "line 1, column 2: a string is expected"},
    {"", "\"world\": 4", "\"world\" 4", "line 1, column 26: ':' is expected after a key"},
    {"", "\"order\"", "\"\xc3\xa9\" \"order\"", "line 2, column 15: ':' is expected after a key"},
    {"nodes", "\"ranks\": \"2-3\", ", "\"ranks\": \"2-3\" ",
     "line 6, column 41: ',' or '}' is expected"},
    {"nodes", "}],\n \"cost", "},],\n \"cost", "line 6, column 58: a value is expected"},
    {"cost", "{}", "tru", "line 7, column 10: a value is expected"},
    {"cost", "{}", "01", "line 7, column 11: a number with a leading zero"},
    {"cost", "{}", "-", "line 7, column 11: a digit is expected"},
    {"cost", "{}", "1.e5", "line 7, column 12: a digit is expected"},
    {"cost", "{}", "\"\\x\"", "line 7, column 12: no such escape in a string"},
    {"cost", "{}", "\"\\ud83d\"", "line 7, column 12: half of a surrogate pair in a string"},
    {"cost", "{}", "\"\\udc00\"", "line 7, column 12: half of a surrogate pair in a string"},
    {"cost", "{}", "\"\\u0000\"", "line 7, column 12: a NUL in a string"},
    {"cost", "{}", "\"\\u12g4\"", "line 7, column 12: \\u wants four hexadecimal digits"},
    {"cost", "{}", "\"\t\"", "line 7, column 11: a control character in a string"},
    {"cost", "{}", "\"\xc0\xaf\"", "line 7, column 11: bytes that are not UTF-8"},
    {"cost", "{}", "\"\xed\xa0\x80\"", "line 7, column 11: bytes that are not UTF-8"},
    {"cost", "{}", "NaN", "line 7, column 10: a value is expected"},
    {"hash", "}\n", "}}\n", "line 8, column 84: something follows the end of the value"},
    {"hash", "}\n", "", "line 8, column 83: ',' or '}' is expected"},
    {"hash", "\"}\n", "", "line 8, column 82: the text ends inside a string"},
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        char *text = edit(refusals[i].after, refusals[i].from, refusals[i].to), want[600];
        struct berth_error err = {0};
        snprintf(want, sizeof(want), "m.json: %s", refusals[i].message);
        assert_null(berth_map_parse("m.json", text, strlen(text), &err));
        assert_string_equal(err.text, want);
        assert_int_equal(err.kind, BERTH_EINPUT);
        free(text);
    }
}

/* The base itself is sound, and so is every shorter form that map.h allows. */
static void accepted(void **state)
{
    (void)state;
    static const char *const edits[][3] = {
        {"", "berth_map\": 1", "berth_map\": 1"},
        {"", " \"cost\": {}, ", ""},
        {"",
         ",\n \"hash\": "
         "\"sha256:f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87\"",
         ""},
        {"nodes", "\"shape\": 0, ", ""},
        {"nodes", ", \"paths\": [{\"switches\": [\"leaf0\"]}]", ", \"paths\": []"},
        {"", "world\": 4", "world\": 4, \"x\": 1, \"x\": 2"}, /* keys nobody reads */
        {"", "world\": 4", "world\"\r\n\t : 4"},
        {"source", "\"traffic\": \"dp:allreduce:8MB\"", "\"by\": \"hand\""},
        {"source", "}", ", \"deep\": [[[[{\"a\": {\"must_not_matter\": 1}}]]]]}"},
    };
    for (size_t i = 0; i < COUNT(edits); i++) {
        char *text = edit(edits[i][0], edits[i][1], edits[i][2]);
        struct berth_error err = {0};
        struct berth_map *map = berth_map_parse("m.json", text, strlen(text), &err);
        if (!map)
            fail_msg("%zu: %s", i, err.text);
        berth_map_close(map);
        free(text);
    }
}

/* Every text cut short is refused as JSON, at its end. */
static void truncated(void **state)
{
    (void)state;
    for (size_t size = 0; size < strlen(base) - 1; size++) {
        struct berth_error err = {0};
        char *bytes = malloc(size + 1); /* exact, so that reading past the end is seen */
        memcpy(bytes, base, size);
        bytes = realloc(bytes, size ? size : 1);
        assert_null(berth_map_parse("m.json", bytes, size, &err));
        assert_non_null(strstr(err.text, "m.json: line "));
        free(bytes);
    }
}

static void nested_too_deeply(void **state)
{
    (void)state;
    struct berth_error err = {0};
    char *text = malloc(2000001);
    memset(text, '[', 2000000);
    assert_null(berth_map_parse("m.json", text, 2000000, &err));
    assert_string_equal(err.text,
                        "m.json: line 1, column 129: arrays and objects are nested too deeply");
    free(text);
}

static void files_that_cannot_be_opened(void **state)
{
    (void)state;
    struct berth_error err = {0};
    assert_null(berth_map_open("/nowhere/map.json", &err));
    assert_string_equal(err.text, "/nowhere/map.json: cannot open it: No such file or directory");
    assert_int_equal(err.kind, BERTH_ESYSTEM);
    assert_null(berth_map_open("/", &err));
    assert_string_equal(err.text, "/: is a directory, a file is expected");
    assert_int_equal(err.kind, BERTH_EINPUT);
    unsetenv("BERTH_MAP");
    assert_null(berth_map_open(NULL, &err));
    assert_string_equal(err.text,
                        "no map: BERTH_MAP is not set; start the job with srun --berth=..., "
                        "or give the map's file");
    setenv("BERTH_MAP", "/nowhere/else", 1);
    assert_null(berth_map_open(NULL, NULL));
    assert_null(berth_map_open("/dev/null", &err));
    assert_string_equal(err.text,
                        "/dev/null: line 1, column 1: the text ends where a value is expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_round_trip),
        cmocka_unit_test(ranges_refused),
        cmocka_unit_test(spec_vectors),
        cmocka_unit_test(queries),
        cmocka_unit_test(queries_out_of_range),
        cmocka_unit_test(everything),
        cmocka_unit_test(refused),
        cmocka_unit_test(accepted),
        cmocka_unit_test(truncated),
        cmocka_unit_test(nested_too_deeply),
        cmocka_unit_test(files_that_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
