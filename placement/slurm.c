/*
 * Slurm's job and cluster: the job from its environment, the cluster from scontrol.
 */
#include "config.h"

#include "hostlist.h"
#include "slurm.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SCONTROL_SECONDS 10
#define NODELIST_ARG_MAX (100 * 1024) /* one argument of exec holds 128 KiB */
#define TASKS_MAX BERTH_WORLD_MAX

/* ---- the job ---- */

/* A whole number at *text, at most `max`; moves on. -1: there is none. */
static int scan_number(const char **text, int max)
{
    int value = 0;

    if (**text < '0' || **text > '9')
        return -1;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        value = value * 10 + (**text - '0');
        if (value > max)
            return -1;
    }
    return value;
}

/* One item, "8(x10)" or "4". */
static int scan_count(const char **text, int *count, int *times)
{
    *times = 1;
    *count = scan_number(text, TASKS_MAX);
    if (*count < 0)
        return -1;
    if (**text != '(')
        return 0;
    ++*text;
    if (*(*text)++ != 'x')
        return -1;
    *times = scan_number(text, HOSTLIST_MAX);
    if (*times < 0 || *(*text)++ != ')')
        return -1;
    return 0;
}

int *slurm_counts_parse(const char *text, int n, struct berth_error *err)
{
    int *counts = malloc(sizeof *counts * ((size_t)n + 1)), filled = 0;
    const char *at = text;

    if (!counts) {
        berth_error_memory(err);
        return NULL;
    }
    for (;;) {
        int count, times;
        if (scan_count(&at, &count, &times)) {
            berth_error_set(err, BERTH_EINPUT, "\"%.60s\": expected counts such as 8(x10),4", text);
            break;
        }
        if (times > n - filled) {
            berth_error_set(err, BERTH_EINPUT, "\"%.60s\" is for more than %d nodes", text, n);
            break;
        }
        while (times-- > 0)
            counts[filled++] = count;
        if (!*at && filled == n)
            return counts;
        if (!*at) {
            berth_error_set(err, BERTH_EINPUT, "\"%.60s\" is for %d nodes, not %d", text, filled,
                            n);
            break;
        }
        if (*at++ != ',') {
            berth_error_set(err, BERTH_EINPUT, "\"%.60s\": expected counts such as 8(x10),4", text);
            break;
        }
    }
    free(counts);
    return NULL;
}

/* Slurm's newer name of a variable, else the older one. */
static const char *variable(const char *name, const char *older)
{
    const char *value = getenv(name);

    return value && *value ? value : older ? variable(older, NULL) : NULL;
}

/* "8", "a100:8" or "a100:4,v100:4"; 0 when it says nothing that can be used. */
static int gpus_from(const char *text)
{
    int total = 0;

    while (text && *text) {
        const char *end = strchrnul(text, ','), *number = text;
        for (const char *colon = text; colon < end; colon++)
            if (*colon == ':')
                number = colon + 1;
        int gpus = scan_number(&number, BERTH_GPUS_MAX);
        if (gpus < 0 || number != end || total + gpus > BERTH_GPUS_MAX)
            return 0;
        total += gpus;
        text = *end ? end + 1 : end;
    }
    return total;
}

static int number_from(const char *text)
{
    int value = text ? scan_number(&text, TASKS_MAX) : 0;

    return value < 0 ? 0 : value;
}

/*
 * SLURM_TASKS_PER_NODE is the step's inside a step, and a step may have fewer nodes than the job:
 * then nothing is known about the job's tasks.
 */
static int read_tasks(struct slurm_job *job, struct berth_error *err)
{
    const char *text = variable("SLURM_TASKS_PER_NODE", NULL);
    const char *step = variable("SLURM_STEP_NUM_NODES", NULL);

    if (!text || (step && number_from(step) != job->n_nodes))
        return 0;
    job->tasks = slurm_counts_parse(text, job->n_nodes, err);
    return job->tasks ? 0 : berth_error_prefix(err, "SLURM_TASKS_PER_NODE");
}

