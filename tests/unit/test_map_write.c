/*
 * Making a map with the calls of map.h, and writing it: every format byte by byte, the same map the
 * same bytes, files that are whole or absent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/error.h"
#include "../../lib/file.h"
#include "map_fixture.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static char *text_of(const struct berth_map *map, enum berth_map_format format)
{
    char *text = NULL;
    size_t size;
    struct berth_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(berth_map_write(map, format, out, &err), 0);
    fclose(out);
    return text;
}

/* ---- formats ---- */

/* The map of spec.md 1's second vector; each row follows from n2:0 n2:1 n0:0 n0:1 n1:1 n1:0 n3:-
 * n3:-. */
static const struct {
    const char *name, *text;
} formats[] = {
    {"json",
     "{\"berth_map\": 1, \"world\": 8,\n"
     " \"mesh\": {\"order\": \"tp-dp-pp\",\n"
     "          \"axes\": [{\"name\": \"tp\", \"size\": 2}, {\"name\": \"dp\", \"size\": 2}, "
     "{\"name\": \"pp\", \"size\": 2}],\n"
     "          \"derived\": [{\"name\": \"ep\", \"size\": 2, \"over\": [\"dp\"]}]},\n"
     " \"nodes\": [\n"
     "  {\"name\": \"n2\", \"ranks\": \"0-1\", \"slots\": \"0-1\"},\n"
     "  {\"name\": \"n0\", \"ranks\": \"2-3\", \"slots\": \"0-1\"},\n"
     "  {\"name\": \"n1\", \"ranks\": \"4-5\", \"slots\": \"1,0\"},\n"
     "  {\"name\": \"n3\", \"ranks\": \"6-7\", \"slots\": \"-,-\"}],\n"
     " \"hash\": "
     "\"sha256:689f6db4f266ce87ca47fac2297f22dd1eae927e5823682005ef3d47d40a37fb\"}\n"},
    {"tsv", "rank\tnode\tlocal_rank\tslot\tgpu\ttp\tdp\tpp\tep\n"
            "0\tn2\t0\t0\t-\t0\t0\t0\t0\n"
            "1\tn2\t1\t1\t-\t1\t0\t0\t0\n"
            "2\tn0\t0\t0\t-\t0\t1\t0\t1\n"
            "3\tn0\t1\t1\t-\t1\t1\t0\t1\n"
            "4\tn1\t0\t1\t-\t0\t0\t1\t0\n"
            "5\tn1\t1\t0\t-\t1\t0\t1\t0\n"
            "6\tn3\t0\t-\t-\t0\t1\t1\t1\n"
            "7\tn3\t1\t-\t-\t1\t1\t1\t1\n"},
    {"hostfile", "n2\nn2\nn0\nn0\nn1\nn1\nn3\nn3\n"},
    /* orte_rankfile(5): "rank N=HOST slot=CPU" */
    {"rankfile", "rank 0=n2 slot=0\nrank 1=n2 slot=1\nrank 2=n0 slot=0\nrank 3=n0 slot=1\n"
                 "rank 4=n1 slot=0\nrank 5=n1 slot=1\nrank 6=n3 slot=0\nrank 7=n3 slot=1\n"},
    /* spec.md 5, the variables that are the same in every task */
    {"env", "export BERTH_MAP_HASH='sha256:"
            "689f6db4f266ce87ca47fac2297f22dd1eae927e5823682005ef3d47d40a37fb'\n"
            "export WORLD_SIZE='8'\nexport MASTER_ADDR='n2'\nexport BERTH_TP_SIZE='2'\n"
            "export BERTH_DP_SIZE='2'\nexport BERTH_PP_SIZE='2'\nexport BERTH_EP_SIZE='2'\n"},
};

static void every_format(void **state)
{
    (void)state;
    struct berth_map *map = open_fixture("vector2.json");
    for (size_t i = 0; i < COUNT(formats); i++) {
        int format = berth_map_format(formats[i].name);
        assert_int_equal(format, i);
        char *text = text_of(map, format);
        assert_string_equal(text, formats[i].text);
        free(text);
    }
    assert_int_equal(berth_map_format("yaml"), -1);
    berth_map_close(map);
}

/* read(write(map)) is the map: its bytes again, with every key in it. */
static void json_round_trip(void **state)
{
    (void)state;
    static const char *const names[] = {"vector1.json", "vector2.json", "everything.json"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct berth_error err = {0};
        struct berth_map *map = open_fixture(names[i]);
        char *text = text_of(map, BERTH_MAP_JSON);
        struct berth_map *again = berth_map_parse("again", text, strlen(text), &err);
        if (!again)
            fail_msg("%s", err.text);
        char *twice = text_of(again, BERTH_MAP_JSON);
        assert_string_equal(twice, text);
        assert_true(json_equal(again->cost, map->cost) || !map->cost);
        assert_true(json_equal(again->source, map->source) || !map->source);
        assert_int_equal(again->n_shapes, map->n_shapes);
        for (int k = 0; k < map->n_shapes; k++)
            assert_int_equal(berth_shape_compare(&again->shapes[k], &map->shapes[k]), 0);
        assert_memory_equal(again->node_ranks, map->node_ranks, map->mesh.world * sizeof(int));
        assert_memory_equal(again->node_slots, map->node_slots, map->mesh.world * sizeof(int));
        free(text);
        free(twice);
        berth_map_close(map);
        berth_map_close(again);
    }
}

