/*
 * On the nodes, in slurmstepd. Root opens and removes an empty file whose path is made of the
 * administrator's directory and of numbers; all that a user could have written is read with the
 * user's rights in user_init and task_init. What goes wrong stops nothing, unless strict, and then
 * in task_init: a failing user_init would end the step with status 0 (22.05), a failing
 * init_post_opt can drain the node.
 */
#include "config.h"

#include "../lib/error.h"
#include "../placement/hostlist.h"
#include "plugin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- as root ---- */

void berth_node_open(struct berth_context *ctx, spank_t spank)
{
    struct node_side *n = &ctx->node;
    struct berth_error err;
    uint32_t job, step;
    uid_t uid;
    gid_t gid;
    char note[sizeof(NOTE_STOP)];
    spank_err_t rc;

    if (spank_get_item(spank, S_JOB_ID, &job) || spank_get_item(spank, S_JOB_STEPID, &step) ||
        spank_get_item(spank, S_JOB_UID, &uid) || spank_get_item(spank, S_JOB_GID, &gid))
        return;
    if (step >= SLURM_MAX_NORMAL_STEP_ID) /* batch, interactive, extern: no tasks of ours */
        return;
    rc = spank_getenv(spank, NOTE_VARIABLE, note, sizeof(note));
    if (rc == ESPANK_ENV_NOEXIST)
        return;
    n->acting = true;
    n->stop = rc == ESPANK_SUCCESS && !strcmp(note, NOTE_STOP);
    if (n->stop)
        return;
    if (mapfile_open(&n->file, ctx->site.dir, job, step, getpid(), uid, gid, &err))
        snprintf(n->error, sizeof(n->error), "%s", err.text);
    else
        snprintf(n->map_file, sizeof(n->map_file), "%s/%s", ctx->site.dir, n->file.name);
}

void berth_node_exit(struct berth_context *ctx)
{
    struct node_side *n = &ctx->node;

    mapfile_remove(&n->file);
    berth_map_close(n->map);
    *n = (struct node_side){.file = MAPFILE_NONE};
}

/* ---- with the user's rights ---- */

/* Length-checked; NULL and *err where the variable is absent or too long. Caller frees. */
static char *job_variable(spank_t spank, const char *name, size_t max, struct berth_error *err)
{
    char *value = malloc(max + 1);
    spank_err_t rc;

    if (!value) {
        berth_error_memory(err);
        return NULL;
    }
    rc = spank_getenv(spank, name, value, (int)max + 1);
    if (rc == ESPANK_SUCCESS)
        return value;
    berth_error_set(err, BERTH_EINPUT,
                    rc == ESPANK_NOSPACE ? "%s is longer than Berth writes it"
                                         : "%s did not arrive on the node",
                    name);
    free(value);
    return NULL;
}

static struct berth_map *receive(spank_t spank, struct note *note, struct berth_error *err)
{
    struct berth_map *map = NULL;
    char **parts = NULL;
    int n = 0;
    char *text = job_variable(spank, NOTE_VARIABLE, NOTE_MAX, err);

    if (!text || note_parse(text, note, err))
        goto done;
    parts = calloc((size_t)note->parts, sizeof(*parts));
    for (; parts && n < note->parts; n++) {
        char name[sizeof(NOTE_MAP_PREFIX) + 16];
        snprintf(name, sizeof(name), NOTE_MAP_PREFIX "%d", n);
        if (!(parts[n] = job_variable(spank, name, BERTH_PACK_PART_MAX, err)))
            goto done;
    }
    if (parts)
        map = berth_map_unpack((const char *const *)parts, n, err);
    else
        berth_error_memory(err);
done:
    for (int i = 0; i < n; i++)
        free(parts[i]);
    free(parts);
    free(text);
    return map;
}

/* This node's name in the step's own list, where its number says. */
static int find_node(spank_t spank, const struct berth_map *map, struct berth_error *err)
{
    char **names = NULL;
    int n, node = -1;
    uint32_t id = 0;
    char *list = job_variable(spank, "SLURM_STEP_NODELIST", 1 << 20, err);

    if (!list)
        return -1;
    n = hostlist_expand(list, &names, err);
    if (n > 0 && !spank_get_item(spank, S_JOB_NODEID, &id) && id < (uint32_t)n) {
        node = berth_map_node(map, names[id]);
        if (node < 0)
            berth_error_set(err, BERTH_ENO, "the map does not name node %.100s", names[id]);
    } else if (n >= 0) {
        berth_error_set(err, BERTH_ESYSTEM, "SLURM_STEP_NODELIST does not name this node");
    }
    if (n > 0)
        hostlist_free(names, n);
    free(list);
    return node;
}

