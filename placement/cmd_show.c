/*
 * berth show: prints, explains or draws a rank map. The map file alone is enough; --topology and
 * --cluster add rates.
 */
#include "../lib/file.h"
#include "show.h"
#include <string.h>

struct options {
    struct input input;
    const char *map, *axis, *rank, *node, *svg;
    bool json, help;
};

static const char help[] =
    "MAP [OPTION]...\n\n"
    "Shows a rank map: its mesh, which ranks run under which switch and on which node, how far "
    "each\n"
    "axis's groups reach, and the bytes over each uplink beside Slurm's name order.\n\n"
    "      --axis NAME           only this axis's groups, all of them; with --svg, the colours\n"
    "      --rank R              one rank: its place, its groups, its neighbours\n"
    "      --node NAME           one node and its ranks\n"
    "      --cluster FILE, --topology FILE\n"
    "                            rates and switches that the map does not say\n"
    "      --json                for scripts\n"
    "      --svg FILE            a drawing, Slurm's name order beside this map (\"-\": stdout)\n"
    "  -h, --help                this text\n";

enum { OPT_AXIS = 1, OPT_RANK, OPT_NODE, OPT_JSON, OPT_SVG };

static const struct option table[] = {INPUT_FILE_OPTIONS,
                                      {"axis", required_argument, NULL, OPT_AXIS},
                                      {"rank", required_argument, NULL, OPT_RANK},
                                      {"node", required_argument, NULL, OPT_NODE},
                                      {"json", no_argument, NULL, OPT_JSON},
                                      {"svg", required_argument, NULL, OPT_SVG},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static int take_option(struct options *o, int option, struct berth_error *err)
{
    switch (option) {
    case OPT_AXIS:
        o->axis = optarg;
        return 0;
    case OPT_RANK:
        o->rank = optarg;
        return 0;
    case OPT_NODE:
        o->node = optarg;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_SVG:
        o->svg = optarg;
        return 0;
    case 'h':
        o->help = true;
        return 0;
    default:
        return input_option(&o->input, option, "", optarg, err) < 0 ? -1 : 0;
    }
}

static int parse_options(int argc, char **argv, struct options *o)
{
    struct berth_error err;
    int option;
    memset(o, 0, sizeof(*o));
    while ((option = command_option(argc, argv, ":h", table)) != -1) {
        if (option == '?')
            return COMMAND_WRONG;
        if (take_option(o, option, &err) < 0)
            return command_fail(&err);
        if (o->help)
            return 0;
    }
    if (argc - optind != 1)
        return command_usage("show", optind < argc ? "more than one map is given"
                                                   : "no map: give the file of a rank map");
    o->map = argv[optind];
    if (!!o->rank + !!o->node + !!o->svg > 1)
        return command_usage("show", "--rank, --node and --svg exclude each other");
    return 0;
}

static int print_json(json_t *json, struct berth_error *err)
{
    int rc = json ? berth_file_save("-", output_json, json, err) : berth_error_memory(err);
    json_decref(json);
    return rc;
}

static int find_axis(const struct options *o, const struct berth_map *map, int none,
                     struct berth_error *err)
{
    int axis = o->axis ? berth_map_axis(map, o->axis) : none;
    if (o->axis && axis < 0)
        return berth_error_set(err, BERTH_EINPUT, "%.200s has no axis '%.60s': its order is %.200s",
                               o->map, o->axis, map->mesh.order);
    return axis;
}

static int show_rank(const struct options *o, const struct view *view, struct berth_error *err)
{
    int rank;
    if (command_number("--rank", o->rank, 0, view->map->mesh.world - 1, &rank, err) < 0)
        return -1;
    return o->json ? print_json(show_json_rank(view, rank), err)
                   : show_text_rank(view, rank, stdout, err);
}

static int show_node(const struct options *o, const struct view *view, struct berth_error *err)
{
    int node = berth_map_node(view->map, o->node);
    if (node < 0)
        return berth_error_set(err, BERTH_EINPUT, "%.200s has no node '%.100s'", o->map, o->node);
    return o->json ? print_json(show_json_node(view, node), err)
                   : show_text_node(view, node, stdout, err);
}

static int show(const struct options *o, const struct view *view, struct berth_error *err)
{
    if (o->rank)
        return show_rank(o, view, err);
    if (o->node)
        return show_node(o, view, err);
    int axis = find_axis(o, view->map, o->svg ? view_main_axis(view) : 0, err);
    if (axis < 0)
        return -1;
    if (o->svg) {
        struct svg_map drawing = {view, axis};
        return berth_file_save(o->svg, show_svg_map, &drawing, err);
    }
    if (o->json)
        return print_json(show_json(view), err);
    struct show_options text = {.axis = o->axis ? axis : -1, .colour = command_colour(stdout)};
    return show_text(view, &text, stdout, err);
}

static int run(int argc, char **argv)
{
    struct options o;
    struct berth_error err;
    struct view view = {0};
    int code = parse_options(argc, argv, &o);
    if (code != 0)
        return code;
    if (o.help)
        return command_help(&command_show);
    struct berth_map *map = berth_map_open(o.map, &err);
    if (map && view_init(&view, map, &o.input, &err) < 0) {
        berth_error_prefix(&err, "%.200s", o.map);
        code = command_fail(&err);
    } else {
        code = map && show(&o, &view, &err) == 0 ? COMMAND_DONE : command_fail(&err);
    }
    view_clear(&view);
    berth_map_close(map);
    return code;
}

const struct command command_show = {"show", "print, explain or draw a rank map", help, run};
