/*
 * Filling a struct berth_error. Input that is quoted in a message may hold anything, so control
 * characters are made visible here, once, for every message.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void clean(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

int berth_error_set(struct berth_error *err, enum berth_error_kind kind, const char *format, ...)
{
    if (!err)
        return -1;
    va_list args;
    va_start(args, format);
    err->kind = kind;
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    clean(err->text);
    return -1;
}

int berth_error_prefix(struct berth_error *err, const char *format, ...)
{
    if (!err)
        return -1;
    char text[2 * BERTH_ERROR_MAX + 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, BERTH_ERROR_MAX, format, args);
    va_end(args);
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, ": %s", err->text);
    memcpy(err->text, text, BERTH_ERROR_MAX - 1);
    err->text[BERTH_ERROR_MAX - 1] = '\0';
    clean(err->text);
    return -1;
}

int berth_error_memory(struct berth_error *err)
{
    return berth_error_set(err, BERTH_ESYSTEM, "out of memory");
}