/* The map must be one of this step: as many nodes and tasks. */
static int check_step(spank_t spank, const struct node_side *n, struct berth_error *err)
{
    uint32_t tasks = 0, nodes = 0;
    int map_nodes = berth_map_nodes(n->map);
    int map_tasks = n->note.nodes ? map_nodes : berth_map_world(n->map);

    if (spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks) ||
        spank_get_item(spank, S_JOB_NNODES, &nodes) || (int)tasks != map_tasks ||
        (int)nodes != map_nodes)
        return berth_error_set(err, BERTH_ENO,
                               "the map has %d tasks on %d nodes, this step %u on %u", map_tasks,
                               map_nodes, tasks, nodes);
    return 0;
}

/* And it must say of this node what Slurm does here. */
static int check_here(spank_t spank, const struct node_side *n, struct berth_error *err)
{
    const char *name = berth_map_node_name(n->map, n->node);
    uint32_t tasks = 0, global = 0;
    const int *ranks;
    int n_ranks = berth_map_node_ranks(n->map, n->node, &ranks);
    int expected = n->note.nodes ? 1 : n_ranks;

    if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) || (int)tasks != expected ||
        n_ranks < 1)
        return berth_error_set(err, BERTH_ENO,
                               "the map has %d tasks for node %.100s, Slurm starts %u", expected,
                               name, tasks);
    for (uint32_t i = 0; n->note.layout && i < tasks; i++)
        if (spank_get_item(spank, S_JOB_LOCAL_TO_GLOBAL_ID, i, &global) || (int)global != ranks[i])
            return berth_error_set(
                err, BERTH_ENO,
                "on node %.100s the map's rank %d is Slurm's task %u: not laid out as asked", name,
                ranks[i], global);
    return 0;
}

static int write_file(struct node_side *n, struct berth_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    int rc = out ? berth_map_write(n->map, BERTH_MAP_JSON, out, err) : berth_error_memory(err);

    if (out && fclose(out) && !rc)
        rc = berth_error_memory(err);
    if (!rc)
        rc = mapfile_write(&n->file, bytes, size, err);
    free(bytes);
    return rc;
}

static bool first_node(spank_t spank)
{
    uint32_t id = 1;
    return !spank_get_item(spank, S_JOB_NODEID, &id) && id == 0;
}

