/*
 * A JSON scanner that walks the text without building a tree: a rank map of 16,384 nodes is read in
 * place. Small values that somebody wants as a tree are handed to jansson.
 *
 * The text is checked once, whole, by scan_check(); after that no syntax error can occur, and the
 * other functions refuse only what is legal JSON but not what they want, naming its place.
 */
#ifndef BERTH_SCAN_H
#define BERTH_SCAN_H

#include "error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SCAN_DEPTH_MAX 128  /* nested arrays and objects */
#define SCAN_PLACE_MAX 16   /* of them, how deep a reader goes itself */
#define SCAN_TREE_MAX 65536 /* arrays and objects in one value that becomes a tree */

struct scan_step { /* a key or an index on the way to the present place */
    const char *key;
    size_t index;
};

struct scan {
    const char *name; /* of the text, in messages */
    const char *start, *p, *end;
    struct berth_error *err;
    struct scan_step place[SCAN_PLACE_MAX];
    int depth;
    char *decoded; /* the last string with an escape */
    size_t room;
};

void scan_init(struct scan *s, const char *name, const char *bytes, size_t size,
               struct berth_error *err);
void scan_clear(struct scan *s);

/* 0 if the whole text is one JSON value, else -1 with line and column. Goes to its start. */
int scan_check(struct scan *s);

/* BERTH_EINPUT "NAME: nodes[12].ranks: ..."; returns -1. scan_prefix puts that before a message. */
int scan_fail(struct scan *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int scan_prefix(struct scan *s);
/* "nodes[12].ranks" into buf; returns buf. */
const char *scan_place(const struct scan *s, char *buf, size_t size);

/* The next value's first character ('{', '[', '"', digit ...), 0 at the end. */
char scan_peek(struct scan *s);

/*
 * An object: each key of the table is read by its function, whatever the text's order after the
 * required keys above it, so that it may depend on them. A key that is not in the table is skipped,
 * or refused if it begins with "must_". A required key that is absent, or a known one given twice, is
 * refused.
 */
#define SCAN_FIELDS_MAX 16
struct scan_field {
    const char *key;
    int (*read)(struct scan *s, void *arg);
    bool required;
};
int scan_object(struct scan *s, const struct scan_field *fields, int n, void *arg);

/* Refuses a key that no table has, if it begins with "must_". */
int scan_check_key(struct scan *s, const char *key, size_t size);

/* An array: `read` takes each element. */
int scan_array(struct scan *s, int (*read)(struct scan *s, void *arg), void *arg);

/* A string, decoded, without NUL at its end; it lives until the next call. */
int scan_string(struct scan *s, const char **text, size_t *size);
/* A string of 1 to `room`-1 bytes, with NUL. */
int scan_name(struct scan *s, char *name, size_t room);
int scan_int(struct scan *s, int min, int max, int *value);
int scan_skip(struct scan *s);
/* Any value as a tree. */
int scan_tree(struct scan *s, json_t **tree);

#endif
