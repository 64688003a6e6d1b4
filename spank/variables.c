/*
 * Which variables a task gets and which of the user's stay. One table in the order of the
 * specification; values come from the map alone, so every node computes the same.
 */
#include "config.h"

#include "variables.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    const struct variables_step *step;
    struct variables *out;
    const char *(*get)(const char *name, void *arg);
    void *arg;
    const char *mark; /* BERTH_SET of the task that started this step, or NULL */
    bool failed;
};

static struct variable *append(struct maker *m, const char *name, enum variable_fate fate)
{
    if (m->out->n == VARIABLES_MAX) {
        m->failed = true;
        return NULL;
    }
    struct variable *v = &m->out->list[m->out->n++];
    memset(v, 0, sizeof(*v));
    snprintf(v->name, sizeof(v->name), "%s", name);
    v->fate = fate;
    return v;
}

/* True where an outer Berth step set NAME to this very value. */
static bool marked(const char *mark, const char *name, const char *value)
{
    size_t n = strlen(name), v = strlen(value);
    for (const char *p = mark; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (!strncmp(p, name, n) && p[n] == '=' && strcspn(p + n + 1, ",") == v &&
            !memcmp(p + n + 1, value, v))
            return true;
    return false;
}

__attribute__((format(printf, 3, 4))) static void set(struct maker *m, const char *name,
                                                      const char *format, ...)
{
    struct variable *v = append(m, name, VARIABLE_SET);
    const char *users = m->get(name, m->arg);
    va_list args;

    if (!v)
        return;
    va_start(args, format);
    if (vasprintf(&v->value, format, args) < 0) {
        v->value = NULL;
        m->failed = true;
    }
    va_end(args);
    if (m->failed || !users || !strncmp(name, "BERTH_", 6) || !strncmp(name, "SLURM_", 6) ||
        marked(m->mark, name, users))
        return;
    if (!strcmp(users, v->value)) {
        v->fate = VARIABLE_KEPT;
        return;
    }
    v->fate = VARIABLE_CONFLICT;
    if (!(v->users = strdup(users)))
        m->failed = true;
}

/* Berth does not set NAME here; one that an outer Berth step left must not be taken for this
 * step's. */
static void forget(struct maker *m, const char *name)
{
    const char *value = m->get(name, m->arg);
    if (value && marked(m->mark, name, value))
        append(m, name, VARIABLE_UNSET);
}

static void set_ranks(struct maker *m, int rank, int local, int n_local)
{
    static const char *const names[] = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
    const int values[] = {rank, berth_map_world(m->step->map), local, n_local};

    for (int i = 0; i < 4; i++)
        if (m->step->nodes || (i == 2 && m->step->keep_local_rank))
            forget(m, names[i]);
        else
            set(m, names[i], "%d", values[i]);
}

static void set_torchrun(struct maker *m, int node, int n_local)
{
    static const char *const names[] = {"PET_NODE_RANK", "PET_NNODES", "PET_NPROC_PER_NODE",
                                        "PET_MASTER_PORT"};
    const int values[] = {node, berth_map_nodes(m->step->map), n_local, m->step->master_port};

    for (int i = 0; i < 4; i++)
        if (m->step->nodes)
            set(m, names[i], "%d", values[i]);
        else
            forget(m, names[i]);
    if (m->step->nodes)
        set(m, "PET_MASTER_ADDR", "%s", m->step->master_addr);
    else
        forget(m, "PET_MASTER_ADDR");
}

static void set_axes(struct maker *m, int rank)
{
    for (int a = 0; a < berth_map_axes(m->step->map); a++) {
        char upper[BERTH_AXIS_NAME_MAX], name[VARIABLE_NAME_MAX];
        const char *axis = berth_map_axis_name(m->step->map, a);
        size_t i = 0;
        for (; axis[i] && i < sizeof(upper) - 1; i++)
            upper[i] = (char)toupper((unsigned char)axis[i]);
        upper[i] = 0;
        snprintf(name, sizeof(name), "BERTH_%s_SIZE", upper);
        set(m, name, "%d", berth_map_axis_size(m->step->map, a));
        snprintf(name, sizeof(name), "BERTH_%s_RANK", upper);
        if (m->step->nodes)
            append(m, name, VARIABLE_UNSET);
        else
            set(m, name, "%d", berth_map_coord(m->step->map, a, rank));
    }
}

static void set_berth(struct maker *m, int node, int rank, int local)
{
    if (m->step->map_file)
        set(m, "BERTH_MAP", "%s", m->step->map_file);
    else
        append(m, "BERTH_MAP", VARIABLE_UNSET);
    set(m, "BERTH_MAP_HASH", "%s", berth_map_hash(m->step->map));
    set(m, "BERTH_MODE", "%s", m->step->layout ? "layout" : "remap");
    set(m, "BERTH_NODE_RANK", "%d", node);
    if (m->step->nodes) {
        append(m, "BERTH_RANK", VARIABLE_UNSET);
        append(m, "BERTH_LOCAL_RANK", VARIABLE_UNSET);
    } else {
        set(m, "BERTH_RANK", "%d", rank);
        set(m, "BERTH_LOCAL_RANK", "%d", local);
    }
    set_axes(m, rank);
}

/* What PMI and PMIx give each task: their ranks are Slurm's, so Slurm's variables must stay so too.
 */
static const char *pmi_variable(struct maker *m)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "PMIX_NAMESPACE", "PMI_FD"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (m->get(names[i], m->arg))
            return names[i];
    return NULL;
}

