/*
 * The job from Slurm's environment, and the cluster from scontrol: a shell script that plays it,
 * first in PATH. Right values: sbatch(1) for the variables, and facts of Slurm's source for what
 * scontrol says where there is no topology ("No topology information available" on stderr, exit 0).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slurm.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- counts ---- */

static const struct {
    const char *text;
    int n;
    const char *message; /* NULL: right */
    int counts[12];
} counts[] = {
    {"8(x2),4", 3, NULL, {8, 8, 4}},
    {"1(x10)", 10, NULL, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"2,4,2", 3, NULL, {2, 4, 2}},
    {"0(x2)", 2, NULL, {0, 0}},
    {"8(x3)", 2, "\"8(x3)\" is for more than 2 nodes", {0}},
    {"8(x3)", 4, "\"8(x3)\" is for 3 nodes, not 4", {0}},
    {"", 1, "\"\": expected counts such as 8(x10),4", {0}},
    {"8,", 2, "\"8,\": expected counts such as 8(x10),4", {0}},
    {"8(x", 2, "\"8(x\": expected counts such as 8(x10),4", {0}},
    {"8(y2)", 2, "\"8(y2)\": expected counts such as 8(x10),4", {0}},
    {"8(x2", 2, "\"8(x2\": expected counts such as 8(x10),4", {0}},
    {"8(", 1, "\"8(\": expected counts such as 8(x10),4", {0}},
    {"-1", 1, "\"-1\": expected counts such as 8(x10),4", {0}},
    {"99999999999", 1, "\"99999999999\": expected counts such as 8(x10),4", {0}},
    {"1(x99999999999)", 1, "\"1(x99999999999)\": expected counts such as 8(x10),4", {0}},
    {"1;2", 2, "\"1;2\": expected counts such as 8(x10),4", {0}},
};

static void parses_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct berth_error err = {0};
        int *got = slurm_counts_parse(counts[i].text, counts[i].n, &err);
        assert_string_equal(err.text, counts[i].message ? counts[i].message : "");
        assert_int_equal(!got, counts[i].message != NULL);
        for (int k = 0; got && k < counts[i].n; k++)
            assert_int_equal(got[k], counts[i].counts[k]);
        free(got);
    }
}

/* ---- the job ---- */

static const char *const variables[] = {
    "SLURM_JOB_ID",         "SLURM_JOBID",          "SLURM_JOB_NODELIST", "SLURM_NODELIST",
    "SLURM_TASKS_PER_NODE", "SLURM_NTASKS",         "SLURM_NPROCS",       "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_NODE",  "SLURM_STEP_NUM_NODES",
};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return 0;
}

static void no_job(void **state)
{
    struct slurm_job job;

    (void)state;
    assert_int_equal(slurm_job_env(&job, NULL), 1);
    setenv("SLURM_JOB_ID", "7", 1);
    assert_int_equal(slurm_job_env(&job, NULL), 1); /* no nodes: a salloc that waits, say */
}

static void reads_job(void **state)
{
    struct slurm_job job;

    (void)state;
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_NODELIST", "n[03-04],n10", 1);
    setenv("SLURM_TASKS_PER_NODE", "8(x2),4", 1);
    setenv("SLURM_NTASKS", "20", 1);
    setenv("SLURM_GPUS_ON_NODE", "8", 1);
    assert_int_equal(slurm_job_env(&job, NULL), 0);
    assert_string_equal(job.job_id, "7");
    assert_string_equal(job.nodelist, "n[03-04],n10");
    assert_int_equal(job.n_nodes, 3);
    assert_string_equal(job.names[2], "n10");
    assert_int_equal(job.tasks[2], 4);
    assert_int_equal(job.ntasks, 20);
    assert_int_equal(job.gpus_per_node, 8);
    slurm_job_clear(&job);
}

static void reads_older_names(void **state)
{
    struct slurm_job job;

    (void)state;
    setenv("SLURM_JOBID", "8", 1);
    setenv("SLURM_NODELIST", "n1", 1);
    setenv("SLURM_NPROCS", "2", 1);
    setenv("SLURM_GPUS_PER_NODE", "a100:4,v100:2", 1);
    assert_int_equal(slurm_job_env(&job, NULL), 0);
    assert_int_equal(job.n_nodes, 1);
    assert_null(job.tasks);
    assert_int_equal(job.ntasks, 2);
    assert_int_equal(job.gpus_per_node, 6);
    slurm_job_clear(&job);
}

/* In a step of 2 nodes of a job of 3, SLURM_TASKS_PER_NODE is the step's. */
static void leaves_step_counts(void **state)
{
    struct slurm_job job;

    (void)state;
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    setenv("SLURM_TASKS_PER_NODE", "8(x2)", 1);
    setenv("SLURM_STEP_NUM_NODES", "2", 1);
    assert_int_equal(slurm_job_env(&job, NULL), 0);
    assert_null(job.tasks);
    slurm_job_clear(&job);
}

