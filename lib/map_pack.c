/*
 * A map's way through the environment: its JSON, deflated (RFC 1950), in base64 (RFC 4648), cut
 * into parts. The end of the deflated stream carries a checksum and the map its hash, so that parts
 * that are missing, changed or out of order do not pass.
 */
#include "config.h"

#include "error.h"
#include "map.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define UNPACKED_MAX ((size_t)64 << 20)
#define LEVEL 6 /* 9 takes three times as long for a few per cent on large maps */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- pack ---- */

static void encode(const unsigned char *bytes, size_t size, char *text)
{
    for (; size > 0; bytes += 3, text += 4) {
        size_t n = size < 3 ? size : 3;
        unsigned v =
            (unsigned)bytes[0] << 16 | (n > 1 ? bytes[1] << 8 : 0) | (n > 2 ? bytes[2] : 0);
        text[0] = alphabet[v >> 18];
        text[1] = alphabet[v >> 12 & 63];
        text[2] = n > 1 ? alphabet[v >> 6 & 63] : '=';
        text[3] = n > 2 ? alphabet[v & 63] : '=';
        size -= n;
    }
    *text = '\0';
}

void berth_map_parts_free(char **parts)
{
    for (int i = 0; parts && parts[i]; i++)
        free(parts[i]);
    free(parts);
}

/* Bytes that fill one part exactly. */
#define PART_BYTES ((size_t)BERTH_PACK_PART_MAX / 4 * 3)

static char **cut(const unsigned char *bytes, size_t size, struct berth_error *err)
{
    size_t n = (size + PART_BYTES - 1) / PART_BYTES;
    if (n > BERTH_PACK_PARTS_MAX) {
        berth_error_set(err, BERTH_ENO,
                        "the map is too large for the environment: %zu KiB deflated, %zu KiB fit",
                        size >> 10, PART_BYTES * BERTH_PACK_PARTS_MAX >> 10);
        return NULL;
    }
    char **parts = calloc(n + 1, sizeof(char *));
    for (size_t i = 0; parts && i < n; i++) {
        size_t part = i + 1 < n ? PART_BYTES : size - i * PART_BYTES;
        parts[i] = malloc((part + 2) / 3 * 4 + 1);
        if (!parts[i]) {
            berth_map_parts_free(parts);
            parts = NULL;
            break;
        }
        encode(bytes + i * PART_BYTES, part, parts[i]);
    }
    if (!parts)
        berth_error_memory(err);
    return parts;
}

static char *json_text(const struct berth_map *map, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    int rc = berth_map_write_json(map, false, out);
    if (fclose(out) != 0 || rc) {
        free(text);
        return NULL;
    }
    return text;
}

char **berth_map_pack(const struct berth_map *map, struct berth_error *err)
{
    char **parts = NULL;
    size_t size;
    char *text = json_text(map, &size);
    uLongf packed = text ? compressBound(size) : 0;
    unsigned char *bytes = malloc(packed + 1);
    if (!text || !bytes || compress2(bytes, &packed, (const Bytef *)text, size, LEVEL) != Z_OK)
        berth_error_memory(err);
    else if (size > UNPACKED_MAX)
        berth_error_set(err, BERTH_ENO,
                        "the map is too large for the environment: %zu MiB of JSON, %zu fit",
                        size >> 20, UNPACKED_MAX >> 20);
    else
        parts = cut(bytes, packed, err);
    free(bytes);
    free(text);
    return parts;
}

/* ---- unpack ---- */

