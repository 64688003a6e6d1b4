/*
 * Drawings: the switch tree lies on its side, roots left, leaves as boxes of nodes right, so that every
 * link has a row of its own for its number and thousands of nodes still fit. Two panels for a map
 * (Slurm's name order, this map), one for a cluster.
 */
#include "meshspec.h"
#include "show.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 24
#define HEADER 74       /* title and subtitle */
#define PANEL_HEAD 50   /* a panel's own titles */
#define BAR 24          /* width of an inner switch */
#define COLUMN 118      /* from one level of switches to the next */
#define LEAF_WIDTH 436
#define LEAF_TITLE 22
#define LEAF_MIN 46     /* height that a link with its number needs */
#define GAP 8
#define LINK_MAX 16
#define BARS_SHOWN 60   /* leaves drawn when leaves are drawn as bars */
#define RINGS_SHOWN 3
#define FOOTER 78

enum detail { DETAIL_RANKS, DETAIL_TILES, DETAIL_BARS };

struct drawing {
    FILE *out;
    const struct cluster *c;
    const struct svg_map *map; /* NULL: a cluster alone */
    enum detail detail;
    struct tree tree;
    int n_nodes, most_slots, digits, longest; /* longest: characters of a node's name */
    int *nodes, *leaf, *slots;                /* per drawn node */
    int *leaf_first, *leaf_nodes;             /* drawn nodes by leaf */
    int *below;                               /* switch -> drawn nodes below it */
    int *top, *bottom, *depth;                /* switch -> its rows, its column */
    int columns, height, hidden;              /* hidden: leaves left out */
    double widest;                            /* the load or rate that LINK_MAX stands for */
};

/* One of a drawing's panels. */
struct panel {
    const char *title;
    const struct placement *placement; /* NULL: a cluster */
    const struct cost *cost;
    double seconds; /* per step, < 0 unknown */
    int x;
    int *first, *ranks; /* ranks of drawn node i: ranks[first[i]] .. */
};

/* ---- plain SVG ---- */

static void escape(FILE *out, const char *s, int max)
{
    int length = (int)strlen(s);
    for (int i = 0; i < length && i < max; i++) {
        unsigned char ch = (unsigned char)s[i];
        if (i == max - 2 && length > max) {
            fputs("..", out);
            return;
        }
        if (ch == '<' || ch == '>' || ch == '&' || ch == '"')
            fprintf(out, "&#%d;", ch);
        else
            fputc(ch < 0x20 || ch >= 0x7f ? '?' : ch, out);
    }
}

/* `style` is more attributes; `max` the most characters that fit. */
static void text(FILE *out, double x, double y, int size, const char *style, const char *s, int max)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" %s>", x, y, size, style);
    escape(out, s, max);
    fputs("</text>\n", out);
}

static void rect(FILE *out, double x, double y, double w, double h, const char *fill,
                 const char *style)
{
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" %s/>\n", x, y,
            w, h, fill, style);
}

#define MIDDLE "text-anchor=\"middle\""
#define BOLD "font-weight=\"bold\""
#define GREY "fill=\"#555\""

/* ---- colours ---- */

struct colour {
    char hex[8];
    bool dark;
};

static struct colour colour_make(double r, double g, double b)
{
    struct colour colour;
    snprintf(colour.hex, sizeof(colour.hex), "#%02x%02x%02x", (unsigned)r & 255, (unsigned)g & 255,
             (unsigned)b & 255);
    colour.dark = 0.299 * r + 0.587 * g + 0.114 * b < 140;
    return colour;
}

/* Colour i of n that only need to differ: ten set by hand, more by the golden angle. */
static struct colour colour_category(int i, int n)
{
    static const unsigned char ten[][3] = {{78, 121, 167}, {242, 142, 43},  {89, 161, 79},
                                           {225, 87, 89},  {118, 183, 178}, {237, 201, 72},
                                           {176, 122, 161}, {156, 117, 95}, {255, 157, 167},
                                           {120, 120, 120}};
    if (n <= 10)
        return colour_make(ten[i][0], ten[i][1], ten[i][2]);
    double hue = fmod(i * 137.508, 360) / 60, value = 150 + 95 * (i % 3) / 2.0;
    double low = value * 0.38, x = low + (value - low) * (1 - fabs(fmod(hue, 2) - 1));
    double table[6][3] = {{value, x, low}, {x, value, low}, {low, value, x},
                          {low, x, value}, {x, low, value}, {value, low, x}};
    const double *rgb = table[(int)hue % 6];
    return colour_make(rgb[0], rgb[1], rgb[2]);
}

