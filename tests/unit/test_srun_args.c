/*
 * srun's command line. Right values: srun(1) and getopt_long(3); the option table itself was taken
 * from what srun 22.05.8 hands to getopt_long.
 */
#include "../../spank/srun_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* Words separated by one space, into /proc/PID/cmdline's form. */
static char *cmdline(const char *words, size_t *size)
{
    char *bytes = strdup(words);
    *size = strlen(words) + 1;
    for (size_t i = 0; i < *size; i++)
        if (bytes[i] == ' ')
            bytes[i] = 0;
    return bytes;
}

static const struct {
    const char *words;
    const char *program;
    int ntasks, nodes;
    unsigned given;
    int berth, gpus, cpus, per_node;
} certain[] = {
    {"srun hostname", "hostname"},
    {"/usr/bin/srun -n 4 a.out", "a.out", .ntasks = 4, .given = SRUN_NTASKS},
    {"srun -n4 a.out -N 3", "a.out", .ntasks = 4, .given = SRUN_NTASKS},
    {"srun -N2 -n4 a.out", "a.out", .ntasks = 4, .nodes = 2, .given = SRUN_NTASKS | SRUN_NODES},
    {"srun -lN2 a.out", "a.out", .nodes = 2, .given = SRUN_NODES},
    {"srun -luvn 8 a.out", "a.out", .ntasks = 8, .given = SRUN_NTASKS},
    {"srun --ntasks=4 a.out", "a.out", .ntasks = 4, .given = SRUN_NTASKS},
    {"srun --ntasks 4 a.out", "a.out", .ntasks = 4, .given = SRUN_NTASKS},
    {"srun --nodel n1 a.out", "a.out", .given = SRUN_NODELIST},
    {"srun --distrib block a.out", "a.out", .given = SRUN_DISTRIBUTION},
    {"srun -N 2-4 a.out", "a.out", .given = SRUN_NODES},
    {"srun -w n1,n2 a.out", "a.out", .given = SRUN_NODELIST},
    {"srun -F file a.out", "a.out", .given = SRUN_NODELIST},
    {"srun -xn3 a.out", "a.out", .given = SRUN_EXCLUDE},
    {"srun -r 1 a.out", "a.out", .given = SRUN_RELATIVE},
    {"srun -m cyclic a.out", "a.out", .given = SRUN_DISTRIBUTION},
    {"srun -Z -w n1 a.out", "a.out", .given = SRUN_NODELIST | SRUN_NO_ALLOCATE},
    /* optional arguments stand in the same word or not at all */
    {"srun -K -k -I a.out", "a.out"},
    {"srun -K1 --kill-on-bad-exit=1 --exclusive a.out", "a.out", .given = SRUN_EXACT},
    {"srun --overlap --exact a.out", "a.out", .given = SRUN_EXACT | SRUN_OVERLAP},
    {"srun --mpi pmix --berth tp8,dp --berth=off a.out", "a.out", .berth = 2},
    {"srun --gpus-per-task=1 a.out", "a.out", .given = SRUN_GPUS_PER_TASK},
    {"srun --gpu-bind=closest a.out", "a.out", .given = SRUN_GPU_BIND},
    {"srun --gpu-bind=verbose,none a.out", "a.out", .given = SRUN_GPU_BIND_NONE},
    {"srun --gpus-per-node=a100:4 a.out", "a.out", .gpus = 4},
    {"srun --gres=nic:2,gpu:a100:8,gpu:1 a.out", "a.out", .gpus = 9},
    {"srun --gres gpu a.out", "a.out", .gpus = 1},
    {"srun -c 2 --ntasks-per-node=8 a.out", "a.out", .cpus = 2, .per_node = 8,
     .given = SRUN_CPUS_PER_TASK | SRUN_NTASKS_PER_NODE},
    {"srun --mem-per-cpu=1G a.out", "a.out", .given = SRUN_NARROW},
    {"srun --jobid 7 a.out", "a.out", .given = SRUN_JOBID},
    {"srun --container-image=x.sqsh a.out --container-image y", "a.out"},
    {"srun -- -n", "-n"},
    {"srun -n2 a : -n1 b", "a", .ntasks = 2, .given = SRUN_NTASKS | SRUN_HET},
    {"srun --het-group=0,1 a", "a", .given = SRUN_HET},
    {"srun", NULL},
};

