/*
 * Slurm's topology.conf and the text of `scontrol show topology`: records of Key=Value, one a line.
 * The text is read as Slurm's own parser does (src/common/parse_config.c of 22.05): '#' ends a
 * line, then a backslash at its end joins the next, keys in any case, blanks allowed around '='.
 */
#include "cluster.h"
#include "hostlist.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAMES_MAX                                                                  \
    (4 * (long long)HOSTLIST_MAX) /* names that all records of one source may make \
                                   */

/* The first key of a record says what kind of topology the whole text describes. */
static const struct {
    const char *key, *kind;
} kinds[] = {
    {"SwitchName", "tree"},   {"BlockName", "block"},       {"BlockSizes", "block"},
    {"BlockLevels", "block"}, {"AggregatedBlock", "block"}, {"RingName", "ring"},
};

/* Children are looked up when all switches are known, so that they may be defined later. */
struct children {
    int parent, line;
    const char *list; /* in the copy of the text */
};

struct reader {
    struct cluster *c;
    const char *name;
    int line;          /* where the record starts */
    const char *start; /* its text, NULL when it was joined from several lines */
    const char *kind;  /* of the first record, NULL before it */
    struct children *children;
    size_t n_children, room;
    long long names; /* made so far */
    struct berth_error *err;
};

enum { TITLE, NODES, SWITCHES, LEVEL, LINKSPEED, N_KEYS };
static const char *const keys[N_KEYS] = {"SwitchName", "Nodes", "Switches", "Level", "LinkSpeed"};

/* A record's values, NULL where the key is absent. */
struct record {
    const char *kind;
    const char *value[N_KEYS];
    const char *unknown; /* the first key that is none of the above */
};

/* Puts the place before the error; `at` (may be NULL) points into the record's text. */
static int place(const struct reader *r, const char *at)
{
    if (at && r->start)
        return berth_error_prefix(r->err, "%s:%d:%td", r->name, r->line, at - r->start + 1);
    return berth_error_prefix(r->err, "%s:%d", r->name, r->line);
}

/* ---- lists of names in a record ---- */

struct names_call {
    struct reader *r;
    int (*each)(struct reader *r, const char *name, int arg);
    int arg;
};

static int each_counted(const char *name, void *arg)
{
    struct names_call *call = arg;

    if (++call->r->names > NAMES_MAX) {
        berth_error_set(call->r->err, BERTH_EINPUT,
                        "the lists up to here make more than %lld names", NAMES_MAX);
        return 1;
    }
    return call->each(call->r, name, call->arg) ? 1 : 0;
}

/* Calls `each` for every name of the list under a key. Errors get the place, the list's own also
 * the key. */
static int each_name(struct reader *r, int key, const char *list,
                     int (*each)(struct reader *r, const char *name, int arg), int arg)
{
    struct names_call call = {r, each, arg};
    int result = hostlist_each(list, strlen(list), each_counted, &call, r->err);

    if (result == 0)
        return 0;
    if (result < 0)
        berth_error_prefix(r->err, "%s=", keys[key]);
    return place(r, NULL);
}

static int know_node(struct reader *r, const char *name, int arg)
{
    (void)arg;
    if (cluster_add_node(r->c, name) >= 0)
        return 0;
    if (r->c->n_nodes >= CLUSTER_NODES_MAX)
        return berth_error_set(r->err, BERTH_EINPUT, "more than %d nodes", CLUSTER_NODES_MAX);
    return berth_error_memory(r->err);
}

static int attach_node(struct reader *r, const char *name, int leaf)
{
    if (know_node(r, name, 0))
        return -1;
    int node = cluster_find_node(r->c, name);
    if (cluster_attach(r->c, node, leaf) == 0)
        return 0;
    if (r->c->nodes[node].n_leaves >= CLUSTER_LEAVES_MAX)
        return berth_error_set(r->err, BERTH_EINPUT, "node %s is on more than %d leaves", name,
                               CLUSTER_LEAVES_MAX);
    return berth_error_memory(r->err);
}

static int define_switch(struct reader *r, const char *name, int arg)
{
    int known = cluster_find_switch(r->c, name);

    (void)arg;
    if (known >= 0)
        return berth_error_set(r->err, BERTH_EINPUT, "switch %s is defined twice, first in line %d",
                               name, r->c->switches[known].line);
    if (r->c->n_switches >= CLUSTER_NODES_MAX)
        return berth_error_set(r->err, BERTH_EINPUT, "more than %d switches", CLUSTER_NODES_MAX);
    int at = cluster_add_switch(r->c, name);
    if (at < 0)
        return berth_error_memory(r->err);
    r->c->switches[at].line = r->line;
    return 0;
}

