/*
 * A map through the environment: packed, cut into parts, and every damage that must not pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "map_fixture.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* One rank per node in an order without pattern, so that it needs several parts. */
static struct berth_map *large_map(int nodes)
{
    struct berth_error err;
    struct berth_mesh mesh = {.n_axes = 1, .axes = {{"dp", nodes}}};
    assert_int_equal(berth_mesh_finish(&mesh, &err), 0);
    struct berth_map *map = berth_map_new(&mesh);
    for (unsigned i = 0; i < (unsigned)nodes; i++) {
        char name[32];
        int rank = (int)i, slot = (int)(i * 2654435761u >> 29);
        snprintf(name, sizeof(name), "n%08x%u", i * 2654435761u, i);
        assert_int_equal(berth_map_add_node(map, name, -1, &rank, &slot, 1, NULL, 0, &err), 0);
    }
    assert_int_equal(berth_map_finish(map, &err), 0);
    return map;
}

static int count_parts(char **parts)
{
    int n = 0;
    while (parts[n]) {
        assert_in_range(strlen(parts[n]), 1, BERTH_PACK_PART_MAX);
        n++;
    }
    return n;
}

static char *json_of(const struct berth_map *map, bool with_cost)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(berth_map_write_json(map, with_cost, out), 0);
    fclose(out);
    return text;
}

/* What comes out is what went in, but for the cost. */
static void expect_round_trip(struct berth_map *map, int least_parts)
{
    struct berth_error err = {0};
    char **parts = berth_map_pack(map, &err);
    assert_non_null(parts);
    int n = count_parts(parts);
    assert_true(n >= least_parts);
    struct berth_map *back = berth_map_unpack((const char *const *)parts, n, &err);
    if (!back)
        fail_msg("%s", err.text);
    char *before = json_of(map, false), *after = json_of(back, true);
    assert_string_equal(after, before);
    assert_null(back->cost);
    free(before);
    free(after);
    berth_map_close(back);
    berth_map_close(map);
    berth_map_parts_free(parts);
}

static void round_trips(void **state)
{
    (void)state;
    expect_round_trip(open_fixture("vector1.json"), 1);
    expect_round_trip(open_fixture("vector2.json"), 1);
    expect_round_trip(open_fixture("everything.json"), 1);
    expect_round_trip(large_map(20000), 3);
}

static void expect_refused(const char *const *parts, int n, const char *text)
{
    struct berth_error err = {0};
    assert_null(berth_map_unpack(parts, n, &err));
    assert_int_equal(err.kind, BERTH_EINPUT);
    assert_string_equal(err.text, text);
}

#define DAMAGED(what) "the packed map is damaged: " what "; start the step with srun again"

static const struct {
    const char *part, *text;
} damages[] = {
    {"", DAMAGED("part 0 of 1 is cut or not base64")},
    {"abc", DAMAGED("part 0 of 1 is cut or not base64")},
    {"ab-d", DAMAGED("part 0 of 1 is cut or not base64")},
    {"ab=d", DAMAGED("part 0 of 1 is cut or not base64")},
    {"====", DAMAGED("part 0 of 1 is cut or not base64")},
    {"a===", DAMAGED("part 0 of 1 is cut or not base64")},
    {"aa==aaaa", DAMAGED("part 0 of 1 is cut or not base64")},
    {"aX==", DAMAGED("part 0 of 1 is cut or not base64")}, /* X has bits below the byte */
    {"aaaa", DAMAGED("a part is changed, missing or out of order")},
    {"eJw=", DAMAGED("its end is missing")}, /* 78 9c: zlib's header alone (RFC 1950) */
    /* zlib.compress(b"{}"), by Python; then that and one byte more */
    {"eJyrrgUAAXUA+Q==", "the packed map: key \"berth_map\" is missing"},
    {"eJyrrgUAAXUA+QA=", DAMAGED("something follows its end")},
    /* the same with a wrong checksum */
    {"eJyrrgUAAXUA+g==", DAMAGED("a part is changed, missing or out of order")},
};

