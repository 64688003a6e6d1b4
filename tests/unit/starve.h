/*
 * JSON under lack of memory: the k-th allocation of a writer fails, for every k. Whatever fails,
 * the writer gives all or nothing.
 */
#ifndef BERTH_TESTS_STARVE_H
#define BERTH_TESTS_STARVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

static long starve_left; /* allocations until one fails */

static inline void *starve_malloc(size_t size)
{
    return starve_left-- == 0 ? NULL : malloc(size);
}

/* Needs cmocka.h. `write` is given `arg`; returns how many of its allocations were made to fail. */
static inline long starve(json_t *(*write)(void *arg), void *arg)
{
    json_t *whole = write(arg);
    long k = 0;

    assert_non_null(whole);
    for (bool starved = true; starved; k++) {
        json_set_alloc_funcs(starve_malloc, free);
        starve_left = k;
        json_t *json = write(arg);
        starved = starve_left < 0;
        json_set_alloc_funcs(malloc, free);
        if (json && !json_equal(json, whole))
            fail_msg("without its allocation %ld: %s", k, json_dumps(json, 0));
        json_decref(json);
    }
    json_decref(whole);
    return k - 1;
}

#endif
