/*
 * srun's command line, with srun's own option table: which word is an option, which its value, and
 * where the program begins. Whatever the table does not know is doubt, never a guess.
 *
 * The table is the union over Slurm 22.05 (as its getopt_long call receives it) to 26.05; arity did
 * not change between them. Options of other plugins are not in it: with "=" they are one word.
 */
#include "config.h"

#include "srun_args.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum arity { NO, YES, MAYBE };
enum effect { PLAIN, FLAG, NTASKS, NODES, CPUS, PER_NODE, GPUS, GPU_BIND, BERTH, ENV_FIRST };

static const struct option_row {
    const char *name;
    char letter; /* 0: long only */
    enum arity arity;
    enum effect effect;
    unsigned flag;
} options[] = {
    {"accel-bind", 0, YES},
    {"account", 'A', YES},
    {"acctg-freq", 0, YES},
    {"autocomplete", 0, YES},
    {"bb", 0, YES},
    {"bbf", 0, YES},
    {"bcast", 0, MAYBE},
    {"bcast-exclude", 0, YES},
    {"begin", 'b', YES},
    {"berth", 0, YES, BERTH},
    {"chdir", 'D', YES},
    {"cluster", 0, YES},
    {"cluster-constraint", 0, YES},
    {"clusters", 'M', YES},
    {"comment", 0, YES},
    {"compress", 0, MAYBE},
    {"consolidate-segments", 0, NO},
    {"constraint", 'C', YES, FLAG, SRUN_NARROW},
    {"container", 0, YES},
    {"container-id", 0, YES},
    {"context", 0, YES},
    {"contiguous", 0, NO},
    {"core-spec", 'S', YES},
    {"cores-per-socket", 0, YES, FLAG, SRUN_NARROW},
    {"cpu-bind", 0, YES},
    {"cpu-freq", 0, YES},
    {"cpu_bind", 0, YES},
    {"cpus-per-gpu", 0, YES, FLAG, SRUN_NARROW},
    {"cpus-per-task", 'c', YES, CPUS, SRUN_CPUS_PER_TASK},
    {"deadline", 0, YES},
    {"debugger-test", 0, NO},
    {"delay-boot", 0, YES},
    {"dependency", 'd', YES},
    {"disable-status", 'X', NO},
    {"distribution", 'm', YES, FLAG, SRUN_DISTRIBUTION},
    {"epilog", 0, YES},
    {"error", 'e', YES},
    {"exact", 0, NO, FLAG, SRUN_EXACT},
    {"exclude", 'x', YES, FLAG, SRUN_EXCLUDE},
    {"exclusive", 0, MAYBE, FLAG, SRUN_EXACT},
    {"export", 0, YES},
    {"extra", 0, YES},
    {"extra-node-info", 'B', YES, FLAG, SRUN_NARROW},
    {"gid", 0, YES},
    {"gpu-bind", 0, YES, GPU_BIND},
    {"gpu-freq", 0, YES},
    {"gpus", 'G', YES, FLAG, SRUN_NARROW},
    {"gpus-per-node", 0, YES, GPUS},
    {"gpus-per-socket", 0, YES, FLAG, SRUN_NARROW},
    {"gpus-per-task", 0, YES, FLAG, SRUN_GPUS_PER_TASK},
    {"gres", 0, YES, GPUS},
    {"gres-flags", 0, YES},
    {"help", 'h', NO},
    {"het-group", 0, YES, FLAG, SRUN_HET},
    {"hint", 0, YES, FLAG, SRUN_NARROW},
    {"hold", 'H', NO},
    {"immediate", 'I', MAYBE},
    {"input", 'i', YES},
    {"interactive", 0, NO},
    {"job-name", 'J', YES},
    {"jobid", 0, YES, FLAG, SRUN_JOBID},
    {"kill-on-bad-exit", 'K', MAYBE},
    {"label", 'l', NO},
    {"licenses", 'L', YES},
    {"mail-type", 0, YES},
    {"mail-user", 0, YES},
    {"mcs-label", 0, YES},
    {"mem", 0, YES, FLAG, SRUN_NARROW},
    {"mem-bind", 0, YES},
    {"mem-per-cpu", 0, YES, FLAG, SRUN_NARROW},
    {"mem-per-gpu", 0, YES, FLAG, SRUN_NARROW},
    {"mincpus", 0, YES},
    {"mpi", 0, YES},
    {"msg-timeout", 0, YES},
    {"multi-prog", 0, NO},
    {"network", 0, YES},
    {"nice", 0, MAYBE},
    {"no-allocate", 'Z', NO, FLAG, SRUN_NO_ALLOCATE},
    {"no-kill", 'k', MAYBE},
    {"nodefile", 'F', YES, FLAG, SRUN_NODELIST},
    {"nodelist", 'w', YES, FLAG, SRUN_NODELIST},
    {"nodes", 'N', YES, NODES, SRUN_NODES},
    {"ntasks", 'n', YES, NTASKS, SRUN_NTASKS},
    {"ntasks-per-core", 0, YES, FLAG, SRUN_NARROW},
    {"ntasks-per-gpu", 0, YES, FLAG, SRUN_NARROW | SRUN_GPUS_PER_TASK},
    {"ntasks-per-node", 0, YES, PER_NODE, SRUN_NTASKS_PER_NODE},
    {"ntasks-per-socket", 0, YES, FLAG, SRUN_NARROW},
    {"ntasks-per-tres", 0, YES, FLAG, SRUN_NARROW | SRUN_GPUS_PER_TASK},
    {"oom-kill-step", 0, MAYBE},
    {"open-mode", 0, YES},
    {"output", 'o', YES},
    {"overcommit", 'O', NO},
    {"overlap", 0, MAYBE, FLAG, SRUN_OVERLAP},
    {"oversubscribe", 's', NO},
    {"pack-group", 0, YES, FLAG, SRUN_HET},
    {"partition", 'p', YES},
    {"power", 0, YES},
    {"prefer", 0, YES},
    {"preserve-env", 'E', NO, ENV_FIRST},
    {"priority", 0, YES},
    {"profile", 0, YES},
    {"prolog", 0, YES},
    {"propagate", 0, MAYBE},
    {"pty", 0, NO},
    {"qos", 'q', YES},
    {"quiet", 'Q', NO},
    {"quit-on-interrupt", 0, NO},
    {"reboot", 0, NO},
    {"relative", 'r', YES, FLAG, SRUN_RELATIVE},
    {"reservation", 0, YES},
    {"resv-ports", 0, MAYBE},
    {"segment", 0, YES},
    {"send-libs", 0, MAYBE},
    {"signal", 0, YES},
    {"slurmd-debug", 0, YES},
    {"sockets-per-node", 0, YES, FLAG, SRUN_NARROW},
    {"spread-job", 0, NO},
    {"spread-segments", 0, NO},
    {"stepmgr", 0, NO},
    {"switches", 0, YES},
    {"task-epilog", 0, YES},
    {"task-prolog", 0, YES},
    {"tasks-per-node", 0, YES, PER_NODE, SRUN_NTASKS_PER_NODE},
    {"test-only", 0, NO},
    {"thread-spec", 0, YES},
    {"threads", 'T', YES},
    {"threads-per-core", 0, YES, FLAG, SRUN_NARROW},
    {"time", 't', YES},
    {"time-min", 0, YES},
    {"tmp", 0, YES},
    {"tres-bind", 0, YES, FLAG, SRUN_GPUS_PER_TASK},
    {"tres-per-task", 0, YES, FLAG, SRUN_NARROW | SRUN_GPUS_PER_TASK},
    {"treewidth", 0, YES},
    {"uid", 0, YES},
    {"unbuffered", 'u', NO},
    {"usage", 0, NO},
    {"use-min-nodes", 0, NO},
    {"verbose", 'v', NO},
    {"version", 'V', NO},
    {"wait", 'W', YES},
    {"wait-for-children", 0, NO},
    {"wckey", 0, YES},
    {"whole", 0, NO},
    {"x11", 0, MAYBE},
};
#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

