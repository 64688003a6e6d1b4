/*
 * In srun, sbatch and salloc: what is asked for, by --berth on this command line, by BERTH=, or by
 * the sbatch or salloc around it, and who wins.
 *
 * When to act. The task layout follows SLURM_HOSTFILE, which srun reads after slurm_spank_init and
 * the option callbacks and before slurm_spank_init_post_opt, in 22.05 and 26.05 alike. An option
 * inherited from sbatch is replayed as a first callback from the environment, one on the command
 * line is another. Only the command line tells whether another will come, and a command line that
 * is not understood rules layout out anyway: so the early attempt is made in the last callback that
 * can come, or in slurm_spank_init for BERTH= when none can. Everything else waits for
 * slurm_spank_local_user_init, where the step exists and nothing needs to be guessed.
 */
#include "config.h"

#include "plugin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How sbatch and salloc hand --berth to the sruns of their job. */
#define INHERITED "SLURM_SPANK__SLURM_SPANK_OPTION_berth_berth"

static const char *environment(const char *name)
{
    return getenv(name);
}

int berth_option_help(void)
{
    /* Nothing but leaving makes srun and sbatch, which have a program or a script yet to ask for,
     * end with 0. */
    fputs(options_help, stdout);
    fflush(stdout);
    exit(0);
}

void berth_forget_outer_step(void)
{
    char name[sizeof(NOTE_MAP_PREFIX) + 16];

    if (!getenv(NOTE_VARIABLE) && !getenv(NOTE_MAP_PREFIX "0"))
        return;
    unsetenv(NOTE_VARIABLE);
    for (int i = 0; i < BERTH_PACK_PARTS_MAX; i++) {
        snprintf(name, sizeof(name), NOTE_MAP_PREFIX "%d", i);
        unsetenv(name);
    }
}

static void read_surroundings(struct srun_side *s)
{
    struct berth_error err;
    size_t size = 0;

    if (s->cmdline)
        return;
    s->cmdline = srun_args_cmdline(&size);
    srun_args_parse(s->cmdline ? s->cmdline : "", size, &s->args);
    srun_args_environment(&s->args, environment);
    s->in_job = !slurm_job_env(&s->job, &err);
}

/* Takes a request over. A user's own map says how many ranks there are. */
static void take(struct srun_side *s, struct options *options, bool given)
{
    options_clear(&s->options);
    s->options = *options;
    s->asked = true;
    s->given = given;
    s->unreadable = false; /* what an inherited map= said no longer counts */
    if (s->options.map) {
        struct berth_map *map = berth_map_open(s->options.map, &s->error);
        s->unreadable = !map;
        s->options.fixed = map ? berth_map_world(map) : 0;
        berth_map_close(map);
    }
}

/* An inherited value. A wrong one is no reason to stop a job that is running already. */
static void inherit(struct srun_side *s, const char *value, const char *where)
{
    struct options options;
    struct berth_error err;

    if (options_parse(value, &options, &err)) {
        berth_say("%s (from %s); the job runs as Slurm would", err.text, where);
        return;
    }
    if (options.help)
        options.off = true;
    if (s->asked && s->options.off) /* off wins among what is inherited */
        options_clear(&options);
    else
        take(s, &options, false);
}

void berth_srun_init(struct berth_context *ctx)
{
    struct srun_side *s = &ctx->srun;
    const char *value = getenv("BERTH"), *inherited = getenv(INHERITED);

    berth_forget_outer_step();
    if (!value || !*value)
        return;
    s->from_environment = true;
    read_surroundings(s);
    inherit(s, value, "BERTH=");
    if (inherited && !strcmp(inherited, "off"))
        inherit(s, inherited, "sbatch or salloc");
    if (s->args.certain && s->args.berth == 0)
        berth_srun_early(ctx);
}

int berth_srun_option(struct berth_context *ctx, const char *value)
{
    struct srun_side *s = &ctx->srun;
    struct options options;
    struct berth_error err;
    bool inherited = s->callbacks++ == 0 && getenv(INHERITED);

    read_surroundings(s);
    if (inherited && !s->from_environment) {
        inherit(s, value, "sbatch or salloc");
    } else if (!inherited) {
        s->given_callbacks++;
        if (options_parse(value, &options, &err)) {
            berth_say("%s", err.text);
            return -1;
        }
        if (options.help)
            berth_option_help();
        take(s, &options, true);
    }
    if (s->args.certain && s->given_callbacks == s->args.berth &&
        !(inherited && s->from_environment))
        berth_srun_early(ctx);
    return 0;
}

int berth_alloc_option(const char *value)
{
    struct options options;
    struct berth_error err;

    if (options_parse(value, &options, &err)) {
        berth_say("%s", err.text);
        return -1;
    }
    if (options.help)
        berth_option_help();
    options_clear(&options);
    /* In the job, BERTH= is what the script says: one from before the submission gives way to this
     * option. */
    unsetenv("BERTH");
    return 0;
}
