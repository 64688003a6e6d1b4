/*
 * Slurm's hostlist expressions: "n[00-03,7],gpu[1-2]-ib[0-1]". Several bracket groups in one name
 * (the last varies fastest), zero padding kept, a comma outside brackets separates names.
 */
#ifndef BERTH_HOSTLIST_H
#define BERTH_HOSTLIST_H

#include "../lib/error.h"
#include <stddef.h>

#define HOSTLIST_MAX (1 << 20) /* names that one expression may make */

/*
 * Calls `each` for every name, in order; a non-zero return stops and is returned. -1 with
 * BERTH_EINPUT when the text is wrong; the message gives the column, counted from 1, and what was
 * expected. `size` bytes are read; a NUL among them is an error.
 */
int hostlist_each(const char *text, size_t size, int (*each)(const char *name, void *arg), void *arg,
                  struct berth_error *err);

/* All names in a new array of new strings; hostlist_free frees both. Returns their number or -1. */
int hostlist_expand(const char *text, char ***names, struct berth_error *err);
void hostlist_free(char **names, int n);

/* The shortest usual form, "n[00-03,07]", names kept in order; caller frees. NULL: no memory. */
char *hostlist_compress(const char *const *names, int n);

#endif
