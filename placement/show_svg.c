/*
 * Drawings as SVG text: two panels for a map (Slurm's name order, this map), one for a cluster.
 * What stands where is drawing.c's.
 */
#include "drawing.h"
#include "meshspec.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 24
#define HEADER 74     /* title and subtitle */
#define PANEL_HEAD 50 /* a panel's own titles */
#define BAR 24        /* width of an inner switch */
#define LINK_MAX 16
#define RINGS_SHOWN 3
#define FOOTER 78

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
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" %s/>\n", x,
            y, w, h, fill, style);
}

#define MIDDLE "text-anchor=\"middle\""
#define BOLD "font-weight=\"bold\""
#define GREY "fill=\"#555\""

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
    int cells = drawing_cells(d), width = drawing_cell_width(d);
    char number[16];
    for (int i = p->first[node]; i < p->first[node + 1]; i++) {
        int k = i - p->first[node];
        struct colour colour = drawing_colour(d, drawing_colour_index(d, p->ranks[i]));
        double cx = x + 4 + k % cells * width, cy = y + 17 + k / cells * 17;
        rect(d->out, cx, cy, width - 1, 16, colour.hex, "");
        snprintf(number, sizeof(number), "%d", p->ranks[i]);
        text(d->out, cx + (width - 1) / 2.0, cy + 12, 10,
             colour.dark ? MIDDLE " fill=\"#fff\"" : MIDDLE, number, 8);
    }
}

/* A node too small for numbers: its ranks' colours side by side, equal neighbours as one. */
static void draw_stripes(const struct drawing *d, const struct panel *p, int node, double x,
                         double y)
{
    int from = p->first[node], count = p->first[node + 1] - from;
    double width = count ? (double)drawing_node_width(d) / count : 0;
    for (int i = 0, run; i < count; i += run) {
        int index = drawing_colour_index(d, p->ranks[from + i]);
        for (run = 1; i + run < count; run++)
            if (drawing_colour_index(d, p->ranks[from + i + run]) != index)
                break;
        rect(d->out, x + i * width, y, run * width, drawing_node_height(d),
             drawing_colour(d, index).hex, "");
    }
}

static void draw_node(const struct drawing *d, const struct panel *p, int node, double x, double y)
{
    const struct cluster_node *n = &d->c->nodes[d->nodes[node]];
    if (d->detail == DETAIL_TILES) {
        fputs("<g><title>", d->out);
        escape(d->out, n->name, 255);
        fputs("</title>\n", d->out);
        rect(d->out, x, y, drawing_node_width(d), drawing_node_height(d), "#c9d3e0", "");
        if (p->placement)
            draw_stripes(d, p, node, x, y);
        fputs("</g>\n", d->out);
        return;
    }
    rect(d->out, x, y, drawing_node_width(d), drawing_node_height(d), "#fff",
         "stroke=\"#888\" rx=\"3\"");
    text(d->out, x + drawing_node_width(d) / 2.0, y + 12, 11, MIDDLE, n->name, 16);
    if (p->placement) {
        draw_cells(d, p, node, x, y);
    } else if (n->gpus >= 0) {
        char gpus[16];
        snprintf(gpus, sizeof(gpus), "%d GPU%s", n->gpus, text_plural(n->gpus));
        text(d->out, x + drawing_node_width(d) / 2.0, y + 29, 10, MIDDLE " " GREY, gpus, 9);
    }
}

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

/* A leaf as one bar: how its ranks are shared out over the colours. Returns their number, -1: no
 * memory. */
static int draw_bar(const struct drawing *d, const struct panel *p, int leaf, double x, double y)
{
    int from = d->leaf_first[leaf], to = d->leaf_first[leaf + 1], count = 0, colours = 0;
    for (int i = from; i < to; i++)
        count += d->slots[d->leaf_nodes[i]];
    int *index = calloc(count + 1, sizeof(*index));
    if (!index)
        return -1;
    count = 0;
    for (int i = from; i < to; i++)
        for (int k = p->first[d->leaf_nodes[i]]; k < p->first[d->leaf_nodes[i] + 1]; k++)
            index[count++] = drawing_colour_index(d, p->ranks[k]);
    qsort(index, count, sizeof(*index), compare_int);
    double width = (DRAWING_LEAF_WIDTH - 12.0) / (count ? count : 1);
    for (int i = 0, run; i < count; i += run, colours++) {
        for (run = 1; i + run < count && index[i + run] == index[i]; run++)
            ;
        rect(d->out, x + i * width, y, run * width, 18, drawing_colour(d, index[i]).hex, "");
    }
    free(index);
    return colours;
}

