/*
 * The variable table of the specification (section 5), row by row; and the note and the map file
 * that bring a step's variables to the nodes. Right values follow from the map below by the table.
 *
 * The map, by hand: tp2,dp2 on two nodes, n2 with ranks 0 and 1, n0 with ranks 2 and 3:
 *     rank  node  map node  local  tp  dp
 *        0    n2         0      0   0   0
 *        1    n2         0      1   1   0
 *        2    n0         1      0   0   1
 *        3    n0         1      1   1   1
 */
#include "../../spank/mapfile.h"
#include "../../spank/note.h"
#include "../../spank/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct berth_map *map;

static int make_map(void **state)
{
    static const char json[] =
        "{\"berth_map\": 1, \"world\": 4, \"mesh\": {\"order\": \"tp-dp\", \"axes\": [{\"name\": "
        "\"tp\", \"size\": 2},"
        "{\"name\": \"dp\", \"size\": 2}]}, \"nodes\": [{\"name\": \"n2\", \"ranks\": \"0-1\"},"
        "{\"name\": \"n0\", \"ranks\": \"2-3\"}]}";
    struct berth_error err;
    (void)state;
    map = berth_map_parse("map", json, strlen(json), &err);
    return map ? 0 : -1;
}

static int drop_map(void **state)
{
    (void)state;
    berth_map_close(map);
    return 0;
}

static const char *environment(const char *name, void *arg)
{
    const char *const *pairs = arg;
    for (int i = 0; pairs && pairs[i]; i += 2)
        if (!strcmp(pairs[i], name))
            return pairs[i + 1];
    return NULL;
}

static struct variables_step a_step(void)
{
    return (struct variables_step){
        .map = map, .master_addr = "n2", .master_port = 20001, .map_file = "/run/berth/m"};
}

static const struct variable *find(const struct variables *v, const char *name)
{
    const struct variable *found = NULL;
    for (int i = 0; i < v->n; i++)
        if (!strcmp(v->list[i].name, name)) {
            assert_null(found); /* nothing is listed twice */
            found = &v->list[i];
        }
    return found;
}

static void expect(const struct variables *v, const char *name, const char *value)
{
    const struct variable *found = find(v, name);
    if (!value && found && found->fate != VARIABLE_UNSET)
        fail_msg("%s is set to %s", name, found->value);
    if (value && (!found || found->fate != VARIABLE_SET || strcmp(found->value, value) != 0))
        fail_msg("%s is %s, not %s", name, found ? found->value : "not there", value);
}

/* Rows 1, 2, 4, 5, 6: tasks = world. */
static void one_task_per_rank(void **state)
{
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    (void)state;
    assert_int_equal(variables_make(&step, 1, 0, environment, NULL, &v, &err), 0);
    expect(&v, "RANK", "2");
    expect(&v, "WORLD_SIZE", "4");
    expect(&v, "LOCAL_RANK", "0");
    expect(&v, "LOCAL_WORLD_SIZE", "2");
    expect(&v, "NODE_RANK", "1");
    expect(&v, "GROUP_RANK", "1");
    expect(&v, "MASTER_ADDR", "n2");
    expect(&v, "MASTER_PORT", "20001");
    expect(&v, "BERTH_MAP", "/run/berth/m");
    expect(&v, "BERTH_MAP_HASH", berth_map_hash(map));
    expect(&v, "BERTH_MODE", "remap");
    expect(&v, "BERTH_RANK", "2");
    expect(&v, "BERTH_LOCAL_RANK", "0");
    expect(&v, "BERTH_NODE_RANK", "1");
    expect(&v, "BERTH_TP_RANK", "0");
    expect(&v, "BERTH_TP_SIZE", "2");
    expect(&v, "BERTH_DP_RANK", "1");
    expect(&v, "BERTH_DP_SIZE", "2");
    static const char *const absent[] = {"PET_NODE_RANK",   "PET_NNODES",         "PET_MASTER_ADDR",
                                         "PET_MASTER_PORT", "PET_NPROC_PER_NODE", "SLURM_PROCID",
                                         "SLURM_NODEID",    "SLURM_LOCALID"};
    for (int i = 0; i < 8; i++)
        assert_null(find(&v, absent[i]));
    variables_clear(&v);
    step.layout = true;
    assert_int_equal(variables_make(&step, 0, 1, environment, NULL, &v, &err), 0);
    expect(&v, "BERTH_MODE", "layout");
    expect(&v, "RANK", "1");
    expect(&v, "BERTH_TP_RANK", "1");
    variables_clear(&v);
}