/* ---- made by calls ---- */

static struct berth_map *new_map(int size)
{
    struct berth_error err;
    struct berth_mesh mesh = {.n_axes = 1, .axes = {{"dp", size}}};
    assert_int_equal(berth_mesh_finish(&mesh, &err), 0);
    return berth_map_new(&mesh);
}

static int add(struct berth_map *map, const char *name, int shape, int first, int n,
               struct berth_error *err)
{
    int ranks[8], slots[8];
    for (int i = 0; i < n; i++) {
        ranks[i] = first + i;
        slots[i] = i;
    }
    return berth_map_add_node(map, name, shape, ranks, slots, n, NULL, 0, err);
}

/* Equal shapes and paths are one; the order in which cost's keys were set does not show. */
static char *made(bool other_order)
{
    struct berth_error err = {0};
    struct berth_map *map = new_map(4);
    struct berth_gpu gpus[2] = {{"0000:18:00.0", 0, 0, "0-3", "ib0"}, {"0000:2a:00.0", 1, 1}};
    struct berth_nic nics[1] = {{"ib0", NULL, -1}};
    char *cliques[] = {"0-1"};
    struct berth_shape one = {2, 1, 1, gpus, nics, cliques}, two = {2, 0, 0, gpus, NULL, NULL};
    assert_int_equal(berth_map_add_shape(map, &one), 0);
    assert_int_equal(berth_map_add_shape(map, &two), 1);
    assert_int_equal(berth_map_add_shape(map, &one), 0);
    const char *switches[] = {"leaf", "spine"}, *others[] = {"leaf", "spine2"};
    assert_int_equal(berth_map_add_path(map, NULL, switches, 2), 0);
    assert_int_equal(berth_map_add_path(map, "ib0", switches, 2), 1);
    assert_int_equal(berth_map_add_path(map, NULL, others, 2), 2);
    assert_int_equal(berth_map_add_path(map, NULL, switches, 1), 3);
    assert_int_equal(berth_map_add_path(map, "ib0", switches, 2), 1);
    int ranks[] = {3, 1}, slots[] = {1, -1}, paths[] = {1, 0};
    assert_int_equal(berth_map_add_node(map, "b", 1, ranks, slots, 2, paths, 2, &err), 0);
    ranks[0] = 0, ranks[1] = 2;
    assert_int_equal(berth_map_add_node(map, "a", 0, ranks, slots, 2, paths + 1, 1, &err), 0);
    map->cost = other_order ? json_pack("{s:f, s:i}", "b", 0.5, "a", 1)
                            : json_pack("{s:i, s:f}", "a", 1, "b", 0.5);
    if (berth_map_finish(map, &err))
        fail_msg("%s", err.text);
    char *text = text_of(map, BERTH_MAP_JSON);
    berth_map_close(map);
    return text;
}

static void same_map_same_bytes(void **state)
{
    (void)state;
    char *one = made(false), *two = made(true);
    assert_string_equal(one, two);
    assert_non_null(
        strstr(one, "{\"name\": \"b\", \"shape\": 1, \"ranks\": \"3,1\", \"slots\": \"1,-\", "
                    "\"paths\": [{\"nic\": \"ib0\", \"switches\": [\"leaf\", \"spine\"]}, "
                    "{\"switches\": [\"leaf\", \"spine\"]}]},\n"));
    struct berth_error err = {0};
    struct berth_map *map = berth_map_parse("made", one, strlen(one), &err);
    if (!map)
        fail_msg("%s", err.text);
    berth_map_close(map);
    free(one);
    free(two);
}

