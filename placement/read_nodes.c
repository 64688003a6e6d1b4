/*
 * What `scontrol show node --oneliner` prints: one node a line, Key=Value, some values with blanks
 * in them (OS=, Reason=). Of all that, the name, the address and the GPUs are taken.
 */
#include "cluster.h"
#include "hostlist.h"
#include <stdlib.h>
#include <string.h>

struct nodes_reader {
    struct cluster *c;
    const char *name;
    int line;
    bool any_gpu;
    struct berth_error *err;
};

/* A value inside the text, up to the next blank. */
struct value {
    const char *at; /* NULL: not there */
    size_t n;
};

static int wrong(const struct nodes_reader *r, const char *what)
{
    berth_error_set(r->err, BERTH_EINPUT, "%s", what);
    return berth_error_prefix(r->err, "%s:%d", r->name, r->line);
}

static bool has_key(const char *word, size_t n, const char *key)
{
    size_t length = strlen(key);

    return n > length && memcmp(word, key, length) == 0 && word[length] == '=';
}

/* GPUs of one Gres item, "gpu:a100:4(S:0-1)"; -1 when it is too many. */
static int gpus_of(const char *item, size_t n)
{
    const char *paren = memchr(item, '(', n);
    size_t end = paren ? (size_t)(paren - item) : n, digits = end;
    int count = 0;

    if (end < 3 || memcmp(item, "gpu", 3) != 0 || (end > 3 && item[3] != ':'))
        return 0;
    while (digits > 3 && item[digits - 1] >= '0' && item[digits - 1] <= '9')
        digits--;
    if (digits == end || item[digits - 1] != ':')
        return 1; /* "gpu" or "gpu:a100" is one */
    for (size_t i = digits; i < end; i++) {
        count = count * 10 + (item[i] - '0');
        if (count > BERTH_GPUS_MAX)
            return -1;
    }
    return count;
}

/* GPUs in "gpu:a100:4(S:0,1),gpu:v100:4,nic:2"; -1 when they are too many. */
static int count_gpus(const char *gres, size_t n)
{
    int total = 0, depth = 0;
    size_t start = 0;

    for (size_t i = 0; i <= n; i++) {
        if (i < n && gres[i] == '(')
            depth++;
        if (i < n && gres[i] == ')' && depth > 0)
            depth--;
        if (i < n && (gres[i] != ',' || depth > 0))
            continue;
        int gpus = gpus_of(gres + start, i - start);
        if (gpus < 0 || total + gpus > BERTH_GPUS_MAX)
            return -1;
        total += gpus;
        start = i + 1;
    }
    return total;
}

/* Finds the keys up to the first whose value is free text. */
static void find_values(const char *line, size_t n, struct value *node, struct value *addr,
                        struct value *gres)
{
    static const char *const free_text[] = {"OS", "Comment", "Extra", "Reason"};

    for (size_t i = 0; i < n;) {
        const char *space = memchr(line + i, ' ', n - i);
        size_t length = space ? (size_t)(space - line) - i : n - i;
        for (size_t k = 0; k < sizeof free_text / sizeof *free_text; k++)
            if (has_key(line + i, length, free_text[k]))
                return;
        struct value *value = has_key(line + i, length, "NodeName")   ? node
                              : has_key(line + i, length, "NodeAddr") ? addr
                              : has_key(line + i, length, "Gres")     ? gres
                                                                      : NULL;
        if (value && !value->at) {
            size_t key = (size_t)((const char *)memchr(line + i, '=', length) - line) + 1;
            *value = (struct value){line + key, i + length - key};
        }
        i += length + 1;
    }
}

static int add_node(const char *name, void *arg)
{
    struct nodes_reader *r = arg;

    if (cluster_add_node(r->c, name) >= 0)
        return 0;
    if (r->c->n_nodes >= CLUSTER_NODES_MAX)
        return berth_error_set(r->err, BERTH_EINPUT, "more than %d nodes", CLUSTER_NODES_MAX);
    return berth_error_memory(r->err);
}

static int set_addr(struct nodes_reader *r, int node, struct value addr)
{
    struct cluster_node *n = &r->c->nodes[node];

    for (size_t i = 0; i < addr.n; i++)
        if (addr.at[i] <= ' ' || addr.at[i] >= 0x7f)
            return wrong(r, "NodeAddr= is not an address");
    if (strlen(n->name) == addr.n && memcmp(n->name, addr.at, addr.n) == 0)
        return 0;
    free(n->addr);
    n->addr = strndup(addr.at, addr.n);
    return n->addr ? 0 : berth_error_memory(r->err);
}

static int read_line(struct nodes_reader *r, const char *line, size_t n)
{
    struct value node = {0}, addr = {0}, gres = {0};
    int first = r->c->n_nodes;

    find_values(line, n, &node, &addr, &gres);
    if (node.at != line + strlen("NodeName="))
        return wrong(r, "expected a line that starts with NodeName=");
    if (hostlist_each(node.at, node.n, add_node, r, r->err)) {
        berth_error_prefix(r->err, "NodeName=");
        return berth_error_prefix(r->err, "%s:%d", r->name, r->line);
    }
    int gpus = gres.at ? count_gpus(gres.at, gres.n) : -1;
    if (gres.at && gpus < 0)
        return wrong(r, "Gres= has more GPUs than a node can have");
    r->any_gpu |= gpus > 0;
    for (int i = first; i < r->c->n_nodes; i++)
        r->c->nodes[i].gpus = gpus;
    if (addr.at && r->c->n_nodes == first + 1)
        return set_addr(r, first, addr);
    return 0;
}

static int read_lines(struct nodes_reader *r, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; r->line++) {
        const char *newline = memchr(bytes + i, '\n', size - i);
        size_t n = newline ? (size_t)(newline - bytes) - i : size - i;
        const char *line = bytes + i;
        i += n + 1;
        while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r'))
            n--;
        if (n > 0 && read_line(r, line, n))
            return -1;
    }
    /* a site that has no GPU in Gres may have GPUs all the same: then "none" means "unknown" */
    for (int i = 0; i < r->c->n_nodes; i++)
        if (!r->any_gpu && r->c->nodes[i].gpus == 0)
            r->c->nodes[i].gpus = -1;
    return 0;
}

int cluster_read_scontrol_nodes(struct cluster *c, const char *name, const char *bytes, size_t size,
                                struct berth_error *err)
{
    struct nodes_reader r = {.c = cluster_new(), .name = name, .line = 1, .err = err};
    int result = -1;

    if (r.c)
        r.c->source = strdup(name);
    if (!r.c || !r.c->source)
        berth_error_memory(err);
    else if (read_lines(&r, bytes, size) == 0)
        result = cluster_merge(c, r.c, err);
    cluster_free(r.c);
    return result;
}
