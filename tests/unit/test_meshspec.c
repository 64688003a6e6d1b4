/*
 * Mesh specifications. Right values: design.md 6 (`tp8,pp2,dp5`, an axis without a number takes
 * what is left) and spec.md 1 (rank = mixed radix, fastest axis first), worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "meshspec.h"
#include <string.h>

static const struct {
    const char *spec, *order;
    int world;
    const char *formatted, *order_out;
} good[] = {
    {"tp8,pp2,dp5", NULL, 80, "tp8,dp5,pp2", "tp-dp-pp"},  /* Megatron's order: dp before pp */
    {"tp=8,pp=2,dp", NULL, 80, "tp8,dp5,pp2", "tp-dp-pp"}, /* 80 / 16 = 5 */
    {"tp8,pp2,dp5", "tp-pp-dp", 80, "tp8,pp2,dp5", "tp-pp-dp"},
    {"dp5,pp2", "tp-cp-ep-dp-pp", 10, "dp5,pp2",
     "dp-pp"}, /* Megatron's whole string, absent axes skipped */
    {"dp10,ep5@dp", NULL, 10, "dp10,ep5@dp", "dp"}, /* T11 of spec.md 6 */
    {"tp2,dp4,ep4@tp+dp", NULL, 8, "tp2,dp4,ep4@tp+dp", "tp-dp"},
    {"x3,dp2", NULL, 6, "x3,dp2", "x-dp"}, /* an own name: as written */
    {"dp2,x3", NULL, 6, "dp2,x3", "dp-x"},
    {"a2=4,dp2", NULL, 8, "a2=4,dp2", "a2-dp"}, /* a name may hold digits */
    {"dp", NULL, 7, "dp7", "dp"},
    {"dp1", NULL, 1, "dp1", "dp"},
    {"cp2,tp4,pp3,dp5", NULL, 0, "tp4,cp2,dp5,pp3", "tp-cp-dp-pp"},
};

static void reads_meshes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct berth_mesh mesh;
        struct berth_error err = {0};
        char buf[200];
        if (meshspec_parse(good[i].spec, good[i].order, good[i].world, &mesh, &err))
            fail_msg("%s: %s", good[i].spec, err.text);
        assert_string_equal(meshspec_format(&mesh, buf, sizeof(buf)), good[i].formatted);
        assert_string_equal(mesh.order, good[i].order_out);
        if (good[i].world)
            assert_int_equal(mesh.world, good[i].world);
    }
}

static const struct {
    const char *spec, *order;
    int world, kind;
    const char *text;
} bad[] = {
    {"", NULL, 8, BERTH_EINPUT, "mesh '': an empty item at column 1"},
    {"tp8,,dp", NULL, 8, BERTH_EINPUT, "mesh 'tp8,,dp': an empty item at column 5"},
    {"8", NULL, 8, BERTH_EINPUT, "mesh item '8': expected an axis name and a size, as in tp8"},
    {"tp0", NULL, 8, BERTH_EINPUT,
     "mesh item 'tp0': the size must be a whole number from 1 to 16777216"},
    {"tp=", NULL, 8, BERTH_EINPUT,
     "mesh item 'tp=': the size must be a whole number from 1 to 16777216"},
    {"tp=-2", NULL, 8, BERTH_EINPUT,
     "mesh item 'tp=-2': the size must be a whole number from 1 to 16777216"},
    {"tp99999999999999999999", NULL, 8, BERTH_EINPUT,
     "mesh item 'tp99999999999999999999': the size must be a whole number from 1 to 16777216"},
    {"t-p2", NULL, 8, BERTH_EINPUT, "mesh item 't-p2': '-' does not belong in an axis name"},
    {"tp2,tp4", NULL, 8, BERTH_EINPUT, "mesh 'tp2,tp4': axis tp stands twice"},
    {"tp,dp", NULL, 8, BERTH_EINPUT,
     "mesh 'tp,dp': tp and dp both have no size; only one axis can take what is left"},
    {"tp3,dp", NULL, 8, BERTH_ENO,
     "mesh 'tp3,dp': its sizes make 3, which does not divide the job's 8 ranks; 6 or 9 ranks would "
     "fit"},
    {"tp8,pp2,dp5", NULL, 96, BERTH_ENO,
     "mesh 'tp8,pp2,dp5' has 80 ranks, the job has 96; change a size, or leave one size out and "
     "that "
     "axis takes what is left"},
    {"tp2,dp", NULL, 0, BERTH_EINPUT,
     "mesh 'tp2,dp': give dp a size, the number of ranks is not known here"},
    {"dp2,pp2", "dp", 4, BERTH_EINPUT, "order 'dp' does not name the axis pp"},
    {"dp2,pp2", "dp-pp-dp", 4, BERTH_EINPUT, "order 'dp-pp-dp' names dp twice"},
    {"dp2,pp2", "dp-xx-pp", 4, BERTH_EINPUT, "order 'dp-xx-pp': the mesh has no axis xx"},
    {"dp2,pp2", "dp--pp", 4, BERTH_EINPUT,
     "order 'dp--pp': write axis names joined by '-', as in tp-dp-pp"},
    {"dp2,pp2", "dp-pp-", 4, BERTH_EINPUT, "order 'dp-pp-' ends in '-'"},
    {"dp4,ep@dp", NULL, 4, BERTH_EINPUT,
     "mesh item 'ep@dp': a derived axis needs a size and the axes it is laid over, as in ep5@dp"},
    {"dp4,ep2@dp+", NULL, 4, BERTH_EINPUT, "mesh item 'ep2@dp+': an axis is missing beside a '+'"},
    {"dp4,ep2@+dp", NULL, 4, BERTH_EINPUT, "mesh item 'ep2@+dp': an axis is missing beside a '+'"},
    {"dp2,pp2,ep2@pp++dp", NULL, 4, BERTH_EINPUT,
     "mesh item 'ep2@pp++dp': an axis is missing beside a '+'"},
    {"dp4,ep2@xx", NULL, 4, BERTH_EINPUT, "mesh item 'ep2@xx': the mesh has no axis 'xx'"},
    {"tp2,dp4,pp2,ep4@tp+pp", NULL, 16, BERTH_EINPUT,
     "mesh item 'ep4@tp+pp': the axes it is laid over must stand next to each other in the order"},
    {"tp4096,dp4097", NULL, 0, BERTH_EINPUT, "mesh 'tp4096,dp4097' has more than 16777216 ranks"},
};