/* Colour of position i of n on a ring: light to dark. */
static struct colour colour_position(int i, int n)
{
    static const double stops[][3] = {{253, 231, 140}, {110, 200, 150}, {50, 130, 170}, {62, 40, 110}};
    double at = n > 1 ? 3.0 * i / (n - 1) : 0;
    int k = at >= 3 ? 2 : (int)at;
    double f = at - k, rgb[3];
    for (int j = 0; j < 3; j++)
        rgb[j] = stops[k][j] + f * (stops[k + 1][j] - stops[k][j]);
    return colour_make(rgb[0], rgb[1], rgb[2]);
}

/* What a rank's colour stands for: its group, or where there is one group its position. */
static int colour_index(const struct svg_map *map, int rank, int *n)
{
    const struct berth_mesh *mesh = &map->view->map->mesh;
    int groups = berth_mesh_groups(mesh, map->axis);
    *n = groups > 1 ? groups : mesh->axes[map->axis].size;
    return groups > 1 ? berth_mesh_group(mesh, map->axis, rank)
                      : berth_mesh_coord(mesh, map->axis, rank);
}

static struct colour colour_of(const struct svg_map *map, int index, int n)
{
    return berth_mesh_groups(&map->view->map->mesh, map->axis) > 1 ? colour_category(index, n)
                                                                   : colour_position(index, n);
}

/* ---- layout ---- */

static int node_cells(const struct drawing *d) /* rank squares in a row of a node */
{
    return d->most_slots <= 4 ? d->most_slots : d->most_slots <= 16 ? 4 : 8;
}

static int cell_width(const struct drawing *d)
{
    return 10 + 6 * d->digits;
}

static int node_width(const struct drawing *d)
{
    if (d->detail == DETAIL_TILES)
        return d->most_slots < 3 ? 9 : d->most_slots < 8 ? 3 * d->most_slots : 24;
    int name = 10 + (int)(6.6 * d->longest), cells = node_cells(d) * cell_width(d) + 8;
    return name > cells ? name : cells;
}

static int node_height(const struct drawing *d)
{
    if (d->detail == DETAIL_TILES)
        return 11;
    int cells = node_cells(d);
    return 20 + 17 * (cells ? (d->most_slots + cells - 1) / cells : 1);
}

static int nodes_per_row(const struct drawing *d)
{
    int gap = d->detail == DETAIL_TILES ? 3 : 6, n = (LEAF_WIDTH - 12 + gap) / (node_width(d) + gap);
    return n > 1 ? n : 1;
}

static int leaf_height(const struct drawing *d, int sw)
{
    int gap = d->detail == DETAIL_TILES ? 3 : 6, per_row = nodes_per_row(d);
    int rows = (d->below[sw] + per_row - 1) / per_row;
    int height = LEAF_TITLE + 6 +
                 (d->detail == DETAIL_BARS ? 18 : rows * (node_height(d) + gap) - gap);
    return height > LEAF_MIN ? height : LEAF_MIN;
}

/* Columns and rows of all switches with drawn nodes below, in the tree's order. */
static void place(struct drawing *d)
{
    int y = 0, shown = 0;
    for (int s = d->tree.root, depth = 0; s >= 0;) {
        bool leaf = d->leaf_first[s + 1] > d->leaf_first[s];
        d->depth[s] = depth;
        d->top[s] = y;
        if (leaf && shown < (d->detail == DETAIL_BARS ? BARS_SHOWN : d->n_nodes)) {
            d->bottom[s] = y + leaf_height(d, s);
            y = d->bottom[s] + GAP;
            d->columns = depth > d->columns ? depth : d->columns;
            shown++;
        } else if (leaf) {
            d->hidden++;
            d->below[s] = 0;
        }
        if (d->tree.child[s] >= 0) {
            s = d->tree.child[s];
            depth++;
            continue;
        }
        while (s >= 0 && d->tree.sibling[s] < 0) {
            s = d->c->switches[s].parent;
            depth--;
            if (s >= 0)
                d->bottom[s] = y - GAP;
        }
        if (s >= 0)
            s = d->tree.sibling[s];
    }
    d->height = y;
}