/* The torchrun column: no per-rank variables, PET_* instead. */
static void one_launcher_per_node(void **state)
{
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    (void)state;
    step.nodes = true;
    assert_int_equal(variables_make(&step, 1, 0, environment, NULL, &v, &err), 0);
    static const char *const absent[] = {
        "RANK",        "WORLD_SIZE",       "LOCAL_RANK",    "LOCAL_WORLD_SIZE",
        "BERTH_RANK",  "BERTH_LOCAL_RANK", "BERTH_TP_RANK", "BERTH_DP_RANK",
        "SLURM_PROCID"};
    for (int i = 0; i < 9; i++)
        expect(&v, absent[i], NULL);
    expect(&v, "NODE_RANK", "1");
    expect(&v, "GROUP_RANK", "1");
    expect(&v, "PET_NODE_RANK", "1");
    expect(&v, "PET_NNODES", "2");
    expect(&v, "PET_NPROC_PER_NODE", "2");
    expect(&v, "PET_MASTER_ADDR", "n2");
    expect(&v, "PET_MASTER_PORT", "20001");
    expect(&v, "MASTER_ADDR", "n2");
    expect(&v, "BERTH_NODE_RANK", "1");
    expect(&v, "BERTH_TP_SIZE", "2");
    expect(&v, "BERTH_MODE", "remap");
    variables_clear(&v);
}

/* Row 7: override=slurm, in remap alone, and not under PMI. */
static void override_slurm(void **state)
{
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    (void)state;
    step.override_slurm = true;
    assert_int_equal(variables_make(&step, 1, 1, environment, NULL, &v, &err), 0);
    expect(&v, "SLURM_PROCID", "3");
    expect(&v, "SLURM_NODEID", "1");
    expect(&v, "SLURM_LOCALID", "1");
    variables_clear(&v);
    step.layout = true;
    assert_int_equal(variables_make(&step, 1, 1, environment, NULL, &v, &err), 0);
    assert_null(find(&v, "SLURM_PROCID"));
    variables_clear(&v);
    step.layout = false, step.nodes = true;
    assert_int_equal(variables_make(&step, 1, 0, environment, NULL, &v, &err), 0);
    assert_null(find(&v, "SLURM_PROCID"));
    variables_clear(&v);
    step.nodes = false;
    const char *pmi[] = {"PMIX_RANK", "0", NULL};
    assert_int_equal(variables_make(&step, 1, 1, environment, pmi, &v, &err), -1);
    assert_int_equal(err.kind, BERTH_ENO);
    assert_string_equal(
        err.text, "override=slurm is refused under PMI (PMIX_RANK is set): MPI's ranks would no "
                  "longer be SLURM_PROCID; use --mpi=none");
    expect(&v, "RANK", "3"); /* the rest is there all the same */
    assert_null(find(&v, "SLURM_PROCID"));
    variables_clear(&v);
}

static void local_rank_left_alone(void **state)
{
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    (void)state;
    step.keep_local_rank = true;
    assert_int_equal(variables_make(&step, 1, 1, environment, NULL, &v, &err), 0);
    assert_null(find(&v, "LOCAL_RANK"));
    expect(&v, "BERTH_LOCAL_RANK", "1");
    expect(&v, "LOCAL_WORLD_SIZE", "2");
    variables_clear(&v);
}

static void users_variables_stay(void **state)
{
    const char *users[] = {"MASTER_ADDR", "n2", "MASTER_PORT", "29500", "BERTH_RANK", "77", NULL};
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    char sentence[256];
    (void)state;
    assert_int_equal(variables_make(&step, 0, 0, environment, users, &v, &err), 0);
    assert_int_equal(find(&v, "MASTER_ADDR")->fate, VARIABLE_KEPT);
    assert_int_equal(find(&v, "MASTER_PORT")->fate, VARIABLE_CONFLICT);
    assert_string_equal(find(&v, "MASTER_PORT")->users, "29500");
    expect(&v, "BERTH_RANK", "0"); /* BERTH_ variables are Berth's own */
    assert_true(variables_conflict(&v, sentence, sizeof(sentence)));
    assert_string_equal(sentence, "MASTER_PORT=29500 is set already and stays; the map says 20001");
    variables_clear(&v);
    assert_int_equal(variables_make(&step, 0, 0, environment, NULL, &v, &err), 0);
    assert_false(variables_conflict(&v, sentence, sizeof(sentence)));
    variables_clear(&v);
}