static int draw_leaf(const struct drawing *d, const struct panel *p, int sw, double x, double y,
                     struct berth_error *err)
{
    int first = d->leaf_first[sw], n = d->leaf_first[sw + 1] - first, ranks = 0;
    int gap = drawing_gap(d), per_row = drawing_nodes_per_row(d);
    char title[400], of[64] = "";
    rect(d->out, x, y, DRAWING_LEAF_WIDTH, d->bottom[sw] - d->top[sw], "#eef2f7",
         "stroke=\"#5b6b80\" rx=\"5\"");
    for (int i = 0; i < n; i++)
        ranks += d->slots[d->leaf_nodes[first + i]];
    if (d->detail == DETAIL_BARS && p->placement) {
        int colours = draw_bar(d, p, sw, x + 6, y + DRAWING_LEAF_TITLE);
        if (colours < 0)
            return berth_error_memory(err);
        if (!d->positions)
            snprintf(of, sizeof(of), " in %d colour%s", colours, text_plural(colours));
    }
    snprintf(title, sizeof(title), "%.255s: %d node%s", d->c->switches[sw].name, n, text_plural(n));
    if (p->placement)
        snprintf(title + strlen(title), sizeof(title) - strlen(title), ", %d rank%s%s", ranks,
                 text_plural(ranks), of);
    text(d->out, x + 6, y + 15, 12, BOLD, title, 60);
    for (int i = 0; d->detail != DETAIL_BARS && i < n; i++)
        draw_node(d, p, d->leaf_nodes[first + i],
                  x + 6 + i % per_row * (drawing_node_width(d) + gap),
                  y + DRAWING_LEAF_TITLE + i / per_row * (drawing_node_height(d) + gap));
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

static int draw_tree(const struct drawing *d, const struct panel *p, int y0,
                     struct berth_error *err)
{
    int leaf_x = p->x + d->columns * DRAWING_COLUMN;
    for (int s = 0; s < d->c->n_switches; s++) {
        if (!drawing_has(d, s))
            continue;
        const struct cluster_switch *sw = &d->c->switches[s];
        bool leaf = d->leaf_first[s + 1] > d->leaf_first[s];
        double y = y0 + d->top[s], h = d->bottom[s] - d->top[s];
        int x = leaf ? leaf_x : p->x + d->depth[s] * DRAWING_COLUMN;
        if (sw->parent >= 0)
            draw_link(d, p, s, p->x + d->depth[sw->parent] * DRAWING_COLUMN + BAR, x, y + h / 2);
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
    int worst = p->cost ? p->cost->worst_switch : -1, room = drawing_width(d) / 7;
    text(d->out, p->x, HEADER + 18, 15, BOLD, p->title, room);
    if (!p->cost)
        return;
    snprintf(line, sizeof(line), "%s%s",
             p->seconds >= 0 ? "predicted communication per step: " : "",
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

static int draw_rings(const struct drawing *d, const struct panel *p, int y,
                      struct berth_error *err)
{
    const struct view *view = d->map->view;
    const struct berth_mesh *mesh = &view->map->mesh;
    int groups = berth_mesh_groups(mesh, d->map->axis);
    int *mark = calloc(d->c->n_switches + 1, sizeof(*mark));
    struct trace trace;
    char line[600], way[512];
    int room = drawing_width(d) * 2 / 13, prefix;
    if (!mark)
        return berth_error_memory(err);
    for (int g = 0; g < groups && g < RINGS_SHOWN; g++) {
        view_trace(view, p->placement, d->map->axis, g, mark, &trace);
        prefix = snprintf(line, sizeof(line), "%s group %d: ", mesh->axes[d->map->axis].name, g);
        trace_text(view, &trace, d->map->axis, way, room > prefix + 60 ? room - prefix : 60);
        snprintf(line + prefix, sizeof(line) - prefix, "%s", way);
        text(d->out, p->x, y + 16 * g, 12, GREY, line, 500);
    }
    free(mark);
    return 0;
}

static void draw_legend(const struct drawing *d, int y)
{
    const struct berth_mesh *mesh = &d->map->view->map->mesh;
    const char *axis = mesh->axes[d->map->axis].name;
    int n = d->n_colours, x = MARGIN;
    bool groups = !d->positions;
    char line[256], number[16];
    snprintf(line, sizeof(line),
             d->positions ? "Colour: position on the %s ring"
             : d->joined  ? "Colour: groups of %s, those that share their nodes alike"
                          : "Colour: group of %s",
             axis);
    text(d->out, x, y + 12, 12, BOLD, line, 60);
    x += 20 + 7 * (int)strlen(line);
    for (int i = 0; i < n && i < 12; i++, x += 46) {
        int shown = groups || n <= 12 ? i : (int)((long)i * (n - 1) / 11);
        rect(d->out, x, y, 14, 14, drawing_colour(d, shown).hex, "");
        snprintf(number, sizeof(number), "%d", shown);
        text(d->out, x + 18, y + 12, 11, "", number, 6);
    }
    if (groups && n > 12) {
        snprintf(line, sizeof(line), "and %d more", n - 12);
        text(d->out, x, y + 12, 11, "", line, 30);
    }
    snprintf(line, sizeof(line),
             "%sLine: bytes over the link in one training step, in the direction "
             "that carries more; its width follows them, the link busy longest is red.",
             d->detail == DETAIL_RANKS   ? "Number in a square: rank. "
             : d->detail == DETAIL_TILES ? "Small box: a node, one stripe per rank. "
                                         : "Bar: a leaf's ranks by colour. ");
    text(d->out, MARGIN, y + 34, 12, GREY, line, 250);
}

static void draw_head(const struct drawing *d, int width, int height, const char *title,
                      const char *subtitle)
{
    fprintf(
        d->out,
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
    return ferror(d->out) ? berth_error_set(err, BERTH_ESYSTEM, "the drawing cannot be written")
                          : 0;
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
    int foot = HEADER + PANEL_HEAD + d->height + (d->hidden ? 28 : 14), rings = RINGS_SHOWN * 16;
    int width = 2 * drawing_width(d) + 2 * MARGIN + 2 * MARGIN;
    char title[400], subtitle[600], mesh[256];
    char traffic[512];
    snprintf(title, sizeof(title), "Rank map: %s, %d rank%s on %d node%s",
             meshspec_format(&view->map->mesh, mesh, sizeof(mesh)), view->map->mesh.world,
             text_plural(view->map->mesh.world), d->n_nodes, text_plural(d->n_nodes));
    snprintf(subtitle, sizeof(subtitle), "Traffic per step%s: %s%s",
             view->reference ? " (reference model)" : "",
             view_traffic_text(view, traffic, sizeof(traffic)),
             view->switches ? "" : "; no switches known");
    draw_head(d, width, foot + rings + FOOTER, title, subtitle);
    for (int i = 0; i < 2; i++) {
        panels[i].x = MARGIN + i * (drawing_width(d) + 2 * MARGIN);
        draw_panel_words(d, &panels[i]);
        if (panel_ranks(&panels[i], d, err) < 0 ||
            draw_tree(d, &panels[i], HEADER + PANEL_HEAD, err) < 0 ||
            draw_rings(d, &panels[i], foot + 6, err) < 0)
            return -1;
    }
    if (d->hidden > 0) {
        snprintf(title, sizeof(title), "%d more leaves are not drawn; lines count them too",
                 d->hidden);
        text(d->out, panels[0].x, foot - 14, 12, BOLD, title, 60);
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
    snprintf(title, sizeof(title), "Cluster: %d node%s under %d switch%s", c->n_nodes,
             text_plural(c->n_nodes), c->n_switches, c->n_switches == 1 ? "" : "es");
    draw_head(&d, drawing_width(&d) + 2 * MARGIN, HEADER + PANEL_HEAD + d.height + 2 * MARGIN,
              title, "Line: a switch's way up, as wide as its rate in one direction.");
    draw_panel_words(&d, &panel);
    if (draw_tree(&d, &panel, HEADER + PANEL_HEAD, err) == 0)
        rc = finish(&d, err);
out:
    drawing_clear(&d);
    return rc;
}