static void damaged_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(damages); i++)
        expect_refused(&damages[i].part, 1, damages[i].text);
    expect_refused(NULL, 0, "a packed map has 1 to 64 parts, not 0");
    expect_refused(NULL, 65, "a packed map has 1 to 64 parts, not 65");
}

static void swap(char **a, char **b)
{
    char *c = *a;
    *a = *b;
    *b = c;
}

static void parts_out_of_order(void **state)
{
    (void)state;
    struct berth_error err;
    struct berth_map *map = large_map(20000);
    char **parts = berth_map_pack(map, &err);
    int n = count_parts(parts);
    const char *const *given = (const char *const *)parts;
    assert_true(n >= 4);
    swap(&parts[1], &parts[2]);
    expect_refused(given, n, DAMAGED("a part is changed, missing or out of order"));
    swap(&parts[1], &parts[2]);
    expect_refused(given, n - 1, DAMAGED("its end is missing"));
    expect_refused(given + 1, n - 1, DAMAGED("a part is changed, missing or out of order"));
    swap(&parts[0], &parts[n - 1]);
    char want[200];
    snprintf(want, sizeof(want), DAMAGED("part 0 of %d is cut or out of order"), n);
    expect_refused(given, n, want);
    swap(&parts[0], &parts[n - 1]);
    parts[1][100] = parts[1][100] == 'A' ? 'B' : 'A';
    assert_null(berth_map_unpack(given, n, &err));
    berth_map_parts_free(parts);
    berth_map_close(map);
}

/* Any one character changed, any cut: refused. */
static void any_change_is_seen(void **state)
{
    (void)state;
    struct berth_error err;
    struct berth_map *map = open_fixture("vector2.json");
    char **parts = berth_map_pack(map, &err);
    assert_int_equal(count_parts(parts), 1);
    for (char *p = parts[0]; *p; p++) {
        char was = *p;
        *p = was == 'Q' ? 'R' : 'Q';
        assert_null(berth_map_unpack((const char *const *)parts, 1, &err));
        *p = was;
    }
    for (size_t size = strlen(parts[0]) - 1; size > 0; size--) {
        parts[0][size] = '\0';
        assert_null(berth_map_unpack((const char *const *)parts, 1, &err));
    }
    berth_map_parts_free(parts);
    berth_map_close(map);
}

static char *base64(const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = calloc(size / 3 + 1, 4), *to = text;
    for (; size >= 3; bytes += 3, size -= 3) {
        *to++ = digits[bytes[0] >> 2];
        *to++ = digits[(bytes[0] & 3) << 4 | bytes[1] >> 4];
        *to++ = digits[(bytes[1] & 15) << 2 | bytes[2] >> 6];
        *to++ = digits[bytes[2] & 63];
    }
    return text;
}

/* 65 MiB of blanks deflate to 66 KiB: it must stop at 64 MiB. (Cut to a multiple of 3, so no
 * padding.) */
static void bomb(void **state)
{
    (void)state;
    size_t size = (size_t)65 << 20;
    char *blanks = malloc(size);
    memset(blanks, ' ', size);
    uLongf packed = compressBound(size);
    unsigned char *bytes = malloc(packed);
    assert_int_equal(compress2(bytes, &packed, (Bytef *)blanks, size, 9), Z_OK);
    char *text = base64(bytes, packed);
    char *first = strndup(text, BERTH_PACK_PART_MAX);
    assert_int_equal(strlen(first), BERTH_PACK_PART_MAX);
    const char *parts[] = {first, text + BERTH_PACK_PART_MAX};
    expect_refused(parts, 2, DAMAGED("it unpacks to more than 64 MiB"));
    free(first);
    free(text);
    free(bytes);
    free(blanks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(damaged_parts),
        cmocka_unit_test(parts_out_of_order),
        cmocka_unit_test(any_change_is_seen),
        cmocka_unit_test(bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
