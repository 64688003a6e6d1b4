/*
 * The layout of a drawing: levels of detail, rows and columns, and colours that tell groups apart.
 */
#include "drawing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAF_MIN 46 /* height that a link with its number needs */
#define GAP 8
#define BARS_SHOWN 60 /* leaves drawn when leaves are drawn as bars */

/* ---- colours ---- */

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
    static const unsigned char ten[][3] = {
        {78, 121, 167}, {242, 142, 43},  {89, 161, 79},  {225, 87, 89},   {118, 183, 178},
        {237, 201, 72}, {176, 122, 161}, {156, 117, 95}, {255, 157, 167}, {120, 120, 120}};
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
    static const double stops[][3] = {
        {253, 231, 140}, {110, 200, 150}, {50, 130, 170}, {62, 40, 110}};
    double at = n > 1 ? 3.0 * i / (n - 1) : 0;
    int k = at >= 3 ? 2 : (int)at;
    double f = at - k, rgb[3];
    for (int j = 0; j < 3; j++)
        rgb[j] = stops[k][j] + f * (stops[k + 1][j] - stops[k][j]);
    return colour_make(rgb[0], rgb[1], rgb[2]);
}

/* True if every group of an axis is on one node in both orders, and the drawn axis does not cut it.
 */
static int is_inner(const struct svg_map *map, int axis, bool *inner, struct berth_error *err)
{
    const struct berth_axis *drawn = &map->view->map->mesh.axes[map->axis];
    struct reach planned, name;
    *inner = false;
    if (axis == map->axis ||
        (axis >= drawn->over_first && axis < drawn->over_first + drawn->over_count))
        return 0;
    if (view_reach(map->view, &map->view->planned, axis, &planned, err) < 0 ||
        view_reach(map->view, &map->view->name, axis, &name, err) < 0)
        return -1;
    *inner = planned.one_node == planned.groups && name.one_node == name.groups;
    return 0;
}

/*
 * Groups to colours. Groups that differ only in axes inside the node (tp) share one: they go the
 * same way. One colour for all would say nothing: then colours are positions on the ring.
 */
static int choose_colours(struct drawing *d, struct berth_error *err)
{
    const struct berth_mesh *mesh = &d->map->view->map->mesh;
    int groups = berth_mesh_groups(mesh, d->map->axis);
    bool inner[BERTH_AXES_MAX] = {false};
    d->colours = calloc(groups, sizeof(*d->colours));
    if (!d->colours)
        return berth_error_memory(err);
    for (int a = 0; a < mesh->n_axes; a++) {
        if (is_inner(d->map, a, &inner[a], err) < 0)
            return -1;
        d->joined |= inner[a] && mesh->axes[a].size > 1;
    }
    for (int g = 0; g < groups; g++) {
        int rank = berth_mesh_member(mesh, d->map->axis, g, 0), first = rank;
        for (int a = 0; a < mesh->n_axes; a++)
            if (inner[a])
                first -= berth_mesh_coord(mesh, a, rank) * mesh->axes[a].stride;
        int group = berth_mesh_group(mesh, d->map->axis, first);
        d->colours[g] = group == g ? d->n_colours++ : d->colours[group];
    }
    d->positions = d->n_colours == 1;
    if (d->positions)
        d->n_colours = mesh->axes[d->map->axis].size;
    return 0;
}

int drawing_colour_index(const struct drawing *d, int rank)
{
    const struct berth_mesh *mesh = &d->map->view->map->mesh;
    return d->positions ? berth_mesh_coord(mesh, d->map->axis, rank)
                        : d->colours[berth_mesh_group(mesh, d->map->axis, rank)];
}

struct colour drawing_colour(const struct drawing *d, int index)
{
    return d->positions ? colour_position(index, d->n_colours)
                        : colour_category(index, d->n_colours);
}

/* ---- layout ---- */

int drawing_cells(const struct drawing *d)
{
    return d->most_slots <= 4 ? d->most_slots : d->most_slots <= 16 ? 4 : 8;
}

int drawing_cell_width(const struct drawing *d)
{
    return 10 + 6 * d->digits;
}

int drawing_node_width(const struct drawing *d)
{
    if (d->detail == DETAIL_TILES)
        return d->most_slots < 3 ? 9 : d->most_slots < 8 ? 3 * d->most_slots : 24;
    int name = 10 + (int)(6.6 * d->longest), cells = drawing_cells(d) * drawing_cell_width(d) + 8;
    return name > cells ? name : cells;
}

