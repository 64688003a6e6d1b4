/*
 * Slurm's entry points. They only look at the context that they run in and pass on; this is the one
 * file with slurm_spank_* symbols and the one context.
 */
#include "config.h"

#pragma GCC visibility push( \
    default) /* Slurm looks these up; spank_berth.map keeps all else inside */
#include "plugin.h"

SPANK_PLUGIN(berth, 1)

struct berth_context berth_context = {.srun.hostfile = -1, .node.file = MAPFILE_NONE};

/* To the log of the node or, in srun, where -v asks for it: an administrator's typing error is not
 * the business of every user's srun. */
static void complain(const char *sentence)
{
    if (spank_context() == S_CTX_REMOTE)
        slurm_error("berth: %s", sentence);
    else
        slurm_verbose("berth: %s", sentence);
}

static int option_callback(int val, const char *optarg, int remote)
{
    (void)val;
    if (remote || !optarg)
        return 0;
    if (spank_context() == S_CTX_ALLOCATOR)
        return berth_alloc_option(optarg);
    return berth_srun_option(&berth_context, optarg);
}

static bool acts(void)
{
    spank_context_t context = spank_context();
    return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR || context == S_CTX_REMOTE;
}

/* Registered everywhere, so that the option travels with sbatch and a node does not call it
 * unknown. */
static struct spank_option option = {
    .name = "berth",
    .arginfo = "mesh[,key...]",
    .usage = "put every rank in its place: tp8,pp2,dp5; --berth=help lists the keys",
    .has_arg = 1,
    .cb = option_callback,
};

int slurm_spank_init(spank_t spank, int ac, char **av)
{
    if (!acts())
        return 0;
    if (spank_option_register(spank, &option) != ESPANK_SUCCESS) {
        slurm_error("berth: the option --berth could not be registered");
        return 0;
    }
    site_parse(ac, av, &berth_context.site, complain);
    if (spank_context() == S_CTX_LOCAL)
        berth_srun_init(&berth_context);
    return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char **av)
{
    (void)ac, (void)av;
    if (spank_context() == S_CTX_REMOTE)
        berth_node_open(&berth_context, spank);
    else if (spank_context() == S_CTX_LOCAL)
        return berth_srun_post_opt(&berth_context);
    return 0;
}

int slurm_spank_local_user_init(spank_t spank, int ac, char **av)
{
    (void)ac, (void)av;
    return berth_srun_step(&berth_context, spank);
}

int slurm_spank_user_init(spank_t spank, int ac, char **av)
{
    (void)ac, (void)av;
    berth_node_user(&berth_context, spank);
    return 0;
}

int slurm_spank_task_init(spank_t spank, int ac, char **av)
{
    (void)ac, (void)av;
    return berth_node_task(&berth_context, spank);
}

int slurm_spank_exit(spank_t spank, int ac, char **av)
{
    (void)spank, (void)ac, (void)av;
    if (spank_context() == S_CTX_REMOTE)
        berth_node_exit(&berth_context);
    else if (spank_context() == S_CTX_LOCAL)
        berth_srun_exit(&berth_context);
    return 0;
}