static int join_child(struct reader *r, const char *name, int parent)
{
    int at = cluster_find_switch(r->c, name);

    /* Slurm logs "invalid child" and goes on; parts of a big `scontrol` output look like that */
    if (at < 0 || r->c->switches[at].parent == parent)
        return 0;
    struct cluster_switch *child = &r->c->switches[at];
    if (child->parent >= 0)
        return berth_error_set(r->err, BERTH_EINPUT,
                               "switch %s is below %s here and below %s (line %d); a tree has one "
                               "parent for each",
                               name, r->c->switches[parent].name,
                               r->c->switches[child->parent].name,
                               r->c->switches[child->parent].line);
    child->parent = parent;
    return 0;
}

/* ---- records ---- */

static int add_children(struct reader *r, int parent, const char *list)
{
    if (r->n_children == r->room) {
        size_t room = r->room ? 2 * r->room : 16;
        struct children *more = realloc(r->children, room * sizeof *more);
        if (!more)
            return berth_error_memory(r->err);
        r->children = more;
        r->room = room;
    }
    r->children[r->n_children++] = (struct children){parent, r->line, list};
    return 0;
}

/* A SwitchName= record; a range in its name makes several switches, each with all that it says. */
static int take_switch(struct reader *r, const struct record *record)
{
    const char *nodes = record->value[NODES], *below = record->value[SWITCHES];
    int first = r->c->n_switches;
    bool all = nodes && strcasecmp(nodes, "ALL") == 0;

    if (each_name(r, TITLE, record->value[TITLE], define_switch, 0))
        return -1;
    if (r->c->n_switches == first) {
        berth_error_set(r->err, BERTH_EINPUT, "SwitchName= has no name");
        return place(r, NULL);
    }
    if (below && *below && nodes && *nodes && !record->value[LEVEL]) {
        berth_error_set(r->err, BERTH_EINPUT,
                        "switch %s has both Nodes= and Switches=; Slurm takes one of them",
                        record->value[TITLE]);
        return place(r, NULL);
    }
    /* above the leaves scontrol repeats what hangs below: names, not attachments */
    if (below && *below && nodes && !all && each_name(r, NODES, nodes, know_node, 0))
        return -1;
    for (int s = first; s < r->c->n_switches; s++) {
        if (below && *below) {
            if (add_children(r, s, below))
                return -1;
        } else if (all) {
            r->c->switches[s].all = true;
        } else if (nodes && each_name(r, NODES, nodes, attach_node, s)) {
            return -1;
        }
    }
    return 0;
}

static int take_record(struct reader *r, const struct record *record, const char *text)
{
    if (!record->kind) {
        berth_error_set(r->err, BERTH_EINPUT, "expected a record that starts with SwitchName=");
        return place(r, text);
    }
    if (r->kind && strcmp(r->kind, record->kind) != 0) {
        berth_error_set(r->err, BERTH_EINPUT, "a %s record among %s records; a file has one kind",
                        record->kind, r->kind);
        return place(r, NULL);
    }
    r->kind = record->kind;
    if (strcmp(r->kind, "tree") == 0) {
        /* scontrol (Level=) may gain keys; in a file an unknown one is a typing error */
        if (record->unknown && !record->value[LEVEL]) {
            berth_error_set(r->err, BERTH_EINPUT,
                            "unknown key; a switch has Nodes=, Switches= and LinkSpeed=");
            return place(r, record->unknown);
        }
        return take_switch(r, record);
    }
    if (record->value[NODES])
        return each_name(r, NODES, record->value[NODES], know_node, 0);
    return 0;
}

/* ---- text ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static char *skip_blanks(char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* True if the word here is the next key rather than a value: "Nodes= Switches=s1". */
static bool starts_key(const char *at)
{
    while (is_key_char(*at))
        at++;
    return *at == '=';
}

/* Cuts the value that starts here out of the text; returns where to go on, NULL on an open quote.
 */
static char *cut_value(char *at, const char **value)
{
    char *end;

    if (is_blank(*at) && starts_key(skip_blanks(at))) {
        *at = '\0';
        *value = at;
        return at + 1;
    }
    at = skip_blanks(at);
    if (*at == '"') {
        *value = ++at;
        end = strchr(at, '"');
        if (!end)
            return NULL;
    } else {
        *value = at;
        end = at;
        while (*end && !is_blank(*end))
            end++;
        if (!*end)
            return end;
    }
    *end = '\0';
    return end + 1;
}

static const char *find_kind(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].key) == length && strncasecmp(kinds[i].key, key, length) == 0)
            return kinds[i].kind;
    return NULL;
}

