/* Filling a struct berth_error: the one way in which every part of Berth reports a failure. */
#ifndef BERTH_ERROR_H
#define BERTH_ERROR_H

#include "berth.h"

/* Fills *err (if not NULL) and returns -1, so that a caller can `return berth_error_set(...)`. */
int berth_error_set(struct berth_error *err, enum berth_error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the sentence that a deeper layer wrote; returns -1. */
int berth_error_prefix(struct berth_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "out of memory", kind BERTH_ESYSTEM; returns -1. */
int berth_error_memory(struct berth_error *err);

#endif