/* Value of a base64 digit, or -1. */
static int digit(char c)
{
    const char *at = c ? memchr(alphabet, c, 64) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* Decodes one part; returns the bytes it made, or -1 where it is no base64 or has bits left over.
 */
static long decode(const char *text, size_t size, bool last, unsigned char *bytes)
{
    long made = 0;
    if (size == 0 || size % 4 != 0)
        return -1;
    for (size_t i = 0; i < size; i += 4) {
        int pad = last && i + 4 == size ? (text[i + 3] == '=') + (text[i + 2] == '=') : 0;
        unsigned v = 0;
        if (pad == 1 && text[i + 3] != '=')
            return -1;
        for (int k = 0; k < 4; k++) {
            int d = k < 4 - pad ? digit(text[i + k]) : 0;
            if (d < 0)
                return -1;
            v = v << 6 | (unsigned)d;
        }
        if (pad && (v & ((1u << 8 * pad) - 1)) != 0)
            return -1;
        for (int k = 0; k < 3 - pad; k++)
            bytes[made++] = (unsigned char)(v >> (16 - 8 * k));
    }
    return made;
}

static int damaged(struct berth_error *err, const char *what)
{
    return berth_error_set(err, BERTH_EINPUT,
                           "the packed map is damaged: %s; start the step with srun again", what);
}

/* All parts as bytes in new memory; NULL on error. */
static unsigned char *join(const char *const *parts, int n, size_t *size, struct berth_error *err)
{
    unsigned char *bytes = malloc((size_t)n * PART_BYTES);
    *size = 0;
    if (!bytes)
        berth_error_memory(err);
    for (int i = 0; bytes && i < n; i++) {
        size_t length = strnlen(parts[i], BERTH_PACK_PART_MAX + 1);
        char what[64] = "";
        long made = -1;
        if (length > BERTH_PACK_PART_MAX || (i + 1 < n && length < BERTH_PACK_PART_MAX))
            snprintf(what, sizeof(what), "part %d of %d is cut or out of order", i, n);
        else if ((made = decode(parts[i], length, i + 1 == n, bytes + *size)) < 0)
            snprintf(what, sizeof(what), "part %d of %d is cut or not base64", i, n);
        if (made < 0) {
            damaged(err, what);
            free(bytes);
            return NULL;
        }
        *size += made;
    }
    return bytes;
}

/* Inflates the whole stream into *text, which grows as it fills. Returns zlib's status. */
static int inflate_all(z_stream *z, char **text, size_t *size)
{
    size_t room = 0;
    int rc = Z_OK;
    while (rc == Z_OK) {
        if (*size == room) {
            if (room == UNPACKED_MAX)
                return Z_BUF_ERROR;
            room = room ? room * 2 : 65536;
            char *more = realloc(*text, room);
            if (!more)
                return Z_MEM_ERROR;
            *text = more;
        }
        z->next_out = (Bytef *)*text + *size;
        z->avail_out = (uInt)(room - *size);
        rc = inflate(z, Z_NO_FLUSH);
        *size = room - z->avail_out;
        if (rc == Z_BUF_ERROR && z->avail_out == 0)
            rc = Z_OK;
    }
    return rc;
}

static char *inflated(unsigned char *bytes, size_t packed, size_t *size, struct berth_error *err)
{
    char *text = NULL;
    z_stream z = {.next_in = bytes, .avail_in = (uInt)packed};
    *size = 0;
    int rc = inflateInit(&z);
    if (rc == Z_OK) {
        rc = inflate_all(&z, &text, size);
        inflateEnd(&z);
    }
    if (rc == Z_STREAM_END && z.avail_in == 0)
        return text;
    if (rc == Z_MEM_ERROR)
        berth_error_memory(err);
    else if (*size == UNPACKED_MAX)
        damaged(err, "it unpacks to more than 64 MiB");
    else if (rc == Z_BUF_ERROR)
        damaged(err, "its end is missing");
    else if (rc == Z_STREAM_END)
        damaged(err, "something follows its end");
    else
        damaged(err, "a part is changed, missing or out of order");
    free(text);
    return NULL;
}

struct berth_map *berth_map_unpack(const char *const *parts, int n, struct berth_error *err)
{
    size_t packed, size;
    if (n < 1 || n > BERTH_PACK_PARTS_MAX) {
        berth_error_set(err, BERTH_EINPUT, "a packed map has 1 to %d parts, not %d",
                        BERTH_PACK_PARTS_MAX, n);
        return NULL;
    }
    unsigned char *bytes = join(parts, n, &packed, err);
    char *text = bytes ? inflated(bytes, packed, &size, err) : NULL;
    struct berth_map *map = text ? berth_map_parse("the packed map", text, size, err) : NULL;
    free(text);
    free(bytes);
    return map;
}