/* A step that a Berth task starts inherits the outer step's values: those are not the user's. */
static void outer_steps_variables_are_replaced(void **state)
{
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    (void)state;
    assert_int_equal(variables_make(&step, 1, 1, environment, NULL, &v, &err), 0);
    const char *mark = find(&v, "BERTH_SET")->value;
    assert_string_equal(
        mark, "RANK=3,WORLD_SIZE=4,LOCAL_RANK=1,LOCAL_WORLD_SIZE=2,NODE_RANK=1,GROUP_RANK=1,"
              "MASTER_ADDR=n2,MASTER_PORT=20001");
    const char *inherited[] = {"BERTH_SET",  mark, "RANK",       "3", "MASTER_PORT", "20001",
                               "WORLD_SIZE", "5",  "LOCAL_RANK", "1", NULL};
    struct variables inner;
    step.master_port = 20002;
    step.keep_local_rank = true;
    assert_int_equal(variables_make(&step, 0, 0, environment, inherited, &inner, &err), 0);
    expect(&inner, "RANK", "0");
    expect(&inner, "MASTER_PORT", "20002");
    assert_int_equal(find(&inner, "WORLD_SIZE")->fate,
                     VARIABLE_CONFLICT); /* changed after: the user's */
    assert_int_equal(find(&inner, "LOCAL_RANK")->fate,
                     VARIABLE_UNSET); /* stale, and not this step's to set */
    variables_clear(&inner);
    variables_clear(&v);
    /* a value that only begins alike is not Berth's */
    const char *longer[] = {"BERTH_SET", "RANK=3", "RANK", "33", NULL};
    assert_int_equal(variables_make(&step, 0, 0, environment, longer, &inner, &err), 0);
    assert_int_equal(find(&inner, "RANK")->fate, VARIABLE_CONFLICT);
    variables_clear(&inner);
}

static void refuses_unknown_tasks(void **state)
{
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    (void)state;
    assert_int_equal(variables_make(&step, 1, 2, environment, NULL, &v, &err), -1);
    assert_string_equal(err.text, "the map has no rank for local task 2 of node 1");
    variables_clear(&v);
    step.map_file = NULL;
    assert_int_equal(variables_make(&step, 1, 1, environment, NULL, &v, &err), 0);
    assert_int_equal(find(&v, "BERTH_MAP")->fate, VARIABLE_UNSET);
    variables_clear(&v);
}

static void ports_stay_in_range(void **state)
{
    (void)state;
    for (unsigned job = 0; job < 1000; job++) {
        int port = variables_port(job, job % 7, 20000, 20009);
        assert_in_range(port, 20000, 20009);
        assert_int_equal(port, variables_port(job, job % 7, 20000, 20009));
    }
    assert_int_equal(variables_port(5, 0, 4000, 4000), 4000);
    assert_int_not_equal(variables_port(5, 0, 20000, 28999), variables_port(5, 1, 20000, 28999));
}

/* ---- the note ---- */

static void note_round_trip(void **state)
{
    struct note note = {.layout = true,
                        .strict = true,
                        .parts = 3,
                        .port = 20001,
                        .addr = "fe80::1%eth0"},
                back;
    struct berth_error err;
    char text[NOTE_MAX];
    (void)state;
    assert_true(note_format(&note, text, sizeof(text)));
    assert_string_equal(text, "1 layout 3 20001 s- fe80::1%eth0");
    assert_int_equal(note_parse(text, &back, &err), 0);
    assert_true(back.layout && back.strict && !back.nodes && !back.override_slurm &&
                !back.keep_local_rank);
    assert_int_equal(back.parts, 3);
    assert_int_equal(back.port, 20001);
    assert_string_equal(back.addr, note.addr);
    strcpy(note.addr, "two words");
    assert_false(note_format(&note, text, sizeof(text)));
    note.addr[0] = 0;
    assert_false(note_format(&note, text, sizeof(text)));
}

