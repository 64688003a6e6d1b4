/*
 * Hostlist expressions, both ways. An item is literal text and bracket groups in turn; a group is a
 * list of number ranges. Expanding turns the groups like an odometer, the last one fastest, so that
 * the cost is one pass over the text and one over the names.
 */
#include "hostlist.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 8   /* bracket groups in one name */
#define NAME_LIMIT 255 /* characters in one name */
#define DIGITS_MAX 18  /* what a long long surely holds */

struct range {
    long long low, high;
    int width; /* of the low end as written: zero padding */
};

struct group {
    const char *before; /* the literal text in front of it */
    size_t n_before;
    int first, end; /* its ranges */
    int at;         /* the range it stands in */
    long long value;
};

struct parser {
    const char *text;
    size_t size, pos;
    struct range *ranges;
    int n_ranges, room;
    struct group groups[GROUPS_MAX];
    int n_groups;
    const char *tail; /* literal text after the last group */
    size_t n_tail;
    long long left; /* names that may still be made */
    struct berth_error *err;
};

static int wrong(const struct parser *p, size_t at, const char *what)
{
    return berth_error_set(p->err, BERTH_EINPUT, "column %zu: %s", at + 1, what);
}

/* Slurm's own separators (hostlist.c of 22.05: "\t, \n"); empty items are skipped as it does. */
static int is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int read_number(struct parser *p, long long *value, int *width)
{
    size_t start = p->pos;
    long long v = 0;

    while (p->pos < p->size && is_digit(p->text[p->pos])) {
        if (p->pos - start >= DIGITS_MAX)
            return wrong(p, start, "a number has at most 18 digits");
        v = v * 10 + (p->text[p->pos++] - '0');
    }
    if (p->pos == start)
        return wrong(p, start, "expected a number");
    *value = v;
    *width = (int)(p->pos - start);
    return 0;
}

static int add_range(struct parser *p, struct range range)
{
    if (p->n_ranges == p->room) {
        int room = p->room ? 2 * p->room : 16;
        struct range *more = realloc(p->ranges, (size_t)room * sizeof *more);
        if (!more)
            return berth_error_memory(p->err);
        p->ranges = more;
        p->room = room;
    }
    p->ranges[p->n_ranges++] = range;
    return 0;
}

/* Reads "[00-03,7]" from its bracket on; *count becomes the number of values in it. */
static int read_group(struct parser *p, struct group *group, long long *count)
{
    size_t open = p->pos++;

    group->first = p->n_ranges;
    *count = 0;
    for (;;) {
        struct range r;
        size_t start = p->pos;
        if (read_number(p, &r.low, &r.width))
            return p->pos >= p->size ? wrong(p, open, "this '[' is never closed") : -1;
        r.high = r.low;
        if (p->pos < p->size && p->text[p->pos] == '-') {
            int width;
            p->pos++;
            if (read_number(p, &r.high, &width))
                return p->pos >= p->size ? wrong(p, open, "this '[' is never closed") : -1;
            if (r.high < r.low)
                return wrong(p, start, "a range runs from its smaller number to its larger one");
        }
        if (add_range(p, r))
            return -1;
        /* cannot overflow: both terms are below 10^18 */
        *count += r.high - r.low + 1;
        if (*count > p->left)
            return wrong(p, start, "the expression makes more than 1048576 names");
        if (p->pos >= p->size)
            return wrong(p, open, "this '[' is never closed");
        char c = p->text[p->pos++];
        if (c == ']')
            break;
        if (c != ',')
            return wrong(p, p->pos - 1, "expected ',', '-' or ']'");
    }
    group->end = p->n_ranges;
    return 0;
}

/* Reads one item; *total becomes the number of names that it makes. */
static int read_item(struct parser *p, long long *total)
{
    size_t literal = p->pos;

    p->n_groups = p->n_ranges = 0;
    *total = 1;
    while (p->pos < p->size && !is_separator(p->text[p->pos])) {
        unsigned char c = (unsigned char)p->text[p->pos];
        if (c == ']')
            return wrong(p, p->pos, "']' without '['");
        if (c <= ' ' || c >= 0x7f)
            return berth_error_set(p->err, BERTH_EINPUT,
                                   "column %zu: byte 0x%02x cannot stand in a name", p->pos + 1, c);
        if (c != '[') {
            p->pos++;
            continue;
        }
        if (p->n_groups == GROUPS_MAX)
            return wrong(p, p->pos, "a name has at most 8 bracket groups");
        struct group *group = &p->groups[p->n_groups++];
        long long count;
        group->before = p->text + literal;
        group->n_before = p->pos - literal;
        size_t open = p->pos;
        if (read_group(p, group, &count))
            return -1;
        if (count > p->left / *total)
            return wrong(p, open, "the expression makes more than 1048576 names");
        *total *= count;
        literal = p->pos;
    }
    p->tail = p->text + literal;
    p->n_tail = p->pos - literal;
    return 0;
}

