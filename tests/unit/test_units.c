/*
 * Numbers as people read them, and the median. Right values: three significant digits of the value
 * in the largest unit that keeps it at or above 1, by hand; a median is the middle value or the
 * mean of the two in the middle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../placement/units.h"
#include "../../step/statistics.h"

static void writes_three_digits(void **state)
{
    static const struct {
        const char *(*text)(double value, char *buf);
        double value;
        const char *want;
    } rows[] = {
        {text_bytes, 0, "0 B"},           {text_bytes, 999, "999 B"},
        {text_bytes, 999.6, "1 KB"},      {text_bytes, 14.4e6, "14.4 MB"},
        {text_bytes, 1.234e9, "1.23 GB"}, {text_bytes, 5e18, "5000 PB"},
        {text_seconds, 0.576, "576 ms"},  {text_seconds, 1.728, "1.73 s"},
        {text_seconds, 5e-6, "5 us"},     {text_seconds, 9.996e-3, "10 ms"},
        {text_rate, 25e6, "25 MB/s"},     {text_rate, 12.5e9, "12.5 GB/s"},
    };
    char buf[TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(rows[i].text(rows[i].value, buf), rows[i].want);
}

static void finds_the_middle(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    (void)state;
    assert_true(statistics_median(odd, 3) == 2);
    assert_true(odd[0] == 1 && odd[1] == 2 && odd[2] == 3); /* and sorts */
    assert_true(statistics_median(even, 4) == 2.5);
    assert_true(statistics_median(odd, 1) == 1);
    assert_true(statistics_median(odd, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_three_digits),
        cmocka_unit_test(finds_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