static int set_slurm(struct maker *m, int node, int rank, int local, struct berth_error *err)
{
    const char *pmi = pmi_variable(m);

    if (!m->step->override_slurm || m->step->layout || m->step->nodes)
        return 0;
    if (pmi)
        return berth_error_set(
            err, BERTH_ENO,
            "override=slurm is refused under PMI (%s is set): MPI's ranks would no "
            "longer be SLURM_PROCID; use --mpi=none",
            pmi);
    set(m, "SLURM_PROCID", "%d", rank);
    set(m, "SLURM_NODEID", "%d", node);
    set(m, "SLURM_LOCALID", "%d", local);
    return 0;
}

/* Writes the mark for steps that this task may start. */
static void set_mark(struct maker *m)
{
    char *mark = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&mark, &size);

    for (int i = 0; out && i < m->out->n; i++) {
        const struct variable *v = &m->out->list[i];
        if (v->fate == VARIABLE_SET && v->value && strncmp(v->name, "BERTH_", 6) &&
            strncmp(v->name, "SLURM_", 6))
            fprintf(out, "%s%s=%s", ftell(out) ? "," : "", v->name, v->value);
    }
    if (!out || fclose(out))
        m->failed = true;
    else
        set(m, VARIABLES_MARK, "%s", mark);
    free(mark);
}

int variables_make(const struct variables_step *step, int node, int local,
                   const char *(*get)(const char *name, void *arg), void *arg,
                   struct variables *out, struct berth_error *err)
{
    struct maker m = {.step = step, .out = out, .get = get, .arg = arg};
    const int *ranks = NULL;
    int n_local = berth_map_node_ranks(step->map, node, &ranks);
    int rank = -1;

    out->n = 0;
    m.mark = get(VARIABLES_MARK, arg);
    if (!step->nodes && local >= 0 && local < n_local)
        rank = ranks[local];
    if (n_local < 1 || (!step->nodes && rank < 0))
        return berth_error_set(err, BERTH_ENO, "the map has no rank for local task %d of node %d",
                               local, node);
    set_ranks(&m, rank, local, n_local);
    set(&m, "NODE_RANK", "%d", node);
    set(&m, "GROUP_RANK", "%d", node);
    set(&m, "MASTER_ADDR", "%s", step->master_addr);
    set(&m, "MASTER_PORT", "%d", step->master_port);
    set_torchrun(&m, node, n_local);
    set_berth(&m, node, rank, local);
    int refused = set_slurm(&m, node, rank, local, err);
    set_mark(&m);
    if (m.failed)
        return berth_error_memory(err);
    return refused;
}

void variables_clear(struct variables *variables)
{
    for (int i = 0; i < variables->n; i++) {
        free(variables->list[i].value);
        free(variables->list[i].users);
    }
    variables->n = 0;
}

bool variables_conflict(const struct variables *variables, char *buf, size_t size)
{
    for (int i = 0; i < variables->n; i++) {
        const struct variable *v = &variables->list[i];
        if (v->fate == VARIABLE_CONFLICT) {
            snprintf(buf, size, "%s=%.80s is set already and stays; the map says %.80s", v->name,
                     v->users, v->value);
            return true;
        }
    }
    return false;
}

/* One task of variables_check; *users: the user has set one of its variables. */
static int check_task(const struct variables_step *step, int node, int local,
                      const char *(*get)(const char *name, void *arg), void *arg, bool *users,
                      struct berth_error *err)
{
    struct variables vars;
    char sentence[256];
    int rc = variables_make(step, node, local, get, arg, &vars, err);

    *users = false;
    for (int i = 0; i < vars.n; i++)
        *users = *users || vars.list[i].fate == VARIABLE_KEPT;
    if (!rc && variables_conflict(&vars, sentence, sizeof(sentence)))
        rc = berth_error_set(err, BERTH_ENO, "%s", sentence);
    variables_clear(&vars);
    return rc;
}

int variables_check(const struct variables_step *step,
                    const char *(*get)(const char *name, void *arg), void *arg,
                    struct berth_error *err)
{
    struct variables_step own = *step;

    own.override_slurm = false; /* refused, if at all, in the task */
    for (int node = 0; node < berth_map_nodes(step->map); node++) {
        int tasks = step->nodes ? 1 : berth_map_node_ranks(step->map, node, NULL);
        for (int local = 0; local < tasks; local++) {
            bool users;
            if (check_task(&own, node, local, get, arg, &users, err))
                return -1;
            if (!users) /* all tasks have the same environment */
                return 0;
        }
    }
    return 0;
}

int variables_port(unsigned job, unsigned step, int low, int high)
{
    /* Fibonacci hashing: neighbouring jobs and steps land far apart */
    unsigned long long key = ((unsigned long long)job << 32 | step) * 0x9e3779b97f4a7c15ULL;
    return low + (int)((key >> 33) % (unsigned long long)(high - low + 1));
}
