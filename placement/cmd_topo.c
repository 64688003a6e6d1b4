/*
 * berth topo: what Berth read. Switches with their nodes, rates, hardware, and what looks wrong; as
 * text, as a cluster model that --cluster reads back, or drawn.
 */
#include "../lib/file.h"
#include "hostlist.h"
#include "show.h"
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 160 /* characters of a list of nodes that are shown */

struct topo_options {
    struct input input;
    const char *svg;
    bool json, help;
};

static const char help[] =
    "[FILE]... [OPTION]...\n\n"
    "Shows what Berth reads from topology files, cluster models and hwloc XML, or without a FILE "
    "from\n"
    "Slurm: switches, nodes, rates, GPUs, NICs, and what looks incomplete.\n\n"
    "      --nodes HOSTLIST      only these nodes and the switches above them\n"
    "      --json                the cluster model, which --cluster and `berth topo` read back\n"
    "      --svg FILE            a drawing instead of text (\"-\": stdout)\n"
    "      --topology FILE, --cluster FILE\n"
    "                            the same as FILE\n"
    "  -h, --help                this text\n";

enum { OPT_JSON = 1, OPT_SVG };

static const struct option table[] = {INPUT_FILE_OPTIONS,
                                      {"nodes", required_argument, NULL, INPUT_NODES},
                                      {"json", no_argument, NULL, OPT_JSON},
                                      {"svg", required_argument, NULL, OPT_SVG},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static int parse_options(int argc, char **argv, struct topo_options *o)
{
    struct berth_error err;
    int option;
    memset(o, 0, sizeof(*o));
    while ((option = command_option(argc, argv, ":h", table)) != -1) {
        if (option == '?')
            return COMMAND_WRONG;
        if (option == 'h') {
            o->help = true;
            return 0;
        }
        if (option == OPT_JSON)
            o->json = true;
        else if (option == OPT_SVG)
            o->svg = optarg;
        else if (input_option(&o->input, option, "", optarg, &err) < 0)
            return command_fail(&err);
    }
    for (int i = optind; i < argc; i++)
        if (input_file(&o->input, argv[i], &err) < 0)
            return command_fail(&err);
    return 0;
}

/* ---- lists of nodes ---- */

/* The names of those nodes that `wanted` accepts, compressed and cut; and their number. */
static char *list_nodes(const struct cluster *c, bool (*wanted)(const struct cluster_node *, int),
                        int arg, int *n)
{
    const char **names = calloc(c->n_nodes + 1, sizeof(*names));
    char *text = NULL;
    *n = 0;
    for (int i = 0; names && i < c->n_nodes; i++)
        if (wanted(&c->nodes[i], arg))
            names[(*n)++] = c->nodes[i].name;
    if (names) {
        qsort(names, *n, sizeof(*names), input_name_compare);
        text = hostlist_compress(names, *n);
    }
    if (text && strlen(text) > LIST_MAX)
        strcpy(text + LIST_MAX - 3, "...");
    free(names);
    return text;
}

static bool is_leafless(const struct cluster_node *node, int unused)
{
    (void)unused;
    return node->n_leaves == 0;
}

static bool has_shape(const struct cluster_node *node, int shape)
{
    return node->shape == shape;
}

static bool has_gpus(const struct cluster_node *node, int gpus)
{
    return node->shape < 0 && node->gpus == gpus;
}

/* ---- text ---- */

/* Nodes by leaf: those of switch s are node[first[s]] .. node[first[s + 1] - 1]. */
struct attached {
    int *first, *node;
};

static int attached_init(struct attached *a, const struct cluster *c, struct berth_error *err)
{
    int total = 0;
    for (int s = 0; s < c->n_switches; s++)
        total += c->switches[s].nodes;
    a->first = calloc(c->n_switches + 2, sizeof(int));
    a->node = calloc(total + 1, sizeof(int));
    if (!a->first || !a->node)
        return berth_error_memory(err);
    int *next = a->first + 1; /* where the next node of s goes; ends as first[s + 1] */
    for (int s = 0; s < c->n_switches; s++)
        next[s] = s ? next[s - 1] + c->switches[s - 1].nodes : 0;
    for (int i = 0; i < c->n_nodes; i++)
        for (int k = 0; k < c->nodes[i].n_leaves; k++)
            a->node[next[c->nodes[i].leaves[k]]++] = i;
    return 0;
}

static void attached_clear(struct attached *a)
{
    free(a->first);
    free(a->node);
}

static int print_switch(const struct cluster *c, const struct attached *a, int sw, int depth,
                        struct berth_error *err)
{
    const struct cluster_switch *s = &c->switches[sw];
    int n = a->first[sw + 1] - a->first[sw];
    char rate[TEXT_MAX];
    printf("%*s%s", 2 * depth, "", s->name);
    if (s->uplink > 0)
        printf("  uplink %s", text_rate(s->uplink, rate));
    if (n > 0) {
        const char **names = calloc(n, sizeof(*names));
        for (int i = 0; names && i < n; i++)
            names[i] = c->nodes[a->node[a->first[sw] + i]].name;
        if (names)
            qsort(names, n, sizeof(*names), input_name_compare);
        char *list = names ? hostlist_compress(names, n) : NULL;
        free(names);
        if (!list)
            return berth_error_memory(err);
        printf("  %d node%s: %s", n, text_plural(n), list);
        free(list);
    }
    putchar('\n');
    return 0;
}

static int print_tree(const struct cluster *c, struct berth_error *err)
{
    struct tree tree = {0};
    struct attached a = {0};
    int rc = -1, depth = 0;
    if (tree_init(&tree, c, false, err) < 0 || attached_init(&a, c, err) < 0)
        goto out;
    for (int s = tree.root; s >= 0;) {
        if (print_switch(c, &a, s, depth, err) < 0)
            goto out;
        if (tree.child[s] >= 0) {
            s = tree.child[s];
            depth++;
            continue;
        }
        while (s >= 0 && tree.sibling[s] < 0) {
            s = c->switches[s].parent;
            depth--;
        }
        if (s >= 0)
            s = tree.sibling[s];
    }
    rc = 0;
out:
    tree_clear(&tree);
    attached_clear(&a);
    return rc;
}

static void print_shape(const struct berth_shape *shape)
{
    printf("%d GPU%s, %d NIC%s", shape->n_gpus, text_plural(shape->n_gpus), shape->n_nics,
           text_plural(shape->n_nics));
    for (int i = 0; i < shape->n_cliques; i++)
        printf("%s%s", i ? " " : ", NVLink ", shape->cliques[i]);
    putchar('\n');
    for (int i = 0; i < shape->n_gpus; i++) {
        const struct berth_gpu *g = &shape->gpus[i];
        printf("    slot %d  %s", i, g->pci ? g->pci : "GPU");
        if (g->numa >= 0)
            printf("  NUMA %d", g->numa);
        if (g->cpus)
            printf("  CPUs %s", g->cpus);
        if (g->nic)
            printf("  NIC %s", g->nic);
        putchar('\n');
    }
}

static void print_hardware(const struct cluster *c)
{
    char *list;
    int n;
    for (int s = 0; s < c->n_shapes; s++) {
        list = list_nodes(c, has_shape, s, &n);
        if (n > 0)
            printf("  %d node%s %s: ", n, text_plural(n), list ? list : "");
        else
            printf("  machine %d, which no node is said to be: ", s);
        print_shape(&c->shapes[s]);
        free(list);
    }
    for (int gpus = 0; gpus <= BERTH_GPUS_MAX; gpus++) {
        bool any = false;
        for (int i = 0; i < c->n_nodes && !any; i++)
            any = has_gpus(&c->nodes[i], gpus);
        if (!any)
            continue;
        list = list_nodes(c, has_gpus, gpus, &n);
        printf("  %d node%s %s: %d GPU%s\n", n, text_plural(n), list ? list : "", gpus,
               text_plural(gpus));
        free(list);
    }
}

static void print_notes(const struct cluster *c)
{
    int n, least = 0, most = 0, roots = 0, unknown = 0;
    char *list = list_nodes(c, is_leafless, 0, &n);
    if (n > 0 && c->n_switches > 0)
        printf("note: %d node%s under no switch: %s\n", n, text_plural(n), list ? list : "");
    free(list);
    if (c->n_switches == 0 && c->n_nodes > 0)
        puts("note: no switches: all nodes count as equally near");
    for (int s = 0; s < c->n_switches; s++) {
        int nodes = c->switches[s].nodes;
        roots += c->switches[s].parent < 0;
        least = nodes > 0 && (least == 0 || nodes < least) ? nodes : least;
        most = nodes > most ? nodes : most;
    }
    if (least < most)
        printf("note: leaves are uneven: %d to %d nodes\n", least, most);
    if (roots > 1)
        printf("note: %d switches have none above them; nothing is known of the way between them\n",
               roots);
    if (c->refused)
        printf("note: topology '%s' is not one that Berth uses: its switches are not read\n",
               c->refused);
    for (int i = 0; i < c->n_nodes; i++)
        unknown += c->nodes[i].gpus < 0;
    if (unknown > 0)
        printf("note: the GPUs of %d node%s are not known: add the site's model or an hwloc XML\n",
               unknown, text_plural(unknown));
    for (int s = 0; s < c->n_shapes; s++)
        if (c->shapes[s].n_gpus == 0 && c->shapes[s].n_nics == 0)
            printf(
                "note: machine %d shows neither GPU nor NIC: was its XML written with I/O objects "
                "(lstopo --whole-io)?\n",
                s);
}

static int print_text(const struct cluster *c, struct berth_error *err)
{
    int leaves = 0;
    long gpus = 0;
    for (int s = 0; s < c->n_switches; s++)
        leaves += c->switches[s].nodes > 0;
    for (int i = 0; i < c->n_nodes; i++)
        gpus += c->nodes[i].gpus > 0 ? c->nodes[i].gpus : 0;
    printf("read from %s: %d node%s, %d switch%s (%d with nodes), %ld GPU%s\n",
           c->source ? c->source : "a machine's XML", c->n_nodes, text_plural(c->n_nodes),
           c->n_switches, c->n_switches == 1 ? "" : "es", leaves, gpus, gpus == 1 ? "" : "s");
    if (print_tree(c, err) < 0)
        return -1;
    print_hardware(c);
    print_notes(c);
    return 0;
}

/* ---- the command ---- */

static int print(const struct topo_options *o, struct cluster *c, struct berth_error *err)
{
    if (o->svg)
        return berth_file_save(o->svg, show_svg_cluster, c, err);
    if (!o->json)
        return print_text(c, err);
    json_t *model = cluster_write_model(c);
    int rc = model ? berth_file_save("-", output_json, model, err) : berth_error_memory(err);
    json_decref(model);
    return rc;
}

static int run(int argc, char **argv)
{
    struct topo_options o;
    struct berth_error err;
    struct selection sel;
    int code = parse_options(argc, argv, &o);
    if (code != 0)
        return code;
    if (o.help)
        return command_help(&command_topo);
    struct cluster *c = input_load(&o.input, false, &sel, &err);
    if (!c)
        return command_fail(&err);
    if (o.input.nodes) {
        struct cluster *part = input_restrict(c, &sel, &err);
        cluster_free(c);
        c = part;
    }
    code = c && print(&o, c, &err) == 0 ? COMMAND_DONE : command_fail(&err);
    selection_clear(&sel);
    cluster_free(c);
    return code;
}

const struct command command_topo = {"topo", "what Berth read: switches, nodes, GPUs, NICs", help,
                                     run};