static void doubt(struct srun_args *args, const char *why, const char *word)
{
    if (!args->certain)
        return;
    args->certain = false;
    snprintf(args->doubt, sizeof(args->doubt), "%s '%.60s'", why, word);
}

static bool number(const char *text, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < 1 || value > INT_MAX)
        return false;
    *out = (int)value;
    return true;
}

/* "none", also after "verbose,": slurm.conf's and srun's way to leave every GPU visible. */
static bool binds_nothing(const char *value)
{
    const char *comma = strchr(value, ',');
    return !strcmp(comma ? comma + 1 : value, "none");
}

/* "8", "a100:8", or a gres list with "gpu:a100:8" in it; 0 where there is none. */
static int gpu_count(const char *value, bool gres)
{
    long total = 0;
    for (const char *p = value; *p; p += strcspn(p, ","), p += *p == ',') {
        const char *end = p + strcspn(p, ",("), *digits = end;
        if (gres && strncmp(p, "gpu", 3))
            continue;
        while (digits > p && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (digits > p && digits[-1] != ':')
            total += gres; /* "gpu" or "gpu:a100": one */
        else if (end - digits < 6)
            total += strtol(digits, NULL, 10);
    }
    return total > 4096 ? 0 : (int)total;
}

static void apply(struct srun_args *args, const struct option_row *row, const char *value)
{
    int *into = row->effect == NTASKS  ? &args->ntasks
                : row->effect == NODES ? &args->nodes
                : row->effect == CPUS  ? &args->cpus_per_task
                                       : &args->ntasks_per_node;

    args->given |= row->flag;
    switch (row->effect) {
    case NODES:
        if (!number(value, into))
            args->nodes = 0; /* a range, or 8k: Slurm's business, SRUN_NODES says enough */
        break;
    case NTASKS:
    case CPUS:
    case PER_NODE:
        if (!number(value, into))
            doubt(args, "not a plain number:", value);
        break;
    case GPUS:
        args->gpus_per_node = gpu_count(value, !strcmp(row->name, "gres"));
        break;
    case GPU_BIND:
        args->given &= ~(unsigned)(SRUN_GPU_BIND | SRUN_GPU_BIND_NONE);
        args->given |= binds_nothing(value) ? SRUN_GPU_BIND_NONE : SRUN_GPU_BIND;
        break;
    case BERTH:
        args->berth++;
        break;
    case ENV_FIRST:
        doubt(args, "the environment is to override the options by", "--preserve-env");
        break;
    case PLAIN:
    case FLAG:
        break;
    }
}

/*
 * A long option by its name, or by an abbreviation that getopt_long would take; NULL: none or
 * several. The table is sorted, so the full name comes before all that it abbreviates.
 */
static const struct option_row *find_long(const char *name, size_t length)
{
    const struct option_row *found = NULL;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (strncmp(options[i].name, name, length))
            continue;
        if (!options[i].name[length])
            return &options[i];
        if (found)
            return NULL;
        found = &options[i];
    }
    return found;
}

