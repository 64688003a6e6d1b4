/*
 * What a user may write after --berth=, and an administrator in plugstack.conf. Both are checked
 * whole before anything acts on them.
 */
#include "config.h"

#include "../placement/meshspec.h"
#include "../placement/traffic.h"
#include "options.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS "order=, traffic=, map=, mode=, override=, strict, report, off, help"

const char options_help[] =
    "--berth=MESH[,KEY...]  put every rank of a training job in its place\n"
    "  MESH               axes and sizes: tp8,pp2,dp5; one axis without a size takes what is "
    "left;\n"
    "                     ep5@dp is laid over dp\n"
    "  order=tp-dp-pp     the axes' order, fastest first (default: " MESHSPEC_ORDER ")\n"
    "  traffic=dp:allreduce:8MB+pp:p2p:64KB:4\n"
    "                     what each axis sends in a step, AXIS:COLLECTIVE:BYTES[:COUNT[:EXPOSED]]\n"
    "  map=FILE           use this map instead of solving one\n"
    "  mode=auto          layout where it is safe, else remap; or force layout or remap\n"
    "  override=slurm     in remap, rewrite SLURM_PROCID, SLURM_NODEID and SLURM_LOCALID too\n"
    "  strict             stop the step where Berth would only warn\n"
    "  report             print the mode, the map's hash and the predicted step times\n"
    "  off                do nothing, whatever sbatch or BERTH= say\n"
    "  help               print this\n"
    "BERTH=... in the environment is the same as the option.\n";

static int set_string(char **into, const char *key, const char *value, struct berth_error *err)
{
    if (!*value)
        return berth_error_set(err, BERTH_EINPUT, "--berth: %s needs a value", key);
    if (*into)
        return berth_error_set(err, BERTH_EINPUT, "--berth: %s is given twice", key);
    *into = strdup(value);
    return *into ? 0 : berth_error_memory(err);
}

static int set_mode(struct options *out, const char *value, struct berth_error *err)
{
    static const char *const names[] = {"auto", "layout", "remap"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(value, names[i])) {
            out->mode = (enum options_mode)i;
            return 0;
        }
    return berth_error_set(err, BERTH_EINPUT, "--berth: mode=%.40s: write auto, layout or remap",
                           value);
}

static int set_override(struct options *out, const char *value, struct berth_error *err)
{
    if (strcmp(value, "slurm"))
        return berth_error_set(err, BERTH_EINPUT,
                               "--berth: override=%.40s: only slurm can be overridden", value);
    out->override_slurm = true;
    return 0;
}

/* One KEY=VALUE; `item` is ours to cut. */
static int read_pair(struct options *out, char *item, struct berth_error *err)
{
    char *value = strchr(item, '=');

    *value++ = 0;
    if (!strcmp(item, "order"))
        return set_string(&out->order, "order=", value, err);
    if (!strcmp(item, "traffic"))
        return set_string(&out->traffic, "traffic=", value, err);
    if (!strcmp(item, "map"))
        return set_string(&out->map, "map=", value, err);
    if (!strcmp(item, "mode"))
        return set_mode(out, value, err);
    if (!strcmp(item, "override"))
        return set_override(out, value, err);
    return berth_error_set(err, BERTH_EINPUT, "--berth: unknown key '%.40s='; there are " KEYS,
                           item);
}

static int add_axis(struct options *out, const char *item, struct berth_error *err)
{
    char *joined = NULL;
    if (asprintf(&joined, "%s%s%s", out->mesh ? out->mesh : "", out->mesh ? "," : "", item) < 0)
        return berth_error_memory(err);
    free(out->mesh);
    out->mesh = joined;
    return 0;
}

static int read_item(struct options *out, char *item, struct berth_error *err)
{
    if (!strcmp(item, "strict"))
        out->strict = true;
    else if (!strcmp(item, "report"))
        out->report = true;
    else if (!strcmp(item, "off"))
        out->off = true;
    else if (!strcmp(item, "help"))
        out->help = true;
    else if (!strcmp(item, "check") || !*item)
        return berth_error_set(err, BERTH_EINPUT,
                               *item ? "--berth: unknown key '%s'; there are " KEYS
                                     : "--berth: an empty item%s; write a mesh, as in "
                                       "--berth=tp8,dp4",
                               item);
    else if (meshspec_is_axis(item, strlen(item)))
        return add_axis(out, item, err);
    else if (strchr(item, '='))
        return read_pair(out, item, err);
    else
        return berth_error_set(err, BERTH_EINPUT,
                               "--berth: '%.60s' is neither an axis, as tp8, nor a key; "
                               "there are " KEYS,
                               item);
    return 0;
}

/* An axis without a size, and what derived axes ask of it: see check_mesh. */
static const char *open_axis(const char *mesh, long *blocks)
{
    const char *open = NULL;
    *blocks = 1;
    for (const char *p = mesh; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t length = strcspn(p, ",");
        size_t name = strcspn(p, "0123456789@=,");
        const char *at = memchr(p, '@', length);
        if (at && *blocks <= BERTH_WORLD_MAX) {
            long size = strtol(p + name + (p[name] == '='), NULL, 10);
            *blocks *= size < 1 ? 1 : size > BERTH_WORLD_MAX ? BERTH_WORLD_MAX + 1L : size;
        }
        if (name == length)
            open = p;
    }
    return open;
}

