/*
 * Traffic. Right values: the grammar and the example of spec.md 2; 8MB = 8e6, 8MiB = 8*2^20.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "meshspec.h"
#include "traffic.h"
#include <stdio.h>
#include <string.h>

static struct berth_mesh mesh_of(const char *spec)
{
    struct berth_mesh mesh;
    struct berth_error err;
    if (meshspec_parse(spec, NULL, 0, &mesh, &err))
        fail_msg("%s", err.text);
    return mesh;
}

static void reads_the_example_of_the_specification(void **state)
{
    struct berth_mesh mesh = mesh_of("tp2,dp5,pp2");
    struct traffic t;
    (void)state;
    assert_int_equal(
        traffic_parse("dp:allreduce:8MB,pp:p2p:64KB:16,tp:allreduce:1MB:32", &mesh, &t, NULL), 0);
    assert_int_equal(t.n, 3);
    assert_false(t.reference);
    assert_int_equal(t.items[0].axis, 1);
    assert_int_equal(t.items[0].kind, TRAFFIC_ALLREDUCE);
    assert_true(t.items[0].bytes == 8e6 && t.items[0].count == 1 && t.items[0].exposed == 1);
    assert_int_equal(t.items[1].axis, 2);
    assert_int_equal(t.items[1].kind, TRAFFIC_P2P);
    assert_true(t.items[1].bytes == 64e3 && t.items[1].count == 16);
    assert_true(t.items[2].bytes == 1e6 && t.items[2].count == 32);
}

static void plus_stands_for_comma_and_units_count(void **state)
{
    static const struct {
        const char *text;
        double bytes;
    } units[] = {{"8MiB", 8388608}, {"1", 1},       {"12B", 12},
                 {"1.5GB", 1.5e9},  {"2KiB", 2048}, {"1TB", 1e12}};
    struct berth_mesh mesh = mesh_of("dp4,pp2");
    struct traffic t;
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        snprintf(text, sizeof(text), "dp:allgather:%s:2:0.5+pp:p2p:1KB", units[i].text);
        assert_int_equal(traffic_parse(text, &mesh, &t, NULL), 0);
        assert_int_equal(t.n, 2);
        assert_true(t.items[0].bytes == units[i].bytes);
        assert_true(t.items[0].exposed == 0.5);
    }
}

static void refuses_wrong_traffic(void **state)
{
    static const char *const bad[][2] = {
        {"", "traffic '': an empty item at column 1"},
        {"dp:allreduce:8MB,", "traffic 'dp:allreduce:8MB,': an empty item at column 18"},
        {"dp:allreduce",
         "traffic item 'dp:allreduce': expected axis:collective:bytes[:count[:exposed]]"},
        {"xx:allreduce:8MB", "traffic item 'xx:allreduce:8MB': the mesh (dp-pp) has no axis 'xx'"},
        {"dp:reduce:8MB", "traffic item 'dp:reduce:8MB': unknown collective 'reduce'; it is one of "
                          "allreduce, reducescatter, allgather, alltoall, p2p"},
        {"dp:p2p:8Mb",
         "traffic item 'dp:p2p:8Mb': '8Mb' is not a number of bytes such as 8MB, 8MiB or 64KB"},
        {"dp:p2p:-8",
         "traffic item 'dp:p2p:-8': '-8' is not a number of bytes such as 8MB, 8MiB or 64KB"},
        {"dp:p2p:0",
         "traffic item 'dp:p2p:0': '0' is not a number of bytes such as 8MB, 8MiB or 64KB"},
        {"dp:p2p:nan",
         "traffic item 'dp:p2p:nan': 'nan' is not a number of bytes such as 8MB, 8MiB or 64KB"},
        {"dp:p2p:0x10",
         "traffic item 'dp:p2p:0x10': '0x10' is not a number of bytes such as 8MB, 8MiB or 64KB"},
        {"dp:p2p:8:0",
         "traffic item 'dp:p2p:8:0': the count '0' must be a number above 0 and at most 1e9"},
        {"dp:p2p:8:1:1.5",
         "traffic item 'dp:p2p:8:1:1.5': the exposed share '1.5' must be from 0 to 1"},
        {"dp:p2p:8:1:1:1",
         "traffic item 'dp:p2p:8:1:1:1': expected axis:collective:bytes[:count[:exposed]]"},
    };
    struct berth_mesh mesh = mesh_of("dp4,pp2");
    struct traffic t;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct berth_error err = {0};
        if (!traffic_parse(bad[i][0], &mesh, &t, &err))
            fail_msg("%s was accepted", bad[i][0]);
        assert_string_equal(err.text, bad[i][1]);
        assert_int_equal(err.kind, BERTH_EINPUT);
    }
}

static void what_it_writes_reads_back(void **state)
{
    struct berth_mesh mesh = mesh_of("tp8,cp2,dp4,pp2,ep4@dp");
    struct traffic first, second;
    char text[4096] = "", item[160];
    (void)state;
    traffic_reference(&mesh, &first);
    assert_true(first.reference);
    for (int i = 0; i < first.n; i++)
        sprintf(text + strlen(text), "%s%s", i ? "," : "",
                traffic_format(&first.items[i], &mesh, item, sizeof(item)));
    struct berth_error err;
    if (traffic_parse(text, &mesh, &second, &err))
        fail_msg("%s", err.text);
    assert_int_equal(first.n, second.n);
    for (int i = 0; i < first.n; i++) {
        assert_int_equal(first.items[i].axis, second.items[i].axis);
        assert_int_equal(first.items[i].kind, second.items[i].kind);
        assert_true(first.items[i].bytes - second.items[i].bytes < 1);
        assert_true(first.items[i].count == second.items[i].count);
    }
}

/*
 * docs/traffic.md, by hand for tp8,dp16,pp4: activation 2 * 8192 * 8192 = 134,217,728 bytes;
 * 1024 / 16 = 64 micro-batches; tp 4 * 80/4 * 64 = 5120 all-reduces; pp activation / 8 = 16,777,216
 * bytes 64 times; dp gradients 4 * 70e9 / 32 = 8.75e9 and weights 4.375e9 bytes.
 */