static const char *get_variable(const char *name, void *arg)
{
    size_t n = strlen(name);
    for (char **env = arg; env && *env; env++)
        if (!strncmp(*env, name, n) && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static struct variables_step variables_step(const struct node_side *n)
{
    return (struct variables_step){
        .map = n->map,
        .layout = n->note.layout,
        .nodes = n->note.nodes,
        .override_slurm = n->note.override_slurm,
        .keep_local_rank = n->note.keep_local_rank,
        .master_addr = n->note.addr,
        .master_port = n->note.port,
        .map_file = n->map_file[0] ? n->map_file : NULL,
    };
}

/* What is wrong alike on every node is told by the first alone. */
static void tell(struct node_side *n, spank_t spank, const char *sentence, bool everywhere)
{
    snprintf(n->error, sizeof(n->error), "%.*s", (int)sizeof(n->error) - 1, sentence);
    if (everywhere || first_node(spank))
        berth_say("%s; %s", sentence,
                  n->note.strict ? "the step stops (strict)"
                                 : "its tasks run as Slurm would start them");
}

void berth_node_user(struct berth_context *ctx, spank_t spank)
{
    struct node_side *n = &ctx->node;
    struct berth_error err;
    char **env = NULL;

    if (!n->acting || n->stop)
        return;
    n->map = receive(spank, &n->note, &err);
    if (!n->map || check_step(spank, n, &err)) {
        tell(n, spank, err.text, false);
        return;
    }
    n->node = find_node(spank, n->map, &err);
    if (n->node < 0 || check_here(spank, n, &err)) {
        tell(n, spank, err.text, true);
        return;
    }
    struct variables_step step = variables_step(n);
    if (n->note.strict && (spank_get_item(spank, S_JOB_ENV, &env) ||
                           variables_check(&step, get_variable, env, &err))) {
        tell(n, spank, env ? err.text : "Slurm does not show the job's environment", false);
        return;
    }
    if (!n->error[0] && write_file(n, &err))
        snprintf(n->error, sizeof(n->error), "%s", err.text);
    if (n->error[0]) {
        n->map_file[0] = 0;
        berth_say("%s; %s", n->error,
                  n->note.strict ? "the step stops (strict)" : "BERTH_MAP is not set");
    }
    n->ready = !n->error[0] || !n->note.strict;
}

/* ---- in the task ---- */

static void hide_transport(const struct node_side *n, spank_t spank)
{
    char name[sizeof(NOTE_MAP_PREFIX) + 16];

    spank_unsetenv(spank, NOTE_VARIABLE);
    for (int i = 0; i < (n->note.parts ? n->note.parts : BERTH_PACK_PARTS_MAX); i++) {
        snprintf(name, sizeof(name), NOTE_MAP_PREFIX "%d", i);
        spank_unsetenv(spank, name);
    }
    if (n->note.layout) { /* left here, a nested srun would take them for the user's */
        spank_unsetenv(spank, "SLURM_HOSTFILE");
        spank_unsetenv(spank, "SLURM_DISTRIBUTION");
    }
}

/* One line for all that the user has set, from the first task. */
static void tell_kept(const struct variables *vars)
{
    char line[1024];
    size_t used = 0;

    for (int i = 0; i < vars->n; i++) {
        const struct variable *v = &vars->list[i];
        if (v->fate != VARIABLE_CONFLICT && v->fate != VARIABLE_KEPT)
            continue;
        used +=
            (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", used ? ", " : "", v->name);
        if (v->fate == VARIABLE_CONFLICT && used < sizeof(line))
            used += (size_t)snprintf(line + used, sizeof(line) - used,
                                     "=%.60s (the map says %.60s)", v->users, v->value);
        if (used >= sizeof(line))
            break;
    }
    if (used)
        berth_say("set already, so left alone: %s", line);
}

static int apply(spank_t spank, const struct variables *vars, bool first)
{
    int rc = 0;

    for (int i = 0; i < vars->n && !rc; i++) {
        const struct variable *v = &vars->list[i];
        if (v->fate == VARIABLE_SET)
            rc = spank_setenv(spank, v->name, v->value, 1);
        else if (v->fate == VARIABLE_UNSET)
            spank_unsetenv(spank, v->name);
    }
    if (rc)
        berth_say("a variable could not be set: %s", spank_strerror((spank_err_t)rc));
    if (first)
        tell_kept(vars);
    return rc;
}

/*
 * Ends what would become the task. Not by returning -1: every task would print three lines of
 * Slurm's own, and where plugstack.conf says `optional` the program would run all the same.
 */
static _Noreturn void stop_task(void)
{
    _exit(1);
}

int berth_node_task(struct berth_context *ctx, spank_t spank)
{
    struct node_side *n = &ctx->node;
    struct variables_step step;
    struct variables vars = {0};
    struct berth_error err;
    uint32_t global = 1;
    int local = 0, rc;
    char **env = NULL;

    if (!n->acting)
        return 0;
    if (n->stop)
        stop_task();
    hide_transport(n, spank);
    if (!n->ready && n->note.strict)
        stop_task();
    if (!n->ready)
        return 0;
    step = variables_step(n);
    spank_get_item(spank, S_TASK_GLOBAL_ID, &global);
    if (spank_get_item(spank, S_TASK_ID, &local) || spank_get_item(spank, S_JOB_ENV, &env))
        rc = berth_error_set(&err, BERTH_ESYSTEM, "Slurm does not show this task's environment");
    else
        rc = variables_make(&step, n->node, local, get_variable, env, &vars, &err);
    if (rc && global == 0)
        berth_say("%s%s", err.text, n->note.strict ? "; the step stops (strict)" : "");
    if (apply(spank, &vars, global == 0))
        rc = -1;
    variables_clear(&vars);
    if (rc && n->note.strict)
        stop_task();
    return 0;
}