/*
 * Checks the mesh although the world may not be known yet: an axis without a size is given one that
 * every derived axis divides, and the rest must then be sound.
 */
static int check_mesh(struct options *out, struct berth_error *err)
{
    struct berth_mesh mesh;
    struct traffic traffic;
    long blocks;
    const char *open = open_axis(out->mesh, &blocks);
    char *sized = NULL;
    int rc = -1;

    if (open && blocks > BERTH_WORLD_MAX)
        return berth_error_set(err, BERTH_EINPUT, "--berth: mesh '%.200s' has more than %d ranks",
                               out->mesh, BERTH_WORLD_MAX);
    int before = open ? (int)(open - out->mesh + (long)strcspn(open, ",")) : (int)strlen(out->mesh);
    int length = open
                     ? asprintf(&sized, "%.*s=%ld%s", before, out->mesh, blocks, out->mesh + before)
                     : asprintf(&sized, "%s", out->mesh);
    if (length < 0)
        return berth_error_memory(err);
    if (meshspec_parse(sized, out->order, 0, &mesh, err)) {
        berth_error_prefix(err, "--berth");
        goto done;
    }
    out->open = open != NULL;
    out->fixed = mesh.world / (int)(open ? blocks : 1);
    if (out->traffic && traffic_parse(out->traffic, &mesh, &traffic, err)) {
        berth_error_prefix(err, "--berth");
        goto done;
    }
    rc = 0;
done:
    free(sized);
    return rc;
}

static int check(struct options *out, struct berth_error *err)
{
    if (out->off || out->help)
        return 0;
    if (!out->mesh && !out->map)
        return berth_error_set(
            err, BERTH_EINPUT,
            "--berth: no mesh; write the axes and their sizes, as in --berth=tp8,dp4");
    if (out->map && (out->mesh || out->order || out->traffic))
        return berth_error_set(
            err, BERTH_EINPUT,
            "--berth: map= brings its own mesh; leave out the axes, order= and traffic=");
    return out->mesh ? check_mesh(out, err) : 0;
}

int options_parse(const char *value, struct options *out, struct berth_error *err)
{
    char *copy = NULL;
    int rc = -1;

    memset(out, 0, sizeof(*out));
    if (strlen(value) > OPTIONS_VALUE_MAX)
        return berth_error_set(err, BERTH_EINPUT, "--berth: a value of more than %d characters",
                               OPTIONS_VALUE_MAX);
    if (!(copy = strdup(value)))
        return berth_error_memory(err);
    for (char *item = copy, *end; item; item = end ? end + 1 : NULL) {
        end = strchr(item, ',');
        if (end)
            *end = 0;
        if (read_item(out, item, err))
            goto done;
    }
    rc = check(out, err);
done:
    free(copy);
    if (rc)
        options_clear(out);
    return rc;
}

void options_clear(struct options *options)
{
    free(options->mesh);
    free(options->order);
    free(options->traffic);
    free(options->map);
    memset(options, 0, sizeof(*options));
}

/* ---- plugstack.conf ---- */

static bool read_int(const char *text, const char **end, int low, int high, int *out)
{
    char *stop;
    errno = 0;
    long value = strtol(text, &stop, 10);
    if (stop == text || errno || value < low || value > high)
        return false;
    *end = stop;
    *out = (int)value;
    return true;
}

static const char *site_path(const char *value)
{
    return value[0] == '/' && strlen(value) < PATH_MAX - 64 ? NULL : "needs an absolute path";
}

/* NULL, or what is wrong with the argument. */
static const char *site_argument(struct site *out, const char *key, const char *value)
{
    const char *wrong, *end;
    int low, high;

    if (!strcmp(key, "topology") || !strcmp(key, "model")) {
        if (!(wrong = site_path(value)))
            *(key[0] == 't' ? &out->topology : &out->model) = value;
        return wrong;
    }
    if (!strcmp(key, "dir")) {
        if (!(wrong = site_path(value)))
            strcpy(out->dir, value);
        return wrong;
    }
    if (!strcmp(key, "ports")) {
        if (!read_int(value, &end, 1024, 65535, &low) || *end != '-' ||
            !read_int(end + 1, &end, low, 65535, &high) || *end)
            return "needs LOW-HIGH within 1024-65535";
        out->port_low = low;
        out->port_high = high;
        return NULL;
    }
    return "is not known; there are topology=, model=, dir=, ports=";
}

void site_parse(int argc, char **argv, struct site *out, void (*complain)(const char *sentence))
{
    *out =
        (struct site){.dir = "/run/berth", .port_low = SITE_PORT_LOW, .port_high = SITE_PORT_HIGH};
    for (int i = 0; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        char key[16] = "", sentence[256];
        if (length < sizeof(key))
            memcpy(key, argv[i], length);
        const char *wrong = site_argument(out, key, equals ? equals + 1 : "");
        if (!wrong)
            continue;
        snprintf(sentence, sizeof(sentence), "plugstack.conf: '%.100s' %s; it is ignored", argv[i],
                 wrong);
        complain(sentence);
    }
}
