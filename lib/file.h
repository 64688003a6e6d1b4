/* Whole files in and out: bounded reading, and writing that never shows a half. */
#ifndef BERTH_FILE_H
#define BERTH_FILE_H

#include "error.h"
#include <stddef.h>
#include <stdio.h>

/*
 * The whole file in new memory, a NUL added after *size bytes; caller frees. Pipes are read to
 * their end; a directory, or more than `max` bytes, is BERTH_EINPUT; what cannot be opened
 * BERTH_ESYSTEM.
 */
char *berth_file_read(const char *path, size_t max, size_t *size, struct berth_error *err);

/*
 * Calls `write` with a stream whose contents then become the file: complete or absent, never
 * half-written (a temporary beside it, fsync, rename). Through a symbolic link its target is
 * replaced; what is not a regular file (a pipe, /dev/null) is written to as it is; "-" is standard
 * output. `write` returns 0, or -1 with *err filled.
 */
int berth_file_save(const char *path, int (*write)(FILE *out, void *arg, struct berth_error *err),
                    void *arg, struct berth_error *err);

#endif