static const struct option_row *find_short(char letter)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (options[i].letter == letter)
            return &options[i];
    return NULL;
}

struct words {
    const char *next, *end;
};

static const char *next_word(struct words *words)
{
    const char *word = words->next;
    if (word >= words->end)
        return NULL;
    words->next = word + strnlen(word, (size_t)(words->end - word)) + 1;
    return word;
}

static void read_long(struct srun_args *args, struct words *words, const char *word)
{
    const char *equals = strchr(word + 2, '=');
    size_t length = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
    const struct option_row *row = find_long(word + 2, length);
    const char *value = equals ? equals + 1 : NULL;

    if (!row && equals)
        return; /* another plugin's option, in one word; or an error that srun reports */
    if (!row) {
        doubt(args, "unknown option", word);
        return;
    }
    if (row->arity == YES && !value && !(value = next_word(words))) {
        doubt(args, "no value after", word);
        return;
    }
    apply(args, row, value);
}

/* A cluster of letters: "-lN2" is -l -N 2. */
static void read_short(struct srun_args *args, struct words *words, const char *word)
{
    for (const char *p = word + 1; *p; p++) {
        const struct option_row *row = find_short(*p);
        const char *value = p[1] ? p + 1 : NULL;
        if (!row) {
            doubt(args, "unknown option", word);
            return;
        }
        if (row->arity == YES && !value && !(value = next_word(words))) {
            doubt(args, "no value after", word);
            return;
        }
        apply(args, row, value);
        if (row->arity != NO)
            return;
    }
}

/* Everything after the program is its own, except a ':' that starts another het component. */
static void read_rest(struct srun_args *args, struct words *words)
{
    const char *word;
    while ((word = next_word(words)))
        if (!strcmp(word, ":"))
            args->given |= SRUN_HET;
}

static bool is_srun(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, "srun");
}

void srun_args_parse(const char *bytes, size_t size, struct srun_args *out)
{
    struct words words = {bytes, bytes + size};
    const char *word;

    *out = (struct srun_args){.certain = true};
    if (size == 0 || bytes[size - 1]) {
        doubt(out, "the command line has no end:", "");
        return;
    }
    word = next_word(&words);
    if (!is_srun(word))
        doubt(out, "this is not srun:", word);
    while ((word = next_word(&words))) {
        if (!strcmp(word, "--"))
            word = next_word(&words);
        else if (!strncmp(word, "--", 2)) {
            read_long(out, &words, word);
            continue;
        } else if (word[0] == '-' && word[1]) {
            read_short(out, &words, word);
            continue;
        }
        out->program = word;
        break;
    }
    read_rest(out, &words);
}