static bool is_drawn(const struct drawing *d, int sw)
{
    return d->below[sw] > 0 && d->bottom[sw] > d->top[sw];
}

/* Gathers drawn nodes by leaf and counts them upwards. */
static int gather(struct drawing *d, struct berth_error *err)
{
    int n = d->c->n_switches;
    d->leaf_first = calloc(n + 2, sizeof(int));
    d->leaf_nodes = calloc(d->n_nodes + 1, sizeof(int));
    d->below = calloc(n + 1, sizeof(int));
    d->top = calloc(n + 1, sizeof(int));
    d->bottom = calloc(n + 1, sizeof(int));
    d->depth = calloc(n + 1, sizeof(int));
    if (!d->leaf_first || !d->leaf_nodes || !d->below || !d->top || !d->bottom || !d->depth)
        return berth_error_memory(err);
    for (int i = 0; i < d->n_nodes; i++)
        for (int s = d->leaf[i]; s >= 0; s = d->c->switches[s].parent)
            d->below[s]++;
    int *next = d->leaf_first + 1, leaves = 0;
    for (int i = 0; i < d->n_nodes; i++)
        leaves += next[d->leaf[i] + 1]++ == 0; /* next has n + 1 entries */
    for (int s = 0; s < n; s++)
        next[s + 1] += next[s];
    for (int i = 0; i < d->n_nodes; i++)
        d->leaf_nodes[next[d->leaf[i]]++] = i;
    bool few = d->n_nodes <= 100 && (long)d->n_nodes * d->most_slots <= 1024;
    d->detail = few ? DETAIL_RANKS : d->n_nodes <= 1500 && leaves <= 150 ? DETAIL_TILES : DETAIL_BARS;
    return 0;
}

static void drawing_clear(struct drawing *d)
{
    tree_clear(&d->tree);
    free(d->nodes);
    free(d->leaf);
    free(d->slots);
    free(d->leaf_first);
    free(d->leaf_nodes);
    free(d->below);
    free(d->top);
    free(d->bottom);
    free(d->depth);
}

static int drawing_init(struct drawing *d, int n_nodes, struct berth_error *err)
{
    d->n_nodes = n_nodes;
    d->nodes = calloc(n_nodes + 1, sizeof(int));
    d->leaf = calloc(n_nodes + 1, sizeof(int));
    d->slots = calloc(n_nodes + 1, sizeof(int));
    if (!d->nodes || !d->leaf || !d->slots)
        return berth_error_memory(err);
    return tree_init(&d->tree, d->c, err);
}

static int drawing_finish(struct drawing *d, int world, struct berth_error *err)
{
    for (int i = 0; i < d->n_nodes; i++) {
        int length = (int)strlen(d->c->nodes[d->nodes[i]].name);
        d->longest = length > d->longest ? length : d->longest;
        d->most_slots = d->slots[i] > d->most_slots ? d->slots[i] : d->most_slots;
    }
    d->longest = d->longest > 16 ? 16 : d->longest;
    for (d->digits = 1; world > 10; world /= 10)
        d->digits++;
    if (gather(d, err) < 0)
        return -1;
    place(d);
    return 0;
}

static int panel_width(const struct drawing *d)
{
    return d->columns * COLUMN + LEAF_WIDTH;
}

/* ---- one panel ---- */

static int panel_ranks(struct panel *p, const struct drawing *d, struct berth_error *err)
{
    int world = p->placement->world;
    p->first = calloc(d->n_nodes + 2, sizeof(int));
    p->ranks = calloc(world + 1, sizeof(int));
    if (!p->first || !p->ranks)
        return berth_error_memory(err);
    int *next = p->first + 1;
    for (int i = 1; i <= d->n_nodes; i++)
        next[i] = next[i - 1] + d->slots[i - 1];
    for (int r = 0; r < world; r++)
        p->ranks[next[p->placement->node[r]]++] = r;
    return 0;
}

static void draw_cells(const struct drawing *d, const struct panel *p, int node, double x, double y)
{
    int cells = node_cells(d), width = cell_width(d);
    char number[16];
    for (int i = p->first[node]; i < p->first[node + 1]; i++) {
        int n, k = i - p->first[node], index = colour_index(d->map, p->ranks[i], &n);
        struct colour colour = colour_of(d->map, index, n);
        double cx = x + 4 + k % cells * width, cy = y + 17 + k / cells * 17;
        rect(d->out, cx, cy, width - 1, 16, colour.hex, "");
        snprintf(number, sizeof(number), "%d", p->ranks[i]);
        text(d->out, cx + (width - 1) / 2.0, cy + 12, 10,
             colour.dark ? MIDDLE " fill=\"#fff\"" : MIDDLE, number, 8);
    }
}

