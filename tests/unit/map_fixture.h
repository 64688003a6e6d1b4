/* The maps of tests/data/map, for the tests of reading, writing and packing. */
#ifndef MAP_FIXTURE_H
#define MAP_FIXTURE_H

#include <stdlib.h>

#include "../../lib/map.h"

static inline struct berth_map *open_fixture(const char *name)
{
    char path[4096];
    struct berth_error err;
    const char *srcdir = getenv("SRCDIR");
    snprintf(path, sizeof(path), "%s/tests/data/map/%s", srcdir ? srcdir : ".", name);
    struct berth_map *map = berth_map_open(path, &err);
    if (!map)
        fail_msg("%s", err.text);
    return map;
}

#endif
