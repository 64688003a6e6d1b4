/* Rank maps: what is read must be written as the same map, and answer every query in range. */
#include "map.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct berth_map *map, enum berth_map_format format, size_t *size)
{
    struct berth_error err;
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out || berth_map_write(map, format, out, &err))
        abort();
    fclose(out);
    return text;
}

static void ask(const struct berth_map *map)
{
    int world = berth_map_world(map), step = world / 64 + 1;
    for (int rank = 0; rank < world; rank += step) {
        const int *ranks;
        int node = berth_map_node_of(map, rank), local = berth_map_local_rank(map, rank);
        if (berth_map_node_ranks(map, node, &ranks) <= local || ranks[local] != rank)
            abort();
        if (berth_map_node(map, berth_map_node_name(map, node)) != node)
            abort();
        for (int axis = 0; axis < berth_map_axes(map); axis++)
            if (berth_mesh_member(&map->mesh, axis, berth_map_group(map, axis, rank),
                                  berth_map_coord(map, axis, rank)) != rank)
                abort();
        (void)berth_map_gpu(map, rank);
        for (int path = 0; path < berth_map_paths(map, node); path++)
            (void)berth_map_path_switch(map, node, path, 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_error err = {0};
    struct berth_map *map = berth_map_parse("fuzz", (const char *)data, size, &err), *again;
    if (!map) {
        if (err.kind != BERTH_EINPUT || strncmp(err.text, "fuzz: ", 6) != 0)
            abort();
        return 0;
    }
    ask(map);
    size_t length, twice;
    for (int format = BERTH_MAP_TSV; format <= BERTH_MAP_ENV && map->mesh.world < 10000; format++)
        free(text_of(map, format, &length));
    char *text = text_of(map, BERTH_MAP_JSON, &length);
    again = berth_map_parse("again", text, length, &err);
    if (!again || strcmp(berth_map_hash(again), berth_map_hash(map)) != 0)
        abort();
    char *same = text_of(again, BERTH_MAP_JSON, &twice);
    if (twice != length || memcmp(same, text, length) != 0)
        abort();
    free(same);
    free(text);
    berth_map_close(again);
    berth_map_close(map);
    return 0;
}
