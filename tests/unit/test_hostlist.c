/*
 * Hostlist expressions. Right values: Slurm's own rules (facts: several bracket groups, the last
 * one fastest; padding is the width of a range's low end), worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostlist.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An expression, and its names joined by blanks. */
static const struct {
    const char *text, *names;
} good[] = {
    {"n0", "n0"},
    {"n[0-2]", "n0 n1 n2"},
    {"n[00-03,7]", "n00 n01 n02 n03 n7"},
    {"n[8-11]", "n8 n9 n10 n11"},                                /* width 1 grows */
    {"n[08-10]", "n08 n09 n10"},                                 /* width 2 */
    {"n[099-101]", "n099 n100 n101"},                            /* width 3 */
    {"gpu[1-2]-ib[0-1]", "gpu1-ib0 gpu1-ib1 gpu2-ib0 gpu2-ib1"}, /* the last varies fastest */
    {"r[1-2]n[1,3]x", "r1n1x r1n3x r2n1x r2n3x"},
    {"isw1[0100,0102]", "isw10100 isw10102"}, /* digits before the bracket: Leonardo's names */
    {"SW[14,58]", "SW14 SW58"},               /* no dash: cinek810's file */
    {"switch.2.[1-2]", "switch.2.1 switch.2.2"},
    {"ip-10-0-0-1,nn-6fe9d", "ip-10-0-0-1 nn-6fe9d"}, /* dashes outside brackets are no ranges */
    {"[1-2]", "1 2"},
    {"a,b", "a b"},
    {"n[1-2],m", "n1 n2 m"}, /* a prefix does not carry over a comma */
    {",a,,b,", "a b"},       /* Slurm skips empty items */
    {"a b\tc\nd", "a b c d"},
    {"", ""},
};

static char *joined(char **names, int n)
{
    char *text = calloc(1, 4096);

    for (int i = 0; i < n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, names[i]);
    }
    return text;
}

static void expands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct berth_error err = {0};
        char **names;
        int n = hostlist_expand(good[i].text, &names, &err);
        assert_string_equal(err.text, "");
        char *text = joined(names, n);
        assert_string_equal(text, good[i].names);
        free(text);
        hostlist_free(names, n);
    }
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"n[0-3", "column 2: this '[' is never closed"},
    {"n[", "column 2: this '[' is never closed"},
    {"a,n[0-3,", "column 4: this '[' is never closed"},
    {"n[]", "column 3: expected a number"},
    {"n[x]", "column 3: expected a number"},
    {"n[0-]", "column 5: expected a number"},
    {"n[0-3", "column 2: this '[' is never closed"},
    {"n[0:3]", "column 4: expected ',', '-' or ']'"},
    {"n[1[2]]", "column 4: expected ',', '-' or ']'"},
    {"n[0 ,1]", "column 4: expected ',', '-' or ']'"},
    {"n]", "column 2: ']' without '['"},
    {"n[0-1]]", "column 7: ']' without '['"},
    {"n[7-3]", "column 3: a range runs from its smaller number to its larger one"},
    {"n[0-1048576]", "column 3: the expression makes more than 1048576 names"},
    {"n[0-1023]m[0-1024]", "column 11: the expression makes more than 1048576 names"},
    {"n[0-1048575],x", "column 14: the expression makes more than 1048576 names"},
    {"n[0-999999999999999999]", "column 3: the expression makes more than 1048576 names"},
    {"n[1234567890123456789]", "column 3: a number has at most 18 digits"},
    {"a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]", "column 34: a name has at most 8 bracket groups"},
    {"a\x01", "column 2: byte 0x01 cannot stand in a name"},
    {"n\xc3\xa9", "column 2: byte 0xc3 cannot stand in a name"},
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct berth_error err = {0};
        char **names;
        assert_int_equal(hostlist_expand(bad[i].text, &names, &err), -1);
        assert_int_equal(err.kind, BERTH_EINPUT);
        assert_string_equal(err.text, bad[i].message);
        assert_null(names);
    }
}

static int stop_at_second(const char *name, void *arg)
{
    int *calls = arg;

    (void)name;
    return ++*calls == 2 ? 7 : 0;
}

/* The header: a non-zero return stops and is returned; a NUL among the bytes is an error. */
static void calls_each(void **state)
{
    struct berth_error err = {0};
    int calls = 0;

    (void)state;
    assert_int_equal(hostlist_each("n[0-9]", 6, stop_at_second, &calls, &err), 7);
    assert_int_equal(calls, 2);
    assert_int_equal(hostlist_each("a\0b", 3, stop_at_second, &calls, &err), -1);
    assert_string_equal(err.text, "column 2: byte 0x00 cannot stand in a name");
}

static void bounds_names(void **state)
{
    struct berth_error err = {0};
    char text[300], **names;

    (void)state;
    memset(text, 'a', sizeof text);
    strcpy(text + 250, "[1-2]");
    assert_int_equal(hostlist_expand(text, &names, &err), 2); /* 251 characters */
    hostlist_free(names, 2);
    memset(text, 'a', sizeof text);
    strcpy(text + 255, "[1-2]"); /* 256 */
    assert_int_equal(hostlist_expand(text, &names, &err), -1);
    assert_string_equal(err.text, "column 1: a name has at most 255 characters");
}

/* Names joined by blanks, and the expression for them. */
static const struct {
    const char *names, *text;
} compressed[] = {
    {"", ""},
    {"a", "a"},
    {"n07", "n07"},
    {"n00 n01 n02 n03 n07", "n[00-03,07]"}, /* the header's own example */
    {"n8 n9 n10", "n[8-10]"},
    {"n08 n09 n10", "n[08-10]"},
    {"n9 n010", "n[9,010]"}, /* 010 is no successor of 9 at width 1 */
    {"n2 n1", "n[2,1]"},     /* the order is kept */
    {"n1 m1 n2", "n1,m1,n2"},
    {"gpu1-ib0 gpu1-ib1 gpu2-ib0", "gpu1-ib[0-1],gpu2-ib0"},
    {"a b", "a,b"},
    {"n1 n1", "n[1,1]"},
    {"1 2 3", "[1-3]"},
    {"x123456789012345678901 x123456789012345678902",
     "x123[456789012345678901-456789012345678902]"},
};

static void compresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++) {
        char **names;
        int n = hostlist_expand(compressed[i].names, &names, NULL);
        char *text = hostlist_compress((const char *const *)names, n);
        assert_string_equal(text, compressed[i].text);
        free(text);
        hostlist_free(names, n);
    }
}

/* 100,000 names there and back: quadratic work would take minutes. */
static void is_fast(void **state)
{
    char **names;
    int n = hostlist_expand("n[000000-099999]", &names, NULL);

    (void)state;
    assert_int_equal(n, 100000);
    char *text = hostlist_compress((const char *const *)names, n);
    assert_string_equal(text, "n[000000-099999]");
    free(text);
    hostlist_free(names, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands),      cmocka_unit_test(refuses),    cmocka_unit_test(calls_each),
        cmocka_unit_test(bounds_names), cmocka_unit_test(compresses), cmocka_unit_test(is_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