static void note_refuses(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "SLURM_BERTH_STEP is not what this version of Berth writes"},
        {"garbage", "SLURM_BERTH_STEP is not what this version of Berth writes"},
        {"2 layout 1 20001 - n2", "SLURM_BERTH_STEP is not what this version of Berth writes"},
        {"1 layout 1 20001 - n2 more", "SLURM_BERTH_STEP is not what this version of Berth writes"},
        {"1 wild 1 20001 - n2", "SLURM_BERTH_STEP is garbled"},
        {"1 layout 1 20001 x n2", "SLURM_BERTH_STEP is garbled"},
        {"1 layout 1 20001 - n2;rm", "SLURM_BERTH_STEP is garbled"},
        {"1 layout 0 20001 - n2", "SLURM_BERTH_STEP: 0 parts and port 20001 are out of range"},
        {"1 layout 65 20001 - n2", "SLURM_BERTH_STEP: 65 parts and port 20001 are out of range"},
        {"1 layout -1 20001 - n2", "SLURM_BERTH_STEP: -1 parts and port 20001 are out of range"},
        {"1 layout 1 70000 - n2", "SLURM_BERTH_STEP: 1 parts and port 70000 are out of range"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct note note;
        struct berth_error err = {0};
        assert_int_equal(note_parse(rows[i].text, &note, &err), -1);
        assert_string_equal(err.text, rows[i].message);
    }
}

/* ---- the map file ---- */

static char base[64];

static int make_base(void **state)
{
    (void)state;
    strcpy(base, "/tmp/berth-mapfile-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int drop_base(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", base);
    return system(command);
}

static char *under(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", base, name);
    return path;
}

