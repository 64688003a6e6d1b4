/*
 * Where everything in a drawing stands and what colour it has; show_svg.c writes it down. The
 * switch tree lies on its side, roots left, leaves right and one below the other, so that every
 * link has a row of its own for its number and thousands of nodes still fit.
 */
#ifndef BERTH_DRAWING_H
#define BERTH_DRAWING_H

#include "show.h"

#define DRAWING_COLUMN 118 /* from one level of switches to the next */
#define DRAWING_LEAF_WIDTH 436
#define DRAWING_LEAF_TITLE 22

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
    int parents;                              /* switches right above leaves */
    int *colours;                             /* group of the drawn axis -> colour */
    int n_colours;
    bool positions;              /* colours are positions on the ring, not groups */
    bool gpus;                   /* of some node the number of GPUs is known */
    bool joined;                 /* groups of one node share a colour */
    int columns, height, hidden; /* hidden: leaves left out */
    double widest;               /* the load or rate that the widest link stands for */
};

struct colour {
    char hex[8];
    bool dark;
};

/*
 * Set c, map and out, then drawing_init for n nodes, then nodes, leaf and slots, then
 * drawing_finish with the number of ranks. drawing_clear in any case.
 */
int drawing_init(struct drawing *d, int n_nodes, struct berth_error *err);
int drawing_finish(struct drawing *d, int world, struct berth_error *err);
void drawing_clear(struct drawing *d);

/* A node's box, a rank's square in it, how many squares and boxes stand in a row. */
int drawing_node_width(const struct drawing *d);
int drawing_node_height(const struct drawing *d);
int drawing_nodes_per_row(const struct drawing *d);
int drawing_gap(const struct drawing *d);
int drawing_cells(const struct drawing *d);
int drawing_cell_width(const struct drawing *d);
int drawing_width(const struct drawing *d);
bool drawing_has(const struct drawing *d, int sw); /* false: the switch is left out */

/* Of a map: the colour number of a rank, and the colour of a number. */
int drawing_colour_index(const struct drawing *d, int rank);
struct colour drawing_colour(const struct drawing *d, int index);

#endif
