/*
 * Packed maps. Input that begins with '#' is the deflated stream, put into base64 here; else it is
 * the parts, one a line.
 */
#include "map.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* As many parts as the bytes need; a tail that does not fill three bytes is filled with zeros. */
static int encode(const uint8_t *data, size_t size, char **parts)
{
    int n = 0;
    size_t used = 0;
    for (size_t i = 0; i < size && n < BERTH_PACK_PARTS_MAX; i += 3) {
        unsigned v = (unsigned)data[i] << 16 | (i + 1 < size ? data[i + 1] << 8 : 0) |
                     (i + 2 < size ? data[i + 2] : 0);
        if (used == 0)
            parts[n] = calloc(1, BERTH_PACK_PART_MAX + 1);
        for (int k = 18; k >= 0; k -= 6)
            parts[n][used++] = digits[v >> k & 63];
        if (used == BERTH_PACK_PART_MAX)
            used = 0, n++;
    }
    return used ? n + 1 : n;
}

static int split(char *text, char **parts)
{
    int n = 0;
    for (char *line; n < BERTH_PACK_PARTS_MAX && (line = strsep(&text, "\n"));)
        parts[n++] = strdup(line);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_error err = {0};
    char *parts[BERTH_PACK_PARTS_MAX + 1] = {NULL}, *text = calloc(1, size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    int n = *text == '#' ? encode(data + 1, size - 1, parts) : split(text, parts);
    struct berth_map *map = berth_map_unpack((const char *const *)parts, n, &err);
    if (!map && err.kind != BERTH_EINPUT)
        abort();
    if (map) {
        char **again = berth_map_pack(map, &err);
        if (!again)
            abort();
        berth_map_parts_free(again);
    }
    berth_map_close(map);
    for (int i = 0; i < n; i++)
        free(parts[i]);
    free(text);
    return 0;
}