static void mapfile_lives_and_goes(void **state)
{
    struct mapfile file;
    struct berth_error err;
    struct stat st;
    char expected[64], text[4] = "";
    (void)state;
    assert_int_equal(mapfile_open(&file, under("d"), 7, 0, getpid(), geteuid(), getegid(), &err),
                     0);
    snprintf(expected, sizeof(expected), "d/7.0.%d.json", getpid());
    assert_int_equal(stat(under("d"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    assert_int_equal(stat(under(expected), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(mapfile_write(&file, "map", 3, &err), 0);
    FILE *in = fopen(under(expected), "r");
    assert_non_null(in);
    assert_int_equal(fread(text, 1, 3, in), 3);
    fclose(in);
    assert_string_equal(text, "map");
    mapfile_remove(&file);
    assert_int_equal(stat(under(expected), &st), -1);
    mapfile_remove(&file); /* twice is harmless */
}

static void mapfile_refuses_directories(void **state)
{
    struct mapfile file;
    struct berth_error err;
    char text[256];
    (void)state;
    assert_int_equal(mkdir(under("wide"), 0777), 0);
    assert_int_equal(chmod(under("wide"), 0777), 0);
    assert_int_equal(mapfile_open(&file, under("wide"), 7, 0, 1, geteuid(), getegid(), &err), -1);
    snprintf(text, sizeof(text),
             "the map directory %s/wide must belong to root and be writable by root alone", base);
    assert_string_equal(err.text, text);
    assert_int_equal(symlink("/tmp", under("link")), 0);
    assert_int_equal(mapfile_open(&file, under("link"), 7, 0, 1, geteuid(), getegid(), &err), -1);
    assert_non_null(strstr(err.text, "link cannot be opened: "));
    assert_int_equal(mapfile_open(&file, under("no/where"), 7, 0, 1, geteuid(), getegid(), &err),
                     -1);
    assert_non_null(strstr(err.text, "no/where cannot be made: No such file or directory"));
    assert_int_equal(file.dir, -1);
    assert_int_equal(file.fd, -1);
}

static void mapfile_full_disk(void **state)
{
    struct mapfile file;
    struct berth_error err;
    (void)state;
    assert_int_equal(mapfile_open(&file, under("full"), 7, 0, getpid(), geteuid(), getegid(), &err),
                     0);
    close(file.fd);
    file.fd = open("/dev/full", 1);
    assert_true(file.fd >= 0);
    assert_int_equal(mapfile_write(&file, "map", 3, &err), -1);
    assert_non_null(strstr(err.text, "cannot be written: No space left on device"));
    mapfile_remove(&file);
}

static void mapfile_sweeps_the_dead(void **state)
{
    struct mapfile file;
    struct berth_error err;
    struct stat st;
    char dead[64], alive[64];
    pid_t child = fork();
    (void)state;
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0); /* now nobody has this id */
    assert_int_equal(
        mapfile_open(&file, under("sweep"), 1, 0, getpid(), geteuid(), getegid(), &err), 0);
    snprintf(dead, sizeof(dead), "sweep/9.4.%d.json", child);
    snprintf(alive, sizeof(alive), "sweep/9.4.%d.json", getppid());
    close(creat(under(dead), 0600));
    close(creat(under(alive), 0600));
    close(creat(under("sweep/other"), 0600));
    mapfile_remove(&file);
    assert_int_equal(
        mapfile_open(&file, under("sweep"), 1, 1, getpid(), geteuid(), getegid(), &err), 0);
    assert_int_equal(stat(under(dead), &st), -1);
    assert_int_equal(stat(under(alive), &st), 0);
    assert_int_equal(stat(under("sweep/other"), &st), 0);
    mapfile_remove(&file);
}

static const char *counting(const char *name, void *arg)
{
    const char *const *pairs = arg;
    (*(int *)(uintptr_t)pairs[0])++;
    return environment(name, (void *)(uintptr_t)(pairs + 1));
}

/* The walk over all ranks is for users' variables alone; a map of 10,000 ranks takes it long. */
static void check_walks_where_it_must(void **state)
{
    struct variables_step step = a_step();
    struct variables v;
    struct berth_error err;
    int one = 0, all = 0;
    const char *none[] = {(const char *)&one, NULL};
    const char *same[] = {(const char *)&all, "WORLD_SIZE", "4", NULL};
    const char *last[] = {(const char *)&all, "WORLD_SIZE", "4", "NODE_RANK", "0", NULL};
    const char *first[] = {(const char *)&all, "RANK", "7", NULL};
    (void)state;
    assert_int_equal(variables_make(&step, 0, 0, counting, none, &v, &err), 0);
    variables_clear(&v);
    int single = one;
    one = 0;
    assert_int_equal(variables_check(&step, counting, none, &err), 0);
    assert_int_equal(one, single);
    assert_int_equal(variables_check(&step, counting, same, &err), 0);
    assert_int_equal(all, 4 * single); /* the map's 4 ranks */
    assert_int_equal(variables_check(&step, counting, last, &err), -1);
    assert_string_equal(err.text, "NODE_RANK=0 is set already and stays; the map says 1");
    assert_int_equal(variables_check(&step, counting, first, &err), -1);
    assert_string_equal(err.text, "RANK=7 is set already and stays; the map says 0");
    step.nodes = true; /* one launcher per node: the map's 2 nodes */
    assert_int_equal(variables_check(&step, counting,
                                     (const char *[]){(const char *)&all, "NODE_RANK", "0", NULL},
                                     &err),
                     -1);
}

int main(void)
{
    const struct CMUnitTest variables[] = {
        cmocka_unit_test(one_task_per_rank),
        cmocka_unit_test(one_launcher_per_node),
        cmocka_unit_test(override_slurm),
        cmocka_unit_test(local_rank_left_alone),
        cmocka_unit_test(users_variables_stay),
        cmocka_unit_test(outer_steps_variables_are_replaced),
        cmocka_unit_test(check_walks_where_it_must),
        cmocka_unit_test(refuses_unknown_tasks),
        cmocka_unit_test(ports_stay_in_range),
        cmocka_unit_test(note_round_trip),
        cmocka_unit_test(note_refuses),
    };
    const struct CMUnitTest files[] = {
        cmocka_unit_test(mapfile_lives_and_goes),
        cmocka_unit_test(mapfile_refuses_directories),
        cmocka_unit_test(mapfile_full_disk),
        cmocka_unit_test(mapfile_sweeps_the_dead),
    };
    return cmocka_run_group_tests(variables, make_map, drop_map) +
           cmocka_run_group_tests(files, make_base, drop_base);
}