/* Variables of which srun only asks whether they are there. */
static const struct {
    const char *name;
    unsigned flag;
} environment[] = {
    {"SLURM_DISTRIBUTION", SRUN_DISTRIBUTION},
    {"SLURM_HOSTFILE", SRUN_HOSTFILE},
    {"SLURM_EXACT", SRUN_EXACT},
    {"SLURM_EXCLUSIVE", SRUN_EXACT},
    {"SLURM_OVERLAP", SRUN_OVERLAP},
    {"SLURM_GPUS_PER_TASK", SRUN_GPUS_PER_TASK},
    {"SLURM_NTASKS_PER_GPU", SRUN_GPUS_PER_TASK | SRUN_NARROW},
    {"SLURM_NTASKS_PER_TRES", SRUN_GPUS_PER_TASK | SRUN_NARROW},
    {"SLURM_TRES_PER_TASK", SRUN_GPUS_PER_TASK | SRUN_NARROW},
    {"SLURM_TRES_BIND", SRUN_GPUS_PER_TASK},
    {"SLURM_HINT", SRUN_NARROW},
    {"SLURM_THREADS_PER_CORE", SRUN_NARROW},
    {"SLURM_HET_SIZE", SRUN_HET},
    {"SLURM_PACK_SIZE", SRUN_HET},
};

static int environment_number(struct srun_args *args, const char *value)
{
    int n = 0;
    if (value && !number(value, &n))
        doubt(args, "not a plain number in the environment:", value);
    return n;
}

void srun_args_environment(struct srun_args *args, const char *(*get)(const char *name))
{
    for (size_t i = 0; i < sizeof(environment) / sizeof(environment[0]); i++)
        if (get(environment[i].name))
            args->given |= environment[i].flag;

    const char *bind = get("SLURM_GPU_BIND");
    if (bind && !(args->given & (SRUN_GPU_BIND | SRUN_GPU_BIND_NONE)))
        args->given |= binds_nothing(bind) ? SRUN_GPU_BIND_NONE : SRUN_GPU_BIND;

    if (!args->ntasks) {
        const char *ntasks = get("SLURM_NTASKS"), *nprocs = get("SLURM_NPROCS");
        if (ntasks && nprocs && strcmp(ntasks, nprocs))
            doubt(args, "SLURM_NTASKS and SLURM_NPROCS differ:", nprocs);
        args->ntasks = environment_number(args, ntasks ? ntasks : nprocs);
    }
    if (!(args->given & SRUN_NODES)) {
        /* both are -N to srun, and in a job both are the job's own number unless someone set one */
        const char *nodes = get("SLURM_JOB_NUM_NODES"), *old = get("SLURM_NNODES");
        if (nodes && old && strcmp(nodes, old))
            doubt(args, "SLURM_JOB_NUM_NODES and SLURM_NNODES differ:", old);
        args->nodes = environment_number(args, old ? old : nodes);
    }
    if (!args->ntasks_per_node)
        args->ntasks_per_node = environment_number(args, get("SLURM_NTASKS_PER_NODE"));
    if (!args->cpus_per_task) {
        /* which of the two a release reads changed three times: the larger asks for most */
        int srun = environment_number(args, get("SRUN_CPUS_PER_TASK"));
        int slurm = environment_number(args, get("SLURM_CPUS_PER_TASK"));
        args->cpus_per_task = srun > slurm ? srun : slurm;
    }
}

char *srun_args_cmdline(size_t *size)
{
    size_t used = 0, room = 4096;
    char *bytes = malloc(room);
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

    while (bytes && fd >= 0) {
        ssize_t n = read(fd, bytes + used, room - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            *size = used;
            close(fd);
            return bytes;
        }
        used += (size_t)n;
        if (used == room) {
            char *grown = room < SRUN_ARGS_BYTES_MAX ? realloc(bytes, room *= 2) : NULL;
            if (!grown)
                break;
            bytes = grown;
        }
    }
    if (fd >= 0)
        close(fd);
    free(bytes);
    return NULL;
}

bool srun_args_hide_peers(const struct srun_args *args)
{
    if (args->given & SRUN_GPU_BIND_NONE)
        return false;
    return args->given & (SRUN_GPU_BIND | SRUN_GPUS_PER_TASK);
}

bool srun_args_is_helper(const char *program)
{
    static const char *const helpers[] = {
        "orted",     "prted",   "prte",          "hydra_pmi_proxy", "hydra_bstrap_proxy",
        "pmi_proxy", "mpiexec", "mpiexec.hydra", "mpirun",          "mpispawn",
        "mpdboot",   "prterun", "orterun",
    };
    const char *slash = program ? strrchr(program, '/') : NULL;
    const char *name = slash ? slash + 1 : program;

    for (size_t i = 0; name && i < sizeof(helpers) / sizeof(helpers[0]); i++)
        if (!strcmp(name, helpers[i]))
            return true;
    return false;
}
