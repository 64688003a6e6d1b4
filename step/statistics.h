/*
 * Order statistics of measured times and rates.
 */
#ifndef BERTH_STATISTICS_H
#define BERTH_STATISTICS_H

/* Sorts `values` ascending and returns their median; of none, 0. */
double statistics_median(double *values, int n);

#endif
