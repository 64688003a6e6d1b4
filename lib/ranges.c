/*
 * Lists of numbers as ranges, "0-3,8": a node's ranks and slots, CPUs, NVLink cliques.
 */
#include "error.h"
#include "map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static int run_length(const int *values, int n)
{
    int run = 1;
    while (values[0] >= 0 && run < n && values[run] - 1 == values[run - 1])
        run++;
    return run;
}

char *berth_ranges_format(const int *values, int n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (int i = 0, run; i < n; i += run) {
        run = run_length(values + i, n - i);
        if (i > 0)
            fputc(',', out);
        if (values[i] < 0)
            fputc('-', out);
        else if (run == 1)
            fprintf(out, "%d", values[i]);
        else
            fprintf(out, "%d-%d", values[i], values[i + run - 1]);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- reading ---- */

struct reader {
    const char *text, *p, *end;
    int max;
    struct berth_error *err;
};

static int refuse(const struct reader *r, const char *what)
{
    size_t size = r->end - r->text;
    return berth_error_set(r->err, BERTH_EINPUT,
                           "\"%.*s%s\" is no list of ranges like \"0-3,8\": %s at column %zu",
                           size > 60 ? 60 : (int)size, r->text, size > 60 ? "..." : "", what,
                           (size_t)(r->p - r->text) + 1);
}

static int number(struct reader *r, int *value)
{
    if (r->p == r->end || *r->p < '0' || *r->p > '9')
        return refuse(r, "a number is expected");
    const char *start = r->p;
    long v = 0;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
        v = v * 10 + (*r->p - '0');
        if (v > r->max) {
            r->p = start;
            return berth_error_set(r->err, BERTH_EINPUT,
                                   "the number at column %zu is above the highest possible, %d",
                                   (size_t)(start - r->text) + 1, r->max);
        }
    }
    *value = (int)v;
    return 0;
}

/* One item, "5", "0-3" or (with dash) "-", as first..last; -1..-1 for the dash. */
static int item(struct reader *r, bool dash, int *first, int *last)
{
    if (dash && r->p < r->end && *r->p == '-') {
        r->p++;
        *first = *last = -1;
        return 0;
    }
    if (number(r, first))
        return -1;
    *last = *first;
    if (r->p == r->end || *r->p != '-')
        return 0;
    r->p++;
    const char *start = r->p;
    if (number(r, last))
        return -1;
    if (*last < *first) {
        r->p = start;
        return refuse(r, "a range that descends");
    }
    return 0;
}

int berth_ranges_scan(const char *text, size_t size, int max, bool dash, int *values, int room,
                      struct berth_error *err)
{
    struct reader r = {text, text, text + size, max, err};
    int n = 0;
    while (size > 0) {
        int first, last;
        if (item(&r, dash, &first, &last))
            return -1;
        if (last - first >= room - n)
            return berth_error_set(err, BERTH_EINPUT, "more than %d numbers", room);
        for (int v = first; v <= last; v++)
            values[n++] = v;
        if (r.p == r.end)
            break;
        if (*r.p != ',')
            return refuse(&r, "a comma is expected");
        r.p++;
    }
    return n;
}

/* How many values the text makes, so that the array is no larger; wrong text is found later. */
static int count(const char *text, int max, int limit)
{
    struct reader r = {text, text, text + strlen(text), max, NULL};
    long n = 0;
    while (r.p < r.end && n < limit) {
        int first, last;
        if (item(&r, false, &first, &last))
            break;
        n += (long)last - first + 1;
        if (r.p < r.end)
            r.p++;
    }
    return n < limit ? (int)n : limit;
}

int berth_ranges_parse(const char *text, int max, int limit, int **values, struct berth_error *err)
{
    int room = count(text, max, limit);
    *values = calloc(room + 1, sizeof(int));
    if (!*values)
        return berth_error_memory(err);
    int n = berth_ranges_scan(text, strlen(text), max, false, *values, limit, err);
    if (n < 0) {
        free(*values);
        *values = NULL;
    }
    return n;
}
