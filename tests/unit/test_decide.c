/*
 * The decision table of the specification (section 4), row by row: inherited and given, strict or
 * not, mode forced or not. Right values are the table's; the sentences are this program's own.
 */
#include "../../spank/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define RELEASE_2205 0x1605
#define RELEASE_2311 0x170b

/* A job of 10 nodes with 8 GPUs and 8 tasks each, and the step `srun --berth=tp8,dp10` in it. */
static struct srun_args plain = {.certain = true};

static struct facts whole_job(void)
{
    return (struct facts){
        .given = true,
        .fixed = 80,
        .tasks = 80,
        .nodes = 10,
        .gpus = 80,
        .in_job = true,
        .job_nodes = 10,
        .job_tasks = 80,
        .capacity = true,
        .args = &plain,
        .slurm_release = RELEASE_2205,
    };
}

static const char *action_name(enum action action)
{
    static const char *const names[] = {"nothing", "line",  "stop",
                                        "layout",  "remap", "remap-nodes"};
    return names[action];
}

static void expect(const char *row, const struct facts *f, enum action action, const char *text)
{
    struct decision d;
    decide(f, &d);
    if (d.action != action)
        fail_msg("%s: %s instead of %s (%s)", row, action_name(d.action), action_name(action),
                 d.text);
    if (text && strcmp(d.text, text) != 0)
        fail_msg("%s: says '%s' instead of '%s'", row, d.text, text);
    if (action >= DECIDE_LAYOUT && d.world < 1)
        fail_msg("%s: no world", row);
}

/* Row 1: inside a job, tasks = world, the whole job, nothing that steers tasks. Given and
 * inherited. */
static void layout(void **state)
{
    struct facts f = whole_job();
    (void)state;
    expect("given", &f, DECIDE_LAYOUT, "");
    f.given = false;
    expect("inherited", &f, DECIDE_LAYOUT, "");
    f.strict = true;
    expect("strict", &f, DECIDE_LAYOUT, "");
    f.fixed = 8, f.open = true;
    expect("open axis", &f, DECIDE_LAYOUT, "");
    f.mode = MODE_REMAP;
    expect("mode=remap", &f, DECIDE_REMAP, "");
}

/* Row 1's exclusions: each alone makes it remap. */
static void layout_exclusions(void **state)
{
    static const struct {
        const char *row;
        unsigned given;
    } rows[] = {
        {"-w", SRUN_NODELIST},
        {"-x", SRUN_EXCLUDE},
        {"-r", SRUN_RELATIVE},
        {"-m", SRUN_DISTRIBUTION},
        {"SLURM_HOSTFILE", SRUN_HOSTFILE},
        {"-Z", SRUN_NO_ALLOCATE},
        {"--jobid", SRUN_JOBID},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct srun_args args = plain;
        struct facts f = whole_job();
        args.given = rows[i].given;
        f.args = &args;
        expect(rows[i].row, &f, DECIDE_REMAP, "");
        f.mode = MODE_LAYOUT; /* cannot be forced either */
        expect(rows[i].row, &f, DECIDE_REMAP, "");
    }
}

static void nodes_and_hostfile(void **state)
{
    struct srun_args args = plain;
    struct facts f = whole_job();
    (void)state;
    args.given = SRUN_NODES;
    args.nodes = 10;
    f.args = &args;
    expect("-N10, 22.05", &f, DECIDE_LAYOUT, "");
    f.slurm_release = RELEASE_2311; /* "--nodes is incompatible with --distribution=arbitrary" */
    expect("-N10, 23.11", &f, DECIDE_REMAP, "");
    f.slurm_release = RELEASE_2205;
    args.nodes = 0;
    expect("-N8-10", &f, DECIDE_REMAP, "");
}