static void refuses_wrong_meshes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct berth_mesh mesh;
        struct berth_error err = {0};
        if (!meshspec_parse(bad[i].spec, bad[i].order, bad[i].world, &mesh, &err))
            fail_msg("%s was accepted", bad[i].spec);
        assert_string_equal(err.text, bad[i].text);
        assert_int_equal(err.kind, bad[i].kind);
    }
}

static void a_derived_size_must_divide(void **state)
{
    struct berth_mesh mesh;
    struct berth_error err = {0};
    (void)state;
    assert_int_equal(meshspec_parse("dp10,ep4@dp", NULL, 10, &mesh, &err), -1);
    assert_int_equal(err.kind, BERTH_EINPUT);
    assert_non_null(strstr(err.text, "ep"));
}

static void tells_axes_from_options(void **state)
{
    (void)state;
    assert_true(meshspec_is_axis("tp8", 3));
    assert_true(meshspec_is_axis("tp=8", 4));
    assert_true(meshspec_is_axis("dp", 2));
    assert_true(meshspec_is_axis("ep5@dp", 6));
    assert_false(meshspec_is_axis("order=tp-dp", 11));
    assert_false(meshspec_is_axis("map=/x", 6));
    assert_false(meshspec_is_axis("", 0));
}

/* Rank 37 of tp8,dp5,pp2 (order tp-dp-pp): 37 = 5 + 8*4 + 40*0. */
static void coordinates_by_hand(void **state)
{
    struct berth_mesh mesh;
    (void)state;
    assert_int_equal(meshspec_parse("tp8,pp2,dp5", NULL, 80, &mesh, NULL), 0);
    int tp = berth_mesh_axis(&mesh, "tp"), dp = berth_mesh_axis(&mesh, "dp"),
        pp = berth_mesh_axis(&mesh, "pp");
    assert_int_equal(berth_mesh_coord(&mesh, tp, 37), 5);
    assert_int_equal(berth_mesh_coord(&mesh, dp, 37), 4);
    assert_int_equal(berth_mesh_coord(&mesh, pp, 37), 0);
    assert_int_equal(berth_mesh_group(&mesh, dp, 37), 5);      /* dp ring of tp 5, pp 0 */
    assert_int_equal(berth_mesh_member(&mesh, dp, 5, 1), 13);  /* 5 + 8 */
    assert_int_equal(berth_mesh_member(&mesh, pp, 37, 1), 77); /* 37 + 40 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_meshes),
        cmocka_unit_test(refuses_wrong_meshes),
        cmocka_unit_test(a_derived_size_must_divide),
        cmocka_unit_test(tells_axes_from_options),
        cmocka_unit_test(coordinates_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