/* A node too small for numbers: its ranks' colours side by side, equal neighbours as one. */
static void draw_stripes(const struct drawing *d, const struct panel *p, int node, double x, double y)
{
    int from = p->first[node], count = p->first[node + 1] - from, n;
    double width = count ? (double)node_width(d) / count : 0;
    for (int i = 0, run; i < count; i += run) {
        int index = colour_index(d->map, p->ranks[from + i], &n);
        for (run = 1; i + run < count; run++)
            if (colour_index(d->map, p->ranks[from + i + run], &n) != index)
                break;
        rect(d->out, x + i * width, y, run * width, node_height(d),
             colour_of(d->map, index, n).hex, "");
    }
}

static void draw_node(const struct drawing *d, const struct panel *p, int node, double x, double y)
{
    const struct cluster_node *n = &d->c->nodes[d->nodes[node]];
    if (d->detail == DETAIL_TILES) {
        fputs("<g><title>", d->out);
        escape(d->out, n->name, 255);
        fputs("</title>\n", d->out);
        rect(d->out, x, y, node_width(d), node_height(d), "#c9d3e0", "");
        if (p->placement)
            draw_stripes(d, p, node, x, y);
        fputs("</g>\n", d->out);
        return;
    }
    rect(d->out, x, y, node_width(d), node_height(d), "#fff", "stroke=\"#888\" rx=\"3\"");
    text(d->out, x + node_width(d) / 2.0, y + 12, 11, MIDDLE, n->name, 16);
    if (p->placement) {
        draw_cells(d, p, node, x, y);
    } else if (n->gpus >= 0) {
        char gpus[16];
        snprintf(gpus, sizeof(gpus), "%d GPU%s", n->gpus, text_plural(n->gpus));
        text(d->out, x + node_width(d) / 2.0, y + 29, 10, MIDDLE " " GREY, gpus, 9);
    }
}

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

/* A leaf as one bar: how its ranks are shared out over the groups. Returns the groups, -1: no memory. */
static int draw_bar(const struct drawing *d, const struct panel *p, int leaf, double x, double y)
{
    int from = d->leaf_first[leaf], to = d->leaf_first[leaf + 1], count = 0, groups = 0, n = 1;
    for (int i = from; i < to; i++)
        count += d->slots[d->leaf_nodes[i]];
    int *index = calloc(count + 1, sizeof(*index));
    if (!index)
        return -1;
    count = 0;
    for (int i = from; i < to; i++)
        for (int k = p->first[d->leaf_nodes[i]]; k < p->first[d->leaf_nodes[i] + 1]; k++)
            index[count++] = colour_index(d->map, p->ranks[k], &n);
    qsort(index, count, sizeof(*index), compare_int);
    double width = (LEAF_WIDTH - 12.0) / (count ? count : 1);
    for (int i = 0, run; i < count; i += run, groups++) {
        for (run = 1; i + run < count && index[i + run] == index[i]; run++)
            ;
        rect(d->out, x + i * width, y, run * width, 18, colour_of(d->map, index[i], n).hex, "");
    }
    free(index);
    return groups;
}

