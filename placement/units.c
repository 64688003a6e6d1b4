/*
 * Bytes, seconds and rates as people read them: three significant digits and a unit.
 */
#include "units.h"
#include <stdio.h>
#include <string.h>

/* The value with three significant digits, in the largest unit that keeps it at or above 1. */
static const char *scaled(double value, const char *const *units, int n, double first, char *buf)
{
    int unit = 0;
    value /= first;
    while (unit < n - 1 && value >= 999.5) {
        value /= 1000;
        unit++;
    }
    int decimals = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buf, TEXT_MAX, "%.*f", decimals, value);
    if (decimals) {
        char *end = buf + strlen(buf) - 1;
        while (*end == '0')
            *end-- = '\0';
        if (*end == '.')
            *end = '\0';
    }
    strncat(buf, " ", TEXT_MAX - 1 - strlen(buf));
    strncat(buf, units[unit], TEXT_MAX - 1 - strlen(buf));
    return buf;
}

const char *text_bytes(double bytes, char *buf)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    return scaled(bytes, units, 6, 1, buf);
}

const char *text_seconds(double seconds, char *buf)
{
    static const char *const units[] = {"us", "ms", "s"};
    return scaled(seconds, units, 3, 1e-6, buf);
}

const char *text_rate(double rate, char *buf)
{
    static const char *const units[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
    return scaled(rate, units, 5, 1, buf);
}