static int find_key(const char *key, size_t length)
{
    for (int i = 0; i < N_KEYS; i++)
        if (strlen(keys[i]) == length && strncasecmp(keys[i], key, length) == 0)
            return i;
    return -1;
}

/* One record, in place. */
static int read_record(struct reader *r, char *text)
{
    struct record record = {0};
    char *at = skip_blanks(text);

    for (bool first = true; *at; first = false) {
        char *key = at, *end = at;
        const char *value;
        while (is_key_char(*end))
            end++;
        size_t length = (size_t)(end - key);
        at = skip_blanks(end);
        if (length == 0 || *at != '=') {
            berth_error_set(r->err, BERTH_EINPUT, "expected Key=Value");
            return place(r, key);
        }
        if (first)
            record.kind = find_kind(key, length);
        at = cut_value(at + 1, &value);
        if (!at) {
            berth_error_set(r->err, BERTH_EINPUT, "this quote is never closed");
            return place(r, value - 1);
        }
        int k = find_key(key, length);
        if (k < 0 && !record.unknown && !(first && record.kind))
            record.unknown = key;
        if (k >= 0 && record.value[k]) {
            berth_error_set(r->err, BERTH_EINPUT, "%s= stands twice in one record", keys[k]);
            return place(r, key);
        }
        if (k >= 0)
            record.value[k] = value;
        at = skip_blanks(at);
    }
    return take_record(r, &record, skip_blanks(text));
}

/* Length of a line without its comment; "\#" is no comment. */
static size_t without_comment(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] == '#' && (i == 0 || line[i - 1] != '\\'))
            return i;
    return length;
}

/*
 * Takes the next record's lines from *text on, joined at `out`, which lies at or before them.
 * Returns the length; *text and r->line move on.
 */
static size_t join_lines(struct reader *r, const char **text, const char *end, char *out, int *next)
{
    size_t n = 0;
    bool more = true;

    r->line = *next;
    r->start = out;
    while (more && *text < end) {
        const char *newline = memchr(*text, '\n', (size_t)(end - *text));
        size_t full = (size_t)((newline ? newline : end) - *text);
        size_t length = full;
        if (length && (*text)[length - 1] == '\r')
            length--;
        length = without_comment(*text, length);
        more = length > 0 && (*text)[length - 1] == '\\';
        if (more || n)
            r->start = NULL;
        memmove(out + n, *text, length - more);
        n += length - more;
        *text += full + (newline != NULL);
        ++*next;
    }
    return n;
}

static int read_records(struct reader *r, char *bytes, size_t size)
{
    const char *text = bytes, *end = bytes + size;
    char *out = bytes; /* records are moved down and stay, so that children can point into them */
    int next = 1;

    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end) {
        size_t length = join_lines(r, &text, end, out, &next);
        char *nul = memchr(out, '\0', length), *record = out;
        if (nul) {
            berth_error_set(r->err, BERTH_EINPUT, "a NUL byte; this is not a text file");
            return place(r, nul);
        }
        /* at least one byte was read beyond these: a newline, or the room after the last one */
        record[length] = '\0';
        out += length + 1;
        if (!*skip_blanks(record))
            continue;
        if (!r->kind && *skip_blanks(record) == '-') {
            berth_error_set(r->err, BERTH_EINPUT,
                            "this looks like topology.yaml, which this version does not read; give "
                            "topology.conf or what `scontrol show topology` prints");
            return place(r, NULL);
        }
        if (read_record(r, record))
            return -1;
    }
    for (size_t i = 0; i < r->n_children; i++) {
        r->line = r->children[i].line;
        if (each_name(r, SWITCHES, r->children[i].list, join_child, r->children[i].parent))
            return -1;
    }
    if (r->kind && strcmp(r->kind, "tree") != 0) {
        r->c->refused = strdup(r->kind);
        if (!r->c->refused)
            return berth_error_memory(r->err);
    }
    return cluster_finish(r->c, r->name, r->err);
}

struct cluster *cluster_read_topology(const char *name, const char *bytes, size_t size,
                                      struct berth_error *err)
{
    struct reader r = {.c = cluster_new(), .name = name, .err = err};
    char *copy = malloc(size + 1);

    if (r.c)
        r.c->source = strdup(name);
    if (!copy || !r.c || !r.c->source) {
        berth_error_memory(err);
        goto fail;
    }
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    if (read_records(&r, copy, size))
        goto fail;
    free(r.children);
    free(copy);
    return r.c;
fail:
    free(r.children);
    free(copy);
    cluster_free(r.c);
    return NULL;
}