static int draw_leaf(const struct drawing *d, const struct panel *p, int sw, double x, double y,
                     struct berth_error *err)
{
    int first = d->leaf_first[sw], n = d->leaf_first[sw + 1] - first, ranks = 0;
    int gap = d->detail == DETAIL_TILES ? 3 : 6, per_row = nodes_per_row(d);
    char title[400], of[64] = "";
    rect(d->out, x, y, LEAF_WIDTH, d->bottom[sw] - d->top[sw], "#eef2f7",
         "stroke=\"#5b6b80\" rx=\"5\"");
    for (int i = 0; i < n; i++)
        ranks += d->slots[d->leaf_nodes[first + i]];
    if (d->detail == DETAIL_BARS && p->placement) {
        int groups = draw_bar(d, p, sw, x + 6, y + LEAF_TITLE);
        if (groups < 0)
            return berth_error_memory(err);
        const struct berth_mesh *mesh = &d->map->view->map->mesh;
        if (berth_mesh_groups(mesh, d->map->axis) > 1)
            snprintf(of, sizeof(of), " of %d %s group%s", groups, mesh->axes[d->map->axis].name,
                     text_plural(groups));
    }
    snprintf(title, sizeof(title), "%.255s: %d node%s", d->c->switches[sw].name, n, text_plural(n));
    if (p->placement)
        snprintf(title + strlen(title), sizeof(title) - strlen(title), ", %d rank%s%s", ranks,
                 text_plural(ranks), of);
    text(d->out, x + 6, y + 15, 12, BOLD, title, 60);
    for (int i = 0; d->detail != DETAIL_BARS && i < n; i++)
        draw_node(d, p, d->leaf_nodes[first + i], x + 6 + i % per_row * (node_width(d) + gap),
                  y + LEAF_TITLE + i / per_row * (node_height(d) + gap));
    return 0;
}

/* The link from a switch to the one above, as wide as its load (or rate), with the number on it. */
static void draw_link(const struct drawing *d, const struct panel *p, int sw, double left,
                      double right, double y)
{
    const struct cluster_switch *s = &d->c->switches[sw];
    double value = p->cost ? view_load(p->cost, sw) : s->uplink;
    double width = d->widest > 0 ? LINK_MAX * value / d->widest : 0;
    bool worst = p->cost && value > 0 && p->cost->worst_switch == sw;
    char number[TEXT_MAX];
    width = width < 1 ? 1 : width;
    fprintf(d->out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"%.1f\"/>\n",
            left, y, right, y, worst ? "#c8102e" : "#5b6b80", width);
    if (!p->cost && value <= 0)
        return;
    text(d->out, (left + right) / 2, y - width / 2 - 4, 11, worst ? MIDDLE " " BOLD : MIDDLE,
         p->cost ? text_bytes(value, number) : text_rate(value, number), 12);
}

static int draw_tree(const struct drawing *d, const struct panel *p, int y0, struct berth_error *err)
{
    int leaf_x = p->x + d->columns * COLUMN;
    for (int s = 0; s < d->c->n_switches; s++) {
        if (!is_drawn(d, s))
            continue;
        const struct cluster_switch *sw = &d->c->switches[s];
        bool leaf = d->leaf_first[s + 1] > d->leaf_first[s];
        double y = y0 + d->top[s], h = d->bottom[s] - d->top[s];
        int x = leaf ? leaf_x : p->x + d->depth[s] * COLUMN;
        if (sw->parent >= 0)
            draw_link(d, p, s, p->x + d->depth[sw->parent] * COLUMN + BAR, x, y + h / 2);
        if (leaf && draw_leaf(d, p, s, x, y, err) < 0)
            return -1;
        if (leaf)
            continue;
        char turned[128];
        snprintf(turned, sizeof(turned), MIDDLE " " BOLD " transform=\"rotate(-90 %.1f %.1f)\"",
                 x + 16.0, y + h / 2);
        rect(d->out, x, y, BAR, h, "#d5dde8", "stroke=\"#5b6b80\" rx=\"4\"");
        text(d->out, x + 16, y + h / 2, 12, turned, sw->name, h > 30 ? (int)(h / 8) : 3);
    }
    return 0;
}

/* ---- words around the panels ---- */

static void draw_panel_words(const struct drawing *d, const struct panel *p)
{
    char line[512], a[TEXT_MAX], b[TEXT_MAX];
    int worst = p->cost ? p->cost->worst_switch : -1, room = panel_width(d) / 7;
    text(d->out, p->x, HEADER + 18, 15, BOLD, p->title, room);
    if (!p->cost)
        return;
    snprintf(line, sizeof(line), "%s%s", p->seconds >= 0 ? "predicted communication per step: " : "",
             p->seconds >= 0 ? text_seconds(p->seconds, a) : "");
    if (worst >= 0)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "%sbusiest link: %s of %.100s",
                 *line ? "; " : "", text_bytes(view_load(p->cost, worst), b),
                 d->c->switches[worst].name);
    else
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "%snothing leaves a leaf",
                 *line ? "; " : "");
    text(d->out, p->x, HEADER + 36, 12, GREY, line, room);
}