int drawing_node_height(const struct drawing *d)
{
    if (d->detail == DETAIL_TILES)
        return 11;
    int cells = drawing_cells(d);
    if (!d->map && !d->gpus)
        return 18;
    return 20 + 17 * (cells ? (d->most_slots + cells - 1) / cells : 1);
}

int drawing_gap(const struct drawing *d)
{
    return d->detail == DETAIL_TILES ? 3 : 6;
}

int drawing_nodes_per_row(const struct drawing *d)
{
    int gap = drawing_gap(d), n = (DRAWING_LEAF_WIDTH - 12 + gap) / (drawing_node_width(d) + gap);
    return n > 1 ? n : 1;
}

static int leaf_height(const struct drawing *d, int sw)
{
    int gap = drawing_gap(d), per_row = drawing_nodes_per_row(d);
    int rows = (d->below[sw] + per_row - 1) / per_row;
    int height = DRAWING_LEAF_TITLE + 6 +
                 (d->detail == DETAIL_BARS ? 18 : rows * (drawing_node_height(d) + gap) - gap);
    return height > LEAF_MIN ? height : LEAF_MIN;
}

/* Columns and rows of all switches with drawn nodes below, in the tree's order. */
static void place(struct drawing *d)
{
    int y = 0, shown = 0, in_parent = 0, last_parent = -2;
    int most = d->detail == DETAIL_BARS ? BARS_SHOWN : d->n_nodes;
    int per_parent = most / d->parents > 1 ? most / d->parents : 1;
    per_parent = d->detail == DETAIL_BARS ? per_parent : most;
    for (int s = d->tree.root, depth = 0; s >= 0;) {
        bool leaf = d->leaf_first[s + 1] > d->leaf_first[s];
        d->depth[s] = depth;
        d->top[s] = y;
        if (d->c->switches[s].parent != last_parent)
            in_parent = 0;
        last_parent = d->c->switches[s].parent;
        if (leaf && in_parent < per_parent && shown < most) {
            d->bottom[s] = y + leaf_height(d, s);
            y = d->bottom[s] + GAP;
            d->columns = depth > d->columns ? depth : d->columns;
            shown++;
            in_parent++;
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

bool drawing_has(const struct drawing *d, int sw)
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
    for (int s = 0; s < n; s++) {
        bool above = false;
        for (int k = d->tree.child[s]; k >= 0 && !above; k = d->tree.sibling[k])
            above = next[k] > d->leaf_first[k];
        d->parents += above;
    }
    d->parents += d->parents == 0;
    bool few = d->n_nodes <= 100 && (long)d->n_nodes * d->most_slots <= 1024;
    d->detail = few                                   ? DETAIL_RANKS
                : d->n_nodes <= 1500 && leaves <= 150 ? DETAIL_TILES
                                                      : DETAIL_BARS;
    return 0;
}

void drawing_clear(struct drawing *d)
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
    free(d->colours);
}

int drawing_init(struct drawing *d, int n_nodes, struct berth_error *err)
{
    d->n_nodes = n_nodes;
    d->nodes = calloc(n_nodes + 1, sizeof(int));
    d->leaf = calloc(n_nodes + 1, sizeof(int));
    d->slots = calloc(n_nodes + 1, sizeof(int));
    if (!d->nodes || !d->leaf || !d->slots)
        return berth_error_memory(err);
    return tree_init(&d->tree, d->c, d->map != NULL, err);
}

int drawing_finish(struct drawing *d, int world, struct berth_error *err)
{
    for (int i = 0; i < d->n_nodes; i++) {
        int length = (int)strlen(d->c->nodes[d->nodes[i]].name);
        d->gpus |= d->c->nodes[d->nodes[i]].gpus >= 0;
        d->longest = length > d->longest ? length : d->longest;
        d->most_slots = d->slots[i] > d->most_slots ? d->slots[i] : d->most_slots;
    }
    d->longest = d->longest > 16 ? 16 : d->longest;
    for (d->digits = 1; world > 10; world /= 10)
        d->digits++;
    if (gather(d, err) < 0)
        return -1;
    place(d);
    return d->map ? choose_colours(d, err) : 0;
}

int drawing_width(const struct drawing *d)
{
    return d->columns * DRAWING_COLUMN + DRAWING_LEAF_WIDTH;
}
