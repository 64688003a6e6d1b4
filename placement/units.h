/*
 * Bytes, seconds and rates as people read them.
 */
#ifndef BERTH_UNITS_H
#define BERTH_UNITS_H

#define TEXT_MAX 32
/* "14.4 MB", "538 ms", "25 MB/s"; into buf of TEXT_MAX, returns buf. */
const char *text_bytes(double bytes, char *buf);
const char *text_seconds(double seconds, char *buf);
const char *text_rate(double rate, char *buf);

#endif