static int draw_rings(const struct drawing *d, const struct panel *p, int y, struct berth_error *err)
{
    const struct view *view = d->map->view;
    const struct berth_mesh *mesh = &view->map->mesh;
    int groups = berth_mesh_groups(mesh, d->map->axis);
    int *mark = calloc(d->c->n_switches + 1, sizeof(*mark));
    struct trace trace;
    char line[600], way[512];
    if (!mark)
        return berth_error_memory(err);
    for (int g = 0; g < groups && g < RINGS_SHOWN; g++) {
        view_trace(view, p->placement, d->map->axis, g, mark, &trace);
        snprintf(line, sizeof(line), "%s group %d: %s", mesh->axes[d->map->axis].name, g,
                 trace_text(view, &trace, d->map->axis, way, sizeof(way)));
        text(d->out, p->x, y + 16 * g, 12, GREY, line, panel_width(d) / 6);
    }
    free(mark);
    return 0;
}

static void draw_legend(const struct drawing *d, int y)
{
    const struct berth_mesh *mesh = &d->map->view->map->mesh;
    const char *axis = mesh->axes[d->map->axis].name;
    int n, x = MARGIN;
    bool groups = berth_mesh_groups(mesh, d->map->axis) > 1;
    char line[256], number[16];
    colour_index(d->map, 0, &n);
    snprintf(line, sizeof(line), groups ? "Colour: group of %s" : "Colour: position on the %s ring",
             axis);
    text(d->out, x, y + 12, 12, BOLD, line, 60);
    x += 20 + 7 * (int)strlen(line);
    for (int i = 0; i < n && i < 12; i++, x += 46) {
        int shown = groups || n <= 12 ? i : (int)((long)i * (n - 1) / 11);
        rect(d->out, x, y, 14, 14, colour_of(d->map, shown, n).hex, "");
        snprintf(number, sizeof(number), "%d", shown);
        text(d->out, x + 18, y + 12, 11, "", number, 6);
    }
    if (groups && n > 12) {
        snprintf(line, sizeof(line), "and %d more", n - 12);
        text(d->out, x, y + 12, 11, "", line, 30);
    }
    snprintf(line, sizeof(line), "%sLine: bytes over the link in one training step, in the direction "
             "that carries more; its width follows them, the link busy longest is red.",
             d->detail == DETAIL_RANKS   ? "Number in a square: rank. "
             : d->detail == DETAIL_TILES ? "Small box: a node, one stripe per rank. "
                                         : "Bar: a leaf's ranks by colour. ");
    text(d->out, MARGIN, y + 34, 12, GREY, line, 250);
}

static void draw_head(const struct drawing *d, int width, int height, const char *title,
                      const char *subtitle)
{
    fprintf(d->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, Verdana, sans-serif\" fill=\"#1b2430\">\n"
            "<title>",
            width, height, width, height);
    escape(d->out, title, 200);
    fputs("</title>\n", d->out);
    rect(d->out, 0, 0, width, height, "#ffffff", "");
    text(d->out, MARGIN, 34, 19, BOLD, title, (width - 2 * MARGIN) / 12);
    text(d->out, MARGIN, 56, 12, GREY, subtitle, (width - 2 * MARGIN) / 7);
}

static int finish(const struct drawing *d, struct berth_error *err)
{
    fputs("</svg>\n", d->out);
    return ferror(d->out) ? berth_error_set(err, BERTH_ESYSTEM, "the drawing cannot be written") : 0;
}

/* ---- the two drawings ---- */

/* What the map itself says its order, or Slurm's, costs per step; < 0: nothing. */
static double recorded_seconds(const struct view *view, bool name)
{
    json_t *cost = view->map->cost;
    if (name)
        cost = json_object_get(json_object_get(cost, "default"), "name");
    json_t *seconds = json_object_get(cost, "seconds");
    return json_is_number(seconds) ? json_number_value(seconds) : -1;
}

static double widest_load(const struct drawing *d, const struct view *view)
{
    double most = 0;
    for (int s = 0; s < d->c->n_switches; s++) {
        most = fmax(most, view_load(&view->planned_cost, s));
        most = fmax(most, view_load(&view->name_cost, s));
    }
    return most;
}

