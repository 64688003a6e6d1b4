/*
 * Mesh arithmetic, against groups that others published and coordinates worked out by hand, and the
 * refusals of berth_mesh_finish().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "../../lib/mesh.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void finish(struct berth_mesh *mesh)
{
    struct berth_error err;
    if (berth_mesh_finish(mesh, &err))
        fail_msg("%s", err.text);
}

/* The mesh of spec.md 1: tp2, dp2, pp2 with ep2 over dp. */
static struct berth_mesh spec_mesh(void)
{
    struct berth_mesh mesh = {
        .n_axes = 3,
        .n_derived = 1,
        .axes = {{"tp", 2}, {"dp", 2}, {"pp", 2}, {"ep", 2, .over_first = 1, .over_count = 1}}};
    finish(&mesh);
    return mesh;
}

/* rank = tp + 2 dp + 4 pp, written out; ep over all of dp is dp again. */
static void coordinates(void **state)
{
    (void)state;
    static const int want[8][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 1}, {1, 1, 0, 1},
                                   {0, 0, 1, 0}, {1, 0, 1, 0}, {0, 1, 1, 1}, {1, 1, 1, 1}};
    struct berth_mesh mesh = spec_mesh();
    assert_int_equal(mesh.world, 8);
    assert_string_equal(mesh.order, "tp-dp-pp");
    for (int rank = 0; rank < 8; rank++)
        for (int axis = 0; axis < 4; axis++)
            assert_int_equal(berth_mesh_coord(&mesh, axis, rank), want[rank][axis]);
    assert_int_equal(berth_mesh_axis(&mesh, "pp"), 2);
    assert_int_equal(berth_mesh_axis(&mesh, "ep"), 3);
    assert_int_equal(berth_mesh_axis(&mesh, "cp"), -1);
}

static void expect_groups(const struct berth_mesh *mesh, int axis, const int *want, int groups)
{
    assert_int_equal(berth_mesh_groups(mesh, axis), groups);
    int size = mesh->axes[axis].size;
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < size; i++)
            assert_int_equal(berth_mesh_member(mesh, axis, g, i), want[g * size + i]);
}

/*
 * Megatron-LM, megatron/core/parallel_state.py, initialize_model_parallel(): "a total of 16 GPUs
 * ... 2 GPUs to parallelize the model tensor, and 4 GPUs to parallelize the model pipeline", its
 * groups.
 */