static void reads_command_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(certain) / sizeof(certain[0]); i++) {
        size_t size;
        char *bytes = cmdline(certain[i].words, &size);
        struct srun_args a;
        srun_args_parse(bytes, size, &a);
        if (!a.certain)
            fail_msg("%s: %s", certain[i].words, a.doubt);
        if (certain[i].program ? !a.program || strcmp(a.program, certain[i].program) != 0
                               : a.program != NULL)
            fail_msg("%s: program is %s", certain[i].words, a.program);
        if (a.given != certain[i].given || a.ntasks != certain[i].ntasks ||
            a.nodes != certain[i].nodes || a.berth != certain[i].berth ||
            a.gpus_per_node != certain[i].gpus || a.cpus_per_task != certain[i].cpus ||
            a.ntasks_per_node != certain[i].per_node)
            fail_msg("%s: given %x, ntasks %d, nodes %d, gpus %d", certain[i].words, a.given,
                     a.ntasks, a.nodes, a.gpus_per_node);
        free(bytes);
    }
}

static const struct {
    const char *words, *doubt;
} doubtful[] = {
    {"srun --container-image x.sqsh a.out", "unknown option '--container-image'"},
    {"srun --ntas 4 a.out", "unknown option '--ntas'"}, /* ntasks, or ntasks-per-node */
    {"srun --n 4 a.out", "unknown option '--n'"},       /* nodes, ntasks, nice ...: ambiguous */
    {"srun -y a.out", "unknown option '-y'"},
    {"srun -n", "no value after '-n'"},
    {"srun --ntasks", "no value after '--ntasks'"},
    {"srun -n four a.out", "not a plain number: 'four'"},
    {"srun -n 99999999999 a.out", "not a plain number: '99999999999'"},
    {"srun -n 0 a.out", "not a plain number: '0'"},
    {"srun -E -n 4 a.out", "the environment is to override the options by '--preserve-env'"},
    {"mylauncher -n 4", "this is not srun: 'mylauncher'"},
};

static void doubts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++) {
        size_t size;
        char *bytes = cmdline(doubtful[i].words, &size);
        struct srun_args a;
        srun_args_parse(bytes, size, &a);
        if (a.certain)
            fail_msg("%s: is certain", doubtful[i].words);
        assert_string_equal(a.doubt, doubtful[i].doubt);
        free(bytes);
    }
}

static void empty_or_unended_is_doubt(void **state)
{
    struct srun_args a;
    (void)state;
    srun_args_parse("", 0, &a);
    assert_false(a.certain);
    srun_args_parse("srun\0-n", 7, &a);
    assert_false(a.certain);
}

/* ---- environment ---- */

static const char *const *pairs;

static const char *lookup(const char *name)
{
    for (int i = 0; pairs[i]; i += 2)
        if (!strcmp(pairs[i], name))
            return pairs[i + 1];
    return NULL;
}

static void environment_of(struct srun_args *a, const char *words, const char *const *environment)
{
    size_t size;
    char *bytes = cmdline(words, &size);
    srun_args_parse(bytes, size, a);
    pairs = environment;
    srun_args_environment(a, lookup);
    a->program = NULL;
    free(bytes);
}