static void refuses_wrong_job(void **state)
{
    struct berth_error err = {0};
    struct slurm_job job;

    (void)state;
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-", 1);
    assert_int_equal(slurm_job_env(&job, &err), -1);
    assert_string_equal(err.text, "SLURM_JOB_NODELIST: column 2: this '[' is never closed");
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    setenv("SLURM_TASKS_PER_NODE", "8", 1);
    assert_int_equal(slurm_job_env(&job, &err), -1);
    assert_string_equal(err.text, "SLURM_TASKS_PER_NODE: \"8\" is for 1 nodes, not 3");
    setenv("SLURM_GPUS_ON_NODE", "many", 1);
    unsetenv("SLURM_TASKS_PER_NODE");
    assert_int_equal(slurm_job_env(&job, &err), 0);
    assert_int_equal(job.gpus_per_node, 0);
    slurm_job_clear(&job);
}

/* ---- scontrol ---- */

static char directory[] = "/tmp/berth-test-XXXXXX";

static int make_directory(void **state)
{
    char path[8192];
    const char *old = getenv("PATH");

    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s:%s", directory, old ? old : "/usr/bin:/bin");
    unsetenv("BERTH_SCONTROL");
    return setenv("PATH", path, 1);
}

static int remove_directory(void **state)
{
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "%s/scontrol", directory);
    unlink(path);
    return rmdir(directory);
}

static void play(const char *script)
{
    char path[64];

    snprintf(path, sizeof path, "%s/scontrol", directory);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "#!/bin/sh\n%s\n", script);
    fclose(out);
    assert_int_equal(chmod(path, 0755), 0);
}

static const char *const show_x[] = {"show", "x y", NULL};

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Arguments arrive as they are (no shell), stdin is empty, signals are as in a fresh process. */
static void runs_scontrol(void **state)
{
    sigset_t mask, old;
    size_t size;

    (void)state;
    play("cat; echo $#; for a in \"$@\"; do echo \"$a\"; done; grep SigBlk /proc/self/status");
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, &old);
    char *text = slurm_scontrol(show_x, 10, &size, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_non_null(text);
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, "2\nshow\nx y\nSigBlk:\t0000000000000000\n");
    free(text);
    assert_no_children();
}

static void takes_much_output(void **state)
{
    size_t size;

    (void)state;
    play("echo noise >&2; head -c 3000000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero >&2");
    char *text = slurm_scontrol(show_x, 30, &size, NULL);
    assert_non_null(text);
    assert_int_equal(size, 3000000);
    free(text);
}

static const struct {
    const char *script, *message;
} failures[] = {
    {"echo 'scontrol: error: Unable to contact slurm controller (connect failure)' >&2; echo more "
     ">&2; "
     "exit 1",
     "scontrol show x y: exit status 1: Unable to contact slurm controller (connect failure)"},
    {"exit 3", "scontrol show x y: exit status 3"},
    {"kill -9 $$", "scontrol show x y: killed by signal 9"},
};

static void reports_failures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        struct berth_error err = {0};
        size_t size;
        play(failures[i].script);
        assert_null(slurm_scontrol(show_x, 10, &size, &err));
        assert_int_equal(err.kind, BERTH_ESYSTEM);
        assert_string_equal(err.text, failures[i].message);
        assert_no_children();
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Late with its output open, and late after closing it: both end at the deadline, both are reaped.
 */
static void gives_up_in_time(void **state)
{
    static const char *const scripts[] = {"exec sleep 60", "exec >/dev/null 2>&1; exec sleep 60",
                                          "trap '' TERM; while :; do echo x; sleep 0.2; done"};

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct berth_error err = {0};
        size_t size;
        double start = now();
        play(scripts[i]);
        assert_null(slurm_scontrol(show_x, 1, &size, &err));
        assert_string_equal(err.text, "scontrol show x y: no answer within 1 s");
        assert_true(now() - start < 5);
        assert_no_children();
    }
}

static void says_that_it_is_missing(void **state)
{
    const char *preload = getenv("LD_PRELOAD");
    struct berth_error err = {0};
    size_t size;

    (void)state;
    if (preload && strstr(preload, "valgrind"))
        skip(); /* under valgrind posix_spawn cannot see that exec failed */
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_null(slurm_scontrol(show_x, 10, &size, &err));
    setenv("PATH", path, 1);
    assert_string_equal(err.text,
                        "scontrol show x y: cannot start scontrol: No such file or directory");
    free(path);
}

