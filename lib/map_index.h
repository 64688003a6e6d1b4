/* The map's index of node names: made by map_finish.c, asked by map_query.c. */
#ifndef BERTH_MAP_INDEX_H
#define BERTH_MAP_INDEX_H

#include "map.h"

struct name_entry { /* berth_map.by_name: one per node, ascending */
    uint32_t hash;
    int node;
    const char *name;
};

int map_index_find(const struct berth_map *map, const char *name); /* the node, or -1 */

#endif