static void megatron_groups(void **state)
{
    (void)state;
    static const int dp[] = {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15};
    static const int tp[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const int pp[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    struct berth_mesh mesh = {.n_axes = 3, .axes = {{"tp", 2}, {"dp", 2}, {"pp", 4}}};
    finish(&mesh);
    expect_groups(&mesh, 0, tp, 8);
    expect_groups(&mesh, 1, dp, 8);
    expect_groups(&mesh, 2, pp, 4);
}

/*
 * Derived axes by the rule of spec.md 1: flatten `over`, fastest first, cut into consecutive
 * blocks. tp2, dp4, world 8. ep4 over tp+dp: the flattened product is the rank itself, blocks 0-3
 * and 4-7. shard2 over dp: for each tp, dp = 0,1 and dp = 2,3, that is ranks tp + {0,2} and tp +
 * {4,6}.
 */
static void derived_groups(void **state)
{
    (void)state;
    static const int ep[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int shard[] = {0, 2, 1, 3, 4, 6, 5, 7};
    struct berth_mesh mesh = {.n_axes = 2,
                              .n_derived = 2,
                              .axes = {{"tp", 2},
                                       {"dp", 4},
                                       {"ep", 4, .over_first = 0, .over_count = 2},
                                       {"shard", 2, .over_first = 1, .over_count = 1}}};
    finish(&mesh);
    assert_int_equal(mesh.world, 8);
    expect_groups(&mesh, 2, ep, 2);
    expect_groups(&mesh, 3, shard, 4);
}

/* For any mesh: groups cover the world once, ascend by lowest rank, and coordinate finds the rank
 * again. */
static void every_axis_is_a_partition(void **state)
{
    (void)state;
    struct berth_mesh mesh = {.n_axes = 4,
                              .n_derived = 3,
                              .axes = {{"a", 3},
                                       {"b", 4},
                                       {"c", 1},
                                       {"d", 5},
                                       {"ab", 6, .over_first = 0, .over_count = 2},
                                       {"bcd", 10, .over_first = 1, .over_count = 3},
                                       {"one", 1, .over_first = 3, .over_count = 1}}};
    finish(&mesh);
    assert_int_equal(mesh.world, 60);
    for (int axis = 0; axis < berth_mesh_count(&mesh); axis++) {
        int seen[60] = {0}, lowest = -1;
        for (int g = 0; g < berth_mesh_groups(&mesh, axis); g++) {
            assert_true(berth_mesh_member(&mesh, axis, g, 0) > lowest);
            lowest = berth_mesh_member(&mesh, axis, g, 0);
            for (int i = 0; i < mesh.axes[axis].size; i++) {
                int rank = berth_mesh_member(&mesh, axis, g, i);
                assert_in_range(rank, 0, 59);
                assert_int_equal(seen[rank]++, 0);
                assert_int_equal(berth_mesh_coord(&mesh, axis, rank), i);
                assert_int_equal(berth_mesh_group(&mesh, axis, rank), g);
            }
        }
    }
}

static const struct {
    struct berth_mesh mesh;
    const char *text;
} refusals[] = {
    {{.n_axes = 0}, "a mesh has 1 to 16 axes, derived ones included"},
    {{.n_axes = 17}, "a mesh has 1 to 16 axes, derived ones included"},
    {{.n_axes = 10, .n_derived = 7}, "a mesh has 1 to 16 axes, derived ones included"},
    {{.n_axes = 1, .axes = {{"", 2}}},
     "\"\" cannot be an axis name: use a letter, then letters, digits or '_', at most 31 "
     "characters"},
    {{.n_axes = 1, .axes = {{"2tp", 2}}},
     "\"2tp\" cannot be an axis name: use a letter, then letters, digits or '_', at most 31 "
     "characters"},
    {{.n_axes = 1, .axes = {{"t-p", 2}}},
     "\"t-p\" cannot be an axis name: use a letter, then letters, digits or '_', at most 31 "
     "characters"},
    {{.n_axes = 1, .axes = {{"Node", 2}}},
     "an axis cannot be named Node: BERTH_NODE_RANK and BERTH_LOCAL_RANK mean something else"},
    {{.n_axes = 2, .axes = {{"tp", 2}, {"TP", 2}}},
     "axis TP is there twice (names that differ in case only are the same variable)"},
    {{.n_axes = 1, .axes = {{"tp", 0}}}, "axis tp has size 0; a size is 1 or more"},
    {{.n_axes = 1, .axes = {{"tp", -4}}}, "axis tp has size -4; a size is 1 or more"},
    {{.n_axes = 3, .axes = {{"a", 65536}, {"b", 256}, {"c", 2}}},
     "with axis c the mesh has more than 16777216 ranks, the most that Berth handles"},
    {{.n_axes = 2, .axes = {{"a", 2147483647}, {"b", 2147483647}}},
     "with axis a the mesh has more than 16777216 ranks, the most that Berth handles"},
    {{.n_axes = 1, .n_derived = 1, .axes = {{"dp", 4}, {"ep", 2}}},
     "derived axis ep must lie over one or more axes of the mesh"},
    {{.n_axes = 1, .n_derived = 1, .axes = {{"dp", 4}, {"ep", 2, 0, 0, 2}}},
     "derived axis ep must lie over one or more axes of the mesh"},
    {{.n_axes = 1, .n_derived = 1, .axes = {{"dp", 4}, {"ep", 3, 0, 0, 1}}},
     "derived axis ep has size 3, which does not divide the 4 of what it lies over"},
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct berth_mesh mesh = refusals[i].mesh;
        struct berth_error err = {0};
        assert_int_equal(berth_mesh_finish(&mesh, &err), -1);
        assert_int_equal(err.kind, BERTH_EINPUT);
        assert_string_equal(err.text, refusals[i].text);
    }
}

/* 2^24 ranks are the most, and fit. */
static void largest(void **state)
{
    (void)state;
    struct berth_mesh mesh = {.n_axes = 2, .axes = {{"a", 65536}, {"b", 256}}};
    finish(&mesh);
    assert_int_equal(mesh.world, BERTH_WORLD_MAX);
    assert_int_equal(berth_mesh_member(&mesh, 1, 65535, 255), BERTH_WORLD_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coordinates),    cmocka_unit_test(megatron_groups),
        cmocka_unit_test(derived_groups), cmocka_unit_test(every_axis_is_a_partition),
        cmocka_unit_test(refused),        cmocka_unit_test(largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