static void the_reference_model_by_hand(void **state)
{
    struct berth_mesh mesh = mesh_of("tp8,dp16,pp4");
    struct traffic t;
    (void)state;
    traffic_reference(&mesh, &t);
    assert_int_equal(t.n, 4);
    assert_true(t.items[0].axis == 0 && t.items[0].bytes == 134217728 && t.items[0].count == 5120);
    assert_true(t.items[1].axis == 2 && t.items[1].bytes == 16777216 && t.items[1].count == 64);
    assert_true(t.items[2].kind == TRAFFIC_REDUCESCATTER && t.items[2].bytes == 8.75e9);
    assert_true(t.items[3].kind == TRAFFIC_ALLGATHER && t.items[3].bytes == 4.375e9);
}

static void nothing_given_is_the_reference_model(void **state)
{
    struct berth_mesh mesh = mesh_of("dp2");
    struct traffic t;
    struct berth_error err;
    (void)state;
    assert_int_equal(traffic_parse_or_reference(NULL, &mesh, &t, &err), 0);
    assert_true(t.reference);
    assert_int_equal(t.n, 2); /* gradients and weights */
    assert_int_equal(traffic_parse_or_reference("dp:allreduce:8MB", &mesh, &t, &err), 0);
    assert_false(t.reference);
    assert_int_equal(t.n, 1);
    assert_int_equal(traffic_parse_or_reference("", &mesh, &t, &err), -1); /* given, and wrong */
    assert_string_equal(err.text, "traffic '': an empty item at column 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_example_of_the_specification),
        cmocka_unit_test(plus_stands_for_comma_and_units_count),
        cmocka_unit_test(refuses_wrong_traffic),
        cmocka_unit_test(what_it_writes_reads_back),
        cmocka_unit_test(the_reference_model_by_hand),
        cmocka_unit_test(nothing_given_is_the_reference_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