/* What berth_map_finish() says without a text: the same places. */
static void finish_refuses(void **state)
{
    (void)state;
    struct berth_error err = {0};
    struct berth_map *map = new_map(4);
    assert_int_equal(add(map, "a", -1, 0, 4, &err), 0);
    assert_int_equal(add(map, "b", -1, 2, 2, &err), 0);
    assert_int_equal(add(map, "c", -1, 2, 2, &err), -1);
    assert_string_equal(err.text,
                        "nodes[2].ranks: the nodes before it have more ranks already than "
                        "the world's 4");
    assert_int_equal(berth_map_finish(map, &err), -1);
    assert_string_equal(err.text, "nodes[1].ranks: rank 2 is there twice, first on nodes[0] (a)");
    berth_map_close(map);

    map = new_map(16777216); /* no more memory than its two ranks need */
    assert_int_equal(add(map, "a", -1, 0, 1, &err), 0);
    assert_int_equal(add(map, "b", -1, 2, 1, &err), 0);
    assert_int_equal(berth_map_finish(map, &err), -1);
    assert_string_equal(err.text,
                        "nodes: rank 1 is on no node; the nodes have 2 of 16777216 ranks");
    assert_null(map->rank_at);
    berth_map_close(map);

    map = new_map(2);
    assert_int_equal(add(map, "a", 0, 0, 2, &err), 0);
    assert_int_equal(berth_map_finish(map, &err), -1);
    assert_string_equal(err.text, "nodes[0].shape: 0, but the map has 0 shapes, counted from 0");
    assert_int_equal(berth_map_add_node(map, "a;b", -1, NULL, NULL, 0, NULL, 0, &err), -1);
    assert_string_equal(err.text, "nodes[1].name: \"a;b\" cannot be a node's name: use letters, "
                                  "digits, '.', '_' and '-', at most 255");
    assert_int_equal(berth_map_add_node(map, "b", -1, NULL, NULL, 4097, NULL, 0, &err), -1);
    assert_string_equal(err.text, "nodes[1].ranks: 4097 ranks; a node has at most 4096");
    berth_map_close(map);
}

/* ---- files ---- */

static char directory[64], path[96], link_path[96];

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/berth-test-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/map", directory);
    snprintf(link_path, sizeof(link_path), "%s/link", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(link_path);
    unlink(path);
    return rmdir(directory);
}

static int files_in_directory(void)
{
    int n = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static char *contents(const char *name)
{
    static char bytes[65536];
    FILE *in = fopen(name, "r");
    assert_non_null(in);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, in)] = '\0';
    fclose(in);
    return bytes;
}

static void saves(void **state)
{
    (void)state;
    struct berth_error err = {0};
    struct berth_map *map = open_fixture("vector2.json");
    struct stat st;
    mode_t old = umask(027);
    assert_int_equal(berth_map_save(map, BERTH_MAP_HOSTFILE, path, &err), 0);
    umask(old);
    assert_string_equal(contents(path), "n2\nn2\nn0\nn0\nn1\nn1\nn3\nn3\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    /* through a link the target is replaced, and the link stays */
    assert_int_equal(symlink("map", link_path), 0);
    assert_int_equal(berth_map_save(map, BERTH_MAP_JSON, link_path, &err), 0);
    assert_int_equal(lstat(link_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_string_equal(contents(path), formats[BERTH_MAP_JSON].text);
    assert_int_equal(files_in_directory(), 2);
    /* what the user has closed stays closed, whatever the umask */
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(berth_map_save(map, BERTH_MAP_JSON, path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(berth_map_save(map, BERTH_MAP_JSON, link_path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0664);
    /* a device is written to, not replaced */
    assert_int_equal(berth_map_save(map, BERTH_MAP_JSON, "/dev/null", &err), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    berth_map_close(map);
}

static int fail_half_way(FILE *out, void *arg, struct berth_error *err)
{
    fputs("half", out);
    (void)arg;
    return berth_error_set(err, BERTH_ENO, "it did not work out");
}

/* A failure leaves the old file as it was, and no temporary. */
static void failures_leave_nothing(void **state)
{
    (void)state;
    struct berth_error err = {0};
    struct berth_map *map = open_fixture("vector2.json");
    assert_int_equal(berth_map_save(map, BERTH_MAP_HOSTFILE, path, &err), 0);
    assert_int_equal(berth_file_save(path, fail_half_way, NULL, &err), -1);
    assert_string_equal(err.text, "it did not work out");
    assert_string_equal(contents(path), formats[BERTH_MAP_HOSTFILE].text);
    assert_int_equal(files_in_directory(), 1);
    assert_int_equal(berth_map_save(map, BERTH_MAP_JSON, "/dev/full", &err), -1);
    assert_string_equal(err.text, "cannot write the map: No space left on device");
    assert_int_equal(err.kind, BERTH_ESYSTEM);
    assert_int_equal(berth_map_save(map, BERTH_MAP_JSON, "/nowhere/map", &err), -1);
    assert_string_equal(err.text, "/nowhere/map: cannot write it: No such file or directory");
    assert_int_equal(berth_map_save(map, BERTH_MAP_JSON, "/tmp", &err), -1);
    assert_string_equal(err.text, "/tmp: is a directory, a file is expected");
    berth_map_close(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format),
        cmocka_unit_test(json_round_trip),
        cmocka_unit_test(same_map_same_bytes),
        cmocka_unit_test(finish_refuses),
        cmocka_unit_test_setup_teardown(saves, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(failures_leave_nothing, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