/* Writes the name that the groups stand at. 0, or -1 when it is too long. */
static int write_name(const struct parser *p, char *name)
{
    size_t n = 0;

    for (int g = 0; g < p->n_groups; g++) {
        const struct group *group = &p->groups[g];
        if (n + group->n_before > NAME_LIMIT)
            return -1;
        memcpy(name + n, group->before, group->n_before);
        n += group->n_before;
        n += (size_t)snprintf(name + n, NAME_LIMIT + 1 - n, "%0*lld", p->ranges[group->at].width,
                              group->value);
        if (n > NAME_LIMIT)
            return -1;
    }
    if (n + p->n_tail > NAME_LIMIT)
        return -1;
    memcpy(name + n, p->tail, p->n_tail);
    name[n + p->n_tail] = '\0';
    return 0;
}

static void group_reset(const struct parser *p, struct group *group)
{
    group->at = group->first;
    group->value = p->ranges[group->first].low;
}

/* Turns the odometer on by one name. */
static void step(struct parser *p)
{
    for (int g = p->n_groups - 1; g >= 0; g--) {
        struct group *group = &p->groups[g];
        if (group->value++ < p->ranges[group->at].high)
            return;
        if (++group->at < group->end) {
            group->value = p->ranges[group->at].low;
            return;
        }
        group_reset(p, group);
    }
}

int hostlist_each(const char *text, size_t size, int (*each)(const char *name, void *arg),
                  void *arg, struct berth_error *err)
{
    struct parser p = {.text = text, .size = size, .left = HOSTLIST_MAX, .err = err};
    int result = 0;

    while (!result && p.pos < size) {
        char name[NAME_LIMIT + 1];
        size_t start = p.pos;
        long long total;
        if (is_separator(text[p.pos])) {
            p.pos++;
            continue;
        }
        result = read_item(&p, &total);
        if (!result && total > p.left)
            result = wrong(&p, start, "the expression makes more than 1048576 names");
        if (result)
            break;
        p.left -= total;
        for (int g = 0; g < p.n_groups; g++)
            group_reset(&p, &p.groups[g]);
        for (long long i = 0; !result && i < total; i++) {
            if (write_name(&p, name))
                result = wrong(&p, start, "a name has at most 255 characters");
            else
                result = each(name, arg);
            step(&p);
        }
    }
    free(p.ranges);
    return result;
}

struct expansion {
    char **names;
    int n, room;
    struct berth_error *err;
};

static int collect(const char *name, void *arg)
{
    struct expansion *e = arg;

    if (e->n == e->room) {
        int room = e->room ? 2 * e->room : 16;
        char **more = realloc(e->names, (size_t)room * sizeof *more);
        if (!more)
            return berth_error_memory(e->err);
        e->names = more;
        e->room = room;
    }
    e->names[e->n] = strdup(name);
    if (!e->names[e->n])
        return berth_error_memory(e->err);
    e->n++;
    return 0;
}

int hostlist_expand(const char *text, char ***names, struct berth_error *err)
{
    struct expansion e = {.err = err};

    if (hostlist_each(text, strlen(text), collect, &e, err)) {
        hostlist_free(e.names, e.n);
        *names = NULL;
        return -1;
    }
    *names = e.names;
    return e.n;
}

void hostlist_free(char **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* Length of the name without its closing digits (at most 18 of them count as the number). */
static size_t prefix_length(const char *name)
{
    size_t n = strlen(name), end = n;

    while (n > 0 && end - n < DIGITS_MAX && is_digit(name[n - 1]))
        n--;
    return n;
}

/* True if `next` is what a range that starts with `first` digits wide prints after `value`. */
static int follows(const char *next, int width, long long value)
{
    char want[DIGITS_MAX + 4];

    snprintf(want, sizeof want, "%0*lld", width, value + 1);
    return strcmp(next, want) == 0;
}

/* Writes names[0..n), which share a prefix of that length, as "prefix[ranges]". */
static void write_run(FILE *out, const char *const *names, int n, size_t prefix)
{
    fprintf(out, "%.*s[", (int)prefix, names[0]);
    for (int i = 0; i < n;) {
        const char *low = names[i] + prefix;
        int width = (int)strlen(low), j = i + 1;
        long long value = atoll(low);
        while (j < n && follows(names[j] + prefix, width, value)) {
            value++;
            j++;
        }
        fprintf(out, "%s%s", i ? "," : "", low);
        if (j - i > 1)
            fprintf(out, "-%s", names[j - 1] + prefix);
        i = j;
    }
    fputc(']', out);
}

char *hostlist_compress(const char *const *names, int n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (int i = 0; i < n;) {
        size_t prefix = prefix_length(names[i]);
        int j = i + 1;
        while (names[i][prefix] && j < n && prefix_length(names[j]) == prefix && names[j][prefix] &&
               memcmp(names[j], names[i], prefix) == 0)
            j++;
        if (i)
            fputc(',', out);
        if (j - i > 1)
            write_run(out, names + i, j - i, prefix);
        else
            fputs(names[i], out);
        i = j;
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
