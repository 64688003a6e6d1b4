/*
 * Order statistics: sorting is all they need.
 */
#include "statistics.h"
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double statistics_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), compare_doubles);
    return n ? (values[(n - 1) / 2] + values[n / 2]) / 2 : 0;
}