static int draw_panels(struct drawing *d, struct panel panels[2], struct berth_error *err)
{
    const struct view *view = d->map->view;
    int foot = HEADER + PANEL_HEAD + d->height + 14, rings = RINGS_SHOWN * 16;
    int width = 2 * panel_width(d) + 2 * MARGIN + 2 * MARGIN;
    char title[400], subtitle[600], mesh[256];
    const char *traffic = berth_map_traffic(view->map);
    snprintf(title, sizeof(title), "Rank map: %s, %d ranks on %d nodes",
             meshspec_format(&view->map->mesh, mesh, sizeof(mesh)), view->map->mesh.world,
             d->n_nodes);
    snprintf(subtitle, sizeof(subtitle), "Traffic per step: %.500s%s",
             view->reference ? "the reference model's" : traffic,
             view->switches ? "" : "; no switches known");
    draw_head(d, width, foot + rings + FOOTER, title, subtitle);
    for (int i = 0; i < 2; i++) {
        panels[i].x = MARGIN + i * (panel_width(d) + 2 * MARGIN);
        draw_panel_words(d, &panels[i]);
        if (panel_ranks(&panels[i], d, err) < 0 ||
            draw_tree(d, &panels[i], HEADER + PANEL_HEAD, err) < 0 ||
            draw_rings(d, &panels[i], foot + 6, err) < 0)
            return -1;
    }
    if (d->hidden > 0) {
        snprintf(title, sizeof(title), "%d more leaves are not drawn", d->hidden);
        text(d->out, panels[0].x + d->columns * COLUMN, foot - 8, 12, BOLD, title, 60);
    }
    draw_legend(d, foot + rings + 14);
    return finish(d, err);
}

int show_svg_map(FILE *out, void *svg_map, struct berth_error *err)
{
    const struct svg_map *map = svg_map;
    const struct view *view = map->view;
    struct drawing d = {.out = out, .c = view->cluster, .map = map};
    struct panel panels[2] = {
        {.title = "Slurm's name order", .placement = &view->name, .cost = &view->name_cost},
        {.title = "This map", .placement = &view->planned, .cost = &view->planned_cost}};
    int rc = -1;
    for (int i = 0; i < 2; i++)
        panels[i].seconds = view->rates ? panels[i].cost->seconds : recorded_seconds(view, i == 0);
    if (drawing_init(&d, view->job.n_nodes, err) < 0)
        goto out;
    for (int i = 0; i < d.n_nodes; i++) {
        d.nodes[i] = view->job.nodes[i];
        d.leaf[i] = view->leaf[i];
        d.slots[i] = view->job.slots[i];
    }
    if (drawing_finish(&d, view->map->mesh.world, err) < 0)
        goto out;
    d.widest = widest_load(&d, view);
    rc = draw_panels(&d, panels, err);
out:
    for (int i = 0; i < 2; i++) {
        free(panels[i].first);
        free(panels[i].ranks);
    }
    drawing_clear(&d);
    return rc;
}

int show_svg_cluster(FILE *out, void *cluster, struct berth_error *err)
{
    const struct cluster *c = cluster;
    struct drawing d = {.out = out, .c = c};
    struct panel panel = {.title = "Switches and nodes", .seconds = -1, .x = MARGIN};
    char title[400];
    int n = 0, rc = -1;
    if (drawing_init(&d, c->n_nodes, err) < 0)
        goto out;
    for (int i = 0; i < c->n_nodes; i++)
        if (c->nodes[i].n_leaves > 0) {
            d.nodes[n] = i;
            d.leaf[n++] = c->nodes[i].leaves[0];
        }
    d.n_nodes = n;
    if (n == 0) {
        berth_error_set(err, BERTH_ENO, "%s has no switch with nodes: there is nothing to draw",
                        c->source ? c->source : "the input");
        goto out;
    }
    if (drawing_finish(&d, 1, err) < 0)
        goto out;
    for (int s = 0; s < c->n_switches; s++)
        d.widest = fmax(d.widest, c->switches[s].uplink);
    snprintf(title, sizeof(title), "Cluster: %d nodes under %d switches", c->n_nodes, c->n_switches);
    draw_head(&d, panel_width(&d) + 2 * MARGIN, HEADER + PANEL_HEAD + d.height + 2 * MARGIN, title,
              "Line: a switch's way up, as wide as its rate in one direction.");
    draw_panel_words(&d, &panel);
    if (draw_tree(&d, &panel, HEADER + PANEL_HEAD, err) == 0)
        rc = finish(&d, err);
out:
    drawing_clear(&d);
    return rc;
}