int slurm_job_env(struct slurm_job *job, struct berth_error *err)
{
    const char *id = variable("SLURM_JOB_ID", "SLURM_JOBID");
    const char *nodelist = variable("SLURM_JOB_NODELIST", "SLURM_NODELIST");

    *job = (struct slurm_job){0};
    if (!id || !nodelist)
        return 1;
    job->job_id = strdup(id);
    job->nodelist = strdup(nodelist);
    if (!job->job_id || !job->nodelist) {
        berth_error_memory(err);
        goto fail;
    }
    job->n_nodes = hostlist_expand(nodelist, &job->names, err);
    if (job->n_nodes < 0) {
        job->n_nodes = 0;
        berth_error_prefix(err, "SLURM_JOB_NODELIST");
        goto fail;
    }
    if (read_tasks(job, err))
        goto fail;
    job->ntasks = number_from(variable("SLURM_NTASKS", "SLURM_NPROCS"));
    job->gpus_per_node = gpus_from(variable("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"));
    return 0;
fail:
    slurm_job_clear(job);
    return -1;
}

void slurm_job_clear(struct slurm_job *job)
{
    hostlist_free(job->names, job->n_nodes);
    free(job->job_id);
    free(job->nodelist);
    free(job->tasks);
    *job = (struct slurm_job){0};
}

/* ---- the cluster ---- */

/*
 * True if Slurm has no topology to show. With topology/none 22.05 says so in these words [tried on
 * 22.05.8]; where another version fails in another
 * way, its configuration tells this from a controller that is away.
 */
static bool has_no_topology(const struct berth_error *complaint)
{
    static const char *const args[] = {"show", "config", NULL};
    static const char *const flat[] = {"none", "default", "flat"};
    size_t size;
    bool none = false;
    if (strstr(complaint->text, "No topology information available"))
        return true;
    char *text = slurm_scontrol(args, SCONTROL_SECONDS, &size, NULL);
    const char *value = text ? strcasestr(text, "TopologyPlugin") : NULL;

    value = value ? strpbrk(value, "=\n") : NULL;
    if (value && *value == '=') {
        value += 1 + strspn(value + 1, " ");
        if (strncasecmp(value, "topology/", 9) == 0)
            value += 9;
        for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
            none |= strcspn(value, " \r\n") == strlen(flat[i]) &&
                    strncasecmp(value, flat[i], strlen(flat[i])) == 0;
    }
    free(text);
    return none;
}

static struct cluster *topology_from_scontrol(struct berth_error *err)
{
    static const char *const args[] = {"show", "topology", NULL};
    static const char *const name = "scontrol show topology";
    struct berth_error complaint = {0};
    struct cluster *c;
    size_t size;
    char *text = slurm_scontrol(args, SCONTROL_SECONDS, &size, &complaint);

    if (!text && !has_no_topology(&complaint)) {
        if (err)
            *err = complaint;
        return NULL;
    }
    c = cluster_read_topology(name, text ? text : "", text ? size : 0, err);
    free(text);
    return c;
}

static struct cluster *topology_from_file(const char *path, struct berth_error *err)
{
    struct cluster *c;
    size_t size;
    char *text = cluster_slurp(path, &size, err);

    if (!text)
        return NULL;
    c = cluster_read_topology(path, text, size, err);
    free(text);
    return c;
}

static int add_nodes(struct cluster *c, const char *nodelist, struct berth_error *err)
{
    const char *args[] = {"--oneliner", "show", "node", nodelist, NULL};
    size_t size;
    int result;
    char *text;

    if (nodelist && strlen(nodelist) > NODELIST_ARG_MAX)
        args[3] = NULL;
    text = slurm_scontrol(args, SCONTROL_SECONDS, &size, err);
    if (!text)
        return -1;
    result = cluster_read_scontrol_nodes(c, "scontrol show node", text, size, err);
    free(text);
    return result;
}

struct cluster *slurm_cluster(const char *topology, const char *nodelist, bool with_nodes,
                              struct berth_error *err)
{
    struct cluster *c = topology ? topology_from_file(topology, err) : topology_from_scontrol(err);

    if (c && with_nodes && add_nodes(c, nodelist, err)) {
        cluster_free(c);
        return NULL;
    }
    return c;
}