/* Row 2: any doubt is remap; mode=layout takes the risk. */
static void doubt_is_remap(void **state)
{
    static const struct {
        const char *row;
        unsigned given;
        bool uncertain, narrow;
        int job_tasks, gpus;
    } rows[] = {
        {"unknown option", 0, true, false, 80, 80},
        {"--exact", SRUN_EXACT, false, false, 80, 80},
        {"--overlap", SRUN_OVERLAP, false, false, 80, 80},
        {"--mem", SRUN_NARROW, false, false, 80, 80},
        {"CPUs unknown", 0, false, true, 80, 80},
        /* Row 4, two steps in one job: neither the job's tasks nor its GPUs are all this step's */
        {"a part of the tasks", 0, false, false, 160, 160},
        {"job unknown", 0, false, false, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct srun_args args = {.certain = !rows[i].uncertain, .given = rows[i].given};
        struct facts f = whole_job();
        strcpy(args.doubt, "unknown option '--x'");
        f.args = &args;
        f.capacity = !rows[i].narrow;
        f.job_tasks = rows[i].job_tasks;
        f.gpus = rows[i].gpus;
        expect(rows[i].row, &f, DECIDE_REMAP, "");
        f.mode = MODE_LAYOUT;
        expect(rows[i].row, &f, DECIDE_LAYOUT, "");
    }
}

/* Row 3. */
static void stand_alone(void **state)
{
    struct facts f = whole_job();
    (void)state;
    f.in_job = false;
    f.job_nodes = f.job_tasks = 0;
    expect("stand-alone", &f, DECIDE_REMAP, "");
    f.placed = true;
    expect("stand-alone, placed", &f, DECIDE_REMAP, "");
    f.mode = MODE_LAYOUT;
    expect("mode=layout", &f, DECIDE_REMAP,
           "mode=layout is not possible here (srun makes its own allocation): remap");
    f.strict = true;
    expect("mode=layout, strict", &f, DECIDE_STOP, NULL);
}

/* Row 4: two steps at once, each on a part of the nodes. */
static void part_of_the_job(void **state)
{
    struct facts f = whole_job();
    (void)state;
    f.nodes = 5, f.tasks = 40, f.fixed = 40, f.gpus = 40;
    expect("half of the nodes", &f, DECIDE_REMAP, "");
    f.given = false;
    expect("inherited", &f, DECIDE_REMAP, "");
    f.fixed = 8, f.open = true; /* inherited tp8,dp means the job, not a part */
    expect("inherited, open", &f, DECIDE_NOTHING, "");
    f.given = true;
    expect("given, open", &f, DECIDE_REMAP, "");
}

/* Row 5: one launcher per node. */
static void launchers(void **state)
{
    struct facts f = whole_job();
    struct decision d;
    (void)state;
    f.tasks = 10;
    expect("torchrun", &f, DECIDE_REMAP_NODES, "");
    f.given = false;
    expect("torchrun inherited", &f, DECIDE_REMAP_NODES, "");
    f.gpus = 0;
    expect("GPUs unknown: the mesh's world", &f, DECIDE_REMAP_NODES, "");
    f.gpus = 80, f.fixed = 8, f.open = true;
    decide(&f, &d);
    assert_int_equal(d.action, DECIDE_REMAP_NODES);
    assert_int_equal(d.world, 80); /* 10 nodes x 8 GPUs */
    f.mode = MODE_LAYOUT;
    expect("mode=layout", &f, DECIDE_REMAP_NODES,
           "mode=layout is for one task per rank, this step has one per "
           "node: remap");
}

static void launchers_that_do_not_fit(void **state)
{
    struct facts f = whole_job();
    (void)state;
    f.tasks = 10, f.gpus = 40;
    expect("fewer GPUs than ranks", &f, DECIDE_LINE,
           "the mesh has 80 ranks, this step has 40 GPUs on 10 nodes");
    f.gpus = 0, f.fixed = 84;
    expect("no GPUs and no slots", &f, DECIDE_LINE,
           "10 nodes without known GPUs or slots cannot share 84 ranks evenly");
    f.given = false;
    expect("inherited", &f, DECIDE_NOTHING, "");
    f = whole_job(); /* `srun -N5 -n5` under sbatch --berth=tp8,dp10 */
    f.given = false, f.tasks = f.nodes = 5, f.gpus = 0;
    expect("half of the nodes, inherited", &f, DECIDE_NOTHING, "");
}

/* Row 6: fewer or more tasks, a helper, mpirun's daemons: silent when inherited, also under strict.
 */
static void does_not_fit(void **state)
{
    static const struct {
        const char *row;
        int tasks, nodes;
        bool helper;
    } rows[] = {
        {"fewer tasks", 40, 10, false},
        {"more tasks", 160, 10, false},
        {"a helper of one task", 1, 1, false},
        {"orted", 10, 10, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct facts f = whole_job();
        f.tasks = rows[i].tasks, f.nodes = rows[i].nodes, f.helper = rows[i].helper;
        f.gpus = 8 * f.nodes;
        expect(rows[i].row, &f, DECIDE_LINE, NULL);
        f.strict = true;
        expect(rows[i].row, &f, DECIDE_STOP, NULL);
        f.given = false;
        expect(rows[i].row, &f, DECIDE_NOTHING, "");
        f.strict = false;
        expect(rows[i].row, &f, DECIDE_NOTHING, "");
        f.mode = MODE_LAYOUT;
        expect(rows[i].row, &f, DECIDE_NOTHING, "");
        f.mode = MODE_AUTO, f.fixed = 8, f.open = true;
        if (rows[i].tasks !=
            160) /* with an open axis 160 tasks on the job's nodes make a mesh, but not the job's */
            expect(rows[i].row, &f, DECIDE_NOTHING, "");
    }
    struct facts f = whole_job();
    f.tasks = 40;
    expect("fewer", &f, DECIDE_LINE,
           "the mesh has 80 ranks, this step 40 tasks on 10 nodes");
}

/* Row 7: GPUs bound to tasks. */
static void hidden_peers(void **state)
{
    struct srun_args args = plain;
    struct facts f = whole_job();
    struct decision d;
    (void)state;
    args.given = SRUN_GPUS_PER_TASK;
    f.args = &args;
    decide(&f, &d);
    assert_int_equal(d.action, DECIDE_LAYOUT);
    assert_true(d.keep_local_rank);
    assert_string_equal(
        d.text,
        "each task sees only its own GPUs, so LOCAL_RANK is left alone (BERTH_LOCAL_RANK is set)");
    args.given |= SRUN_GPU_BIND_NONE;
    decide(&f, &d);
    assert_false(d.keep_local_rank);
    assert_string_equal(d.text, "");
}

/*
 * Row 8: one line. Above the table: inherited, it never stops the step, and says nothing where the
 * step would not fit anyway.
 */
static void cannot_be_placed(void **state)
{
    struct facts f = whole_job();
    (void)state;
    f.refused = "torus3d";
    expect("torus3d", &f, DECIDE_LINE, "topology torus3d is not placed");
    f.given = false;
    expect("torus3d inherited", &f, DECIDE_LINE, NULL);
    f.strict = true;
    expect("torus3d inherited, strict", &f, DECIDE_LINE, NULL);
    f.tasks = f.nodes = 1, f.gpus = 8;
    expect("torus3d inherited, strict, a helper", &f, DECIDE_NOTHING, "");
    f = whole_job();
    f.refused = "torus3d", f.strict = true;
    expect("torus3d strict", &f, DECIDE_STOP, NULL);
    f = whole_job();
    struct srun_args args = {.certain = true, .given = SRUN_HET};
    f.args = &args;
    expect("het", &f, DECIDE_LINE, "heterogeneous jobs are not placed");
    f.strict = true;
    expect("het strict", &f, DECIDE_STOP, NULL);
    f.given = false;
    expect("het inherited, strict", &f, DECIDE_LINE,
           "heterogeneous jobs are not placed");
    f.tasks = f.nodes = 1, f.gpus = 8;
    expect("het inherited, strict, a helper", &f, DECIDE_NOTHING, "");
}

/* Row 9. */
static void off(void **state)
{
    struct facts f = whole_job();
    (void)state;
    f.off = true;
    expect("off", &f, DECIDE_NOTHING, "");
    struct srun_args args = {.certain = true, .given = SRUN_HET};
    f.strict = true, f.args = &args;
    expect("off wins over all", &f, DECIDE_NOTHING, "");
}

/* The late answer: Slurm has laid the step out. */
static void placed(void **state)
{
    struct facts f = whole_job();
    (void)state;
    f.placed = true;
    expect("layout was not asked for", &f, DECIDE_REMAP, "");
    f.requested = true, f.followed = true;
    expect("and came about", &f, DECIDE_LAYOUT, "");
    f.followed = false;
    expect("and did not", &f, DECIDE_REMAP, "Slurm did not lay the tasks out as asked: remap");
    f.mode = MODE_LAYOUT, f.strict = true;
    expect("strict", &f, DECIDE_STOP, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(layout_exclusions),
        cmocka_unit_test(nodes_and_hostfile),
        cmocka_unit_test(doubt_is_remap),
        cmocka_unit_test(stand_alone),
        cmocka_unit_test(part_of_the_job),
        cmocka_unit_test(launchers),
        cmocka_unit_test(launchers_that_do_not_fit),
        cmocka_unit_test(does_not_fit),
        cmocka_unit_test(hidden_peers),
        cmocka_unit_test(cannot_be_placed),
        cmocka_unit_test(off),
        cmocka_unit_test(placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