static void on_chld(int signal)
{
    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* srun may reap our child before we do: the output counts then. Its own children are left alone. */
static void lives_beside_other_children(void **state)
{
    struct sigaction reap = {.sa_handler = on_chld, .sa_flags = SA_RESTART}, old;
    size_t size;
    int status;

    (void)state;
    play("echo out");
    sigaction(SIGCHLD, &reap, &old);
    char *text = slurm_scontrol(show_x, 10, &size, NULL);
    sigaction(SIGCHLD, &old, NULL);
    assert_string_equal(text, "out\n");
    free(text);

    pid_t other = fork();
    if (other == 0)
        _exit(42);
    text = slurm_scontrol(show_x, 10, &size, NULL);
    assert_string_equal(text, "out\n");
    free(text);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), 42);
}

/* With our standard streams closed, the pipes must not land on 0, 1 or 2. */
static void survives_closed_streams(void **state)
{
    size_t size;

    (void)state;
    play("echo out; echo err >&2");
    pid_t child = fork();
    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        char *text = slurm_scontrol(show_x, 10, &size, NULL);
        int right = text && strcmp(text, "out\n") == 0;
        free(text);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- the cluster ---- */

static void reads_cluster(void **state)
{
    struct berth_error err = {0};

    (void)state;
    play("case \"$*\" in\n"
         "'show topology') echo 'SwitchName=l0 Level=0 LinkSpeed=1 Nodes=n[0-1]'\n"
         "  echo 'SwitchName=s Level=1 LinkSpeed=1 Nodes=n[0-1] Switches=l0' ;;\n"
         "'--oneliner show node n[0-1]') echo 'NodeName=n0 Gres=gpu:4 NodeAddr=10.0.0.1 '\n"
         "  echo 'NodeName=n1 Gres=gpu:4 NodeAddr=n1 ' ;;\n"
         "*) exit 9 ;; esac");
    struct cluster *c = slurm_cluster(NULL, "n[0-1]", true, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(c->n_switches, 2);
    assert_int_equal(c->n_nodes, 2);
    assert_int_equal(c->nodes[1].gpus, 4);
    assert_string_equal(c->nodes[0].addr, "10.0.0.1");
    assert_null(c->nodes[1].addr);
    assert_string_equal(c->source, "scontrol show topology, scontrol show node");
    cluster_free(c);
    c = slurm_cluster(NULL, NULL, false, &err);
    assert_int_equal(c->nodes[1].gpus, -1);
    cluster_free(c);
    assert_null(slurm_cluster("/nonexistent/topology.conf", NULL, false, &err));
    assert_int_equal(err.kind, BERTH_ESYSTEM);
}

/* No topology: nothing printed (22.05), or a failure where the configuration says none, default,
 * flat. */
static void reads_cluster_without_topology(void **state)
{
    static const char *const scripts[] = {
        "echo 'scontrol: error: No topology information available' >&2",
        "[ \"$2\" = config ] && echo 'TopologyPlugin          = topology/none' && exit\n exit 1",
        "[ \"$2\" = config ] && echo 'TopologyPlugin          = topology/flat' && exit\n exit 1",
        "[ \"$2\" = config ] && echo 'TopologyPlugin = topology/default' && exit\n exit 1",
    };
    struct berth_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        play(scripts[i]);
        struct cluster *c = slurm_cluster(NULL, NULL, false, &err);
        assert_non_null(c);
        assert_int_equal(c->n_switches, 0);
        cluster_free(c);
    }
    /* the controller is away: 22.05.8 exits with 0 all the same */
    play("[ \"$2\" = config ] && exit 1\n"
         "echo 'slurm_load_topo error: Unable to contact slurm controller' >&2");
    assert_null(slurm_cluster(NULL, NULL, false, &err));
    assert_string_equal(err.text, "scontrol show topology: no output: Unable to contact slurm "
                                  "controller");
    play("[ \"$2\" = config ] && echo 'TopologyPlugin = topology/tree' && exit\n"
         "echo 'scontrol: error: broken' >&2; exit 1");
    assert_null(slurm_cluster(NULL, NULL, false, &err));
    assert_string_equal(err.text, "scontrol show topology: exit status 1: broken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_counts),
        cmocka_unit_test_setup(no_job, clear),
        cmocka_unit_test_setup(reads_job, clear),
        cmocka_unit_test_setup(reads_older_names, clear),
        cmocka_unit_test_setup(leaves_step_counts, clear),
        cmocka_unit_test_setup(refuses_wrong_job, clear),
        cmocka_unit_test(runs_scontrol),
        cmocka_unit_test(takes_much_output),
        cmocka_unit_test(reports_failures),
        cmocka_unit_test(gives_up_in_time),
        cmocka_unit_test(says_that_it_is_missing),
        cmocka_unit_test(lives_beside_other_children),
        cmocka_unit_test(survives_closed_streams),
        cmocka_unit_test(reads_cluster),
        cmocka_unit_test(reads_cluster_without_topology),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