static void reads_environment(void **state)
{
    struct srun_args a;
    (void)state;
    environment_of(&a, "srun x",
                   (const char *const[]){"SLURM_NTASKS", "10", "SLURM_NPROCS", "10", NULL});
    assert_true(a.certain);
    assert_int_equal(a.ntasks, 10);
    assert_int_equal(a.given, 0);
    environment_of(&a, "srun -n2 x", (const char *const[]){"SLURM_NTASKS", "10", NULL});
    assert_int_equal(a.ntasks, 2); /* options win over the environment: srun(1) */
    environment_of(&a, "srun x",
                   (const char *const[]){"SLURM_NTASKS", "10", "SLURM_NPROCS", "9", NULL});
    assert_false(a.certain);
    /* SLURM_NNODES and SLURM_JOB_NUM_NODES are the same as -N: srun(1), INPUT ENVIRONMENT */
    environment_of(&a, "srun x",
                   (const char *const[]){"SLURM_NNODES", "2", "SLURM_JOB_NUM_NODES", "2", NULL});
    assert_true(a.certain);
    assert_int_equal(a.nodes, 2);
    assert_int_equal(a.given, 0);
    environment_of(&a, "srun x",
                   (const char *const[]){"SLURM_NNODES", "1", "SLURM_JOB_NUM_NODES", "2", NULL});
    assert_false(a.certain);
    assert_string_equal(a.doubt, "SLURM_JOB_NUM_NODES and SLURM_NNODES differ: '1'");
    environment_of(&a, "srun -N2 x",
                   (const char *const[]){"SLURM_NNODES", "1", "SLURM_JOB_NUM_NODES", "3", NULL});
    assert_true(a.certain);
    assert_int_equal(a.nodes, 2);
    environment_of(&a, "srun x", (const char *const[]){"SLURM_NNODES", "1-2", NULL});
    assert_false(a.certain);
    environment_of(&a, "srun x", (const char *const[]){"SLURM_DISTRIBUTION", "cyclic", NULL});
    assert_int_equal(a.given, SRUN_DISTRIBUTION);
    environment_of(&a, "srun x", (const char *const[]){"SLURM_HOSTFILE", "/h", NULL});
    assert_int_equal(a.given, SRUN_HOSTFILE);
    environment_of(&a, "srun x", (const char *const[]){"SLURM_HET_SIZE", "2", NULL});
    assert_int_equal(a.given, SRUN_HET);
    environment_of(
        &a, "srun x",
        (const char *const[]){"SRUN_CPUS_PER_TASK", "2", "SLURM_CPUS_PER_TASK", "4", NULL});
    assert_int_equal(a.cpus_per_task, 4);
}

static void tells_hidden_peers(void **state)
{
    static const struct {
        const char *words, *variable, *value;
        bool hidden;
    } rows[] = {
        {"srun x", NULL, NULL, false},
        {"srun --gpus-per-task=1 x", NULL, NULL, true},
        {"srun --gpus-per-task=1 --gpu-bind=none x", NULL, NULL, false},
        {"srun --gpu-bind=single:1 x", NULL, NULL, true},
        {"srun x", "SLURM_GPUS_PER_TASK", "1", true},
        {"srun x", "SLURM_GPU_BIND", "none", false},
        {"srun x", "SLURM_GPU_BIND", "closest", true},
        {"srun --gpu-bind=none x", "SLURM_GPU_BIND", "closest", false},
        {"srun --ntasks-per-gpu=1 x", NULL, NULL, true}, /* sets single binding: srun(1) */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct srun_args a;
        environment_of(&a, rows[i].words,
                       (const char *const[]){rows[i].variable, rows[i].value, NULL});
        if (srun_args_hide_peers(&a) != rows[i].hidden)
            fail_msg("%s %s", rows[i].words, rows[i].variable);
    }
}

static void knows_launchers_daemons(void **state)
{
    (void)state;
    assert_true(srun_args_is_helper("orted"));
    assert_true(srun_args_is_helper("/usr/lib/openmpi/bin/prted"));
    assert_true(srun_args_is_helper("hydra_pmi_proxy"));
    assert_false(srun_args_is_helper("/home/u/train.sh"));
    assert_false(srun_args_is_helper(NULL));
}

static void reads_own_cmdline(void **state)
{
    size_t size = 0;
    char *bytes = srun_args_cmdline(&size);
    (void)state;
    assert_non_null(bytes);
    assert_true(size > 1 && bytes[size - 1] == 0);
    assert_non_null(strstr(bytes, "test_srun_args"));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_command_lines),       cmocka_unit_test(doubts),
        cmocka_unit_test(empty_or_unended_is_doubt), cmocka_unit_test(reads_environment),
        cmocka_unit_test(tells_hidden_peers),        cmocka_unit_test(knows_launchers_daemons),
        cmocka_unit_test(reads_own_cmdline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
