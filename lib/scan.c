/*
 * The JSON scanner (RFC 8259): one recursive function knows the grammar, the readers above it walk
 * text that it has passed.
 */
#include "scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scan_init(struct scan *s, const char *name, const char *bytes, size_t size,
               struct berth_error *err)
{
    *s = (struct scan){.name = name, .start = bytes, .p = bytes, .end = bytes + size, .err = err};
}

void scan_clear(struct scan *s)
{
    free(s->decoded);
    s->decoded = NULL;
}

/* ---- messages ---- */

/* Columns count characters, not bytes, as an editor does. */
static int syntax(struct scan *s, const char *what)
{
    size_t line = 1, column = 1;
    for (const char *q = s->start; q < s->p; q++) {
        if (*q == '\n')
            line++, column = 1;
        else if ((*q & 0xc0) != 0x80)
            column++;
    }
    return berth_error_set(s->err, BERTH_EINPUT, "%s: line %zu, column %zu: %s", s->name, line,
                           column, what);
}

const char *scan_place(const struct scan *s, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < s->depth && used < size; i++) {
        if (s->place[i].key)
            used += snprintf(buf + used, size - used, "%s%.64s", i ? "." : "", s->place[i].key);
        else
            used += snprintf(buf + used, size - used, "[%zu]", s->place[i].index);
    }
    return buf;
}

int scan_prefix(struct scan *s)
{
    char place[256];
    if (s->depth > 0)
        berth_error_prefix(s->err, "%s: %s", s->name, scan_place(s, place, sizeof(place)));
    else
        berth_error_prefix(s->err, "%s", s->name);
    return -1;
}

int scan_fail(struct scan *s, const char *format, ...)
{
    char text[BERTH_ERROR_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    berth_error_set(s->err, BERTH_EINPUT, "%s", text);
    return scan_prefix(s);
}

/* ---- the grammar ---- */

static void space(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

static bool take(struct scan *s, char c)
{
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

static int hex4(const char *p, const char *end)
{
    int value = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef";
        const char *at = memchr(digits, p[i] | (p[i] >= 'A' ? 0x20 : 0), 16);
        if (!at)
            return -1;
        value = value * 16 + (int)(at - digits);
    }
    return value;
}

/* Passes one escape sequence, the backslash already taken. */
static int check_escape(struct scan *s)
{
    if (s->p == s->end)
        return syntax(s, "the text ends inside a string");
    char c = *s->p;
    if (c != 'u') {
        if (!memchr("\"\\/bfnrt", c, 8))
            return syntax(s, "no such escape in a string");
        s->p++;
        return 0;
    }
    int code = hex4(s->p + 1, s->end);
    if (code < 0)
        return syntax(s, "\\u wants four hexadecimal digits");
    if (code == 0)
        return syntax(s, "a NUL in a string");
    if (code >= 0xdc00 && code < 0xe000)
        return syntax(s, "half of a surrogate pair in a string");
    if (code >= 0xd800 && code < 0xdc00) {
        int low =
            s->end - s->p >= 7 && s->p[5] == '\\' && s->p[6] == 'u' ? hex4(s->p + 7, s->end) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return syntax(s, "half of a surrogate pair in a string");
        s->p += 6;
    }
    s->p += 5;
    return 0;
}

/* Passes one character beyond ASCII: UTF-8 as RFC 3629 section 4 has it, no overlong forms. */
static int check_utf8(struct scan *s)
{
    const unsigned char *q = (const unsigned char *)s->p;
    int more = *q >= 0xf0 ? 3 : *q >= 0xe0 ? 2 : 1;
    bool sound = *q >= 0xc2 && *q <= 0xf4 && s->end - s->p > more;
    if (sound) {
        unsigned char low = *q == 0xe0 ? 0xa0 : *q == 0xf0 ? 0x90 : 0x80;
        unsigned char high = *q == 0xed ? 0x9f : *q == 0xf4 ? 0x8f : 0xbf;
        sound = q[1] >= low && q[1] <= high;
        for (int i = 2; i <= more; i++)
            sound = sound && (q[i] & 0xc0) == 0x80;
    }
    if (!sound)
        return syntax(s, "bytes that are not UTF-8");
    s->p += more + 1;
    return 0;
}

static int check_string(struct scan *s)
{
    if (!take(s, '"'))
        return syntax(s, "a string is expected");
    while (s->p < s->end) {
        unsigned char c = (unsigned char)*s->p;
        if (c == '"') {
            s->p++;
            return 0;
        }
        if (c < 0x20)
            return syntax(s, "a control character in a string");
        if (c >= 0x80) {
            if (check_utf8(s))
                return -1;
            continue;
        }
        s->p++;
        if (c == '\\' && check_escape(s))
            return -1;
    }
    return syntax(s, "the text ends inside a string");
}

static bool digits(struct scan *s)
{
    const char *from = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > from;
}

static int check_number(struct scan *s)
{
    take(s, '-');
    if (take(s, '0')) {
        if (s->p < s->end && *s->p >= '0' && *s->p <= '9')
            return syntax(s, "a number with a leading zero");
    } else if (!digits(s)) {
        return syntax(s, "a digit is expected");
    }
    if (take(s, '.') && !digits(s))
        return syntax(s, "a digit is expected");
    if (take(s, 'e') || take(s, 'E')) {
        if (!take(s, '-'))
            take(s, '+');
        if (!digits(s))
            return syntax(s, "a digit is expected");
    }
    return 0;
}

static int check_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return syntax(s, "a value is expected");
    s->p += n;
    return 0;
}

static int check_value(struct scan *s, int depth);

static int check_key(struct scan *s)
{
    space(s);
    if (check_string(s))
        return -1;
    space(s);
    return take(s, ':') ? 0 : syntax(s, "':' is expected after a key");
}

static int check_members(struct scan *s, char close, int depth)
{
    if (depth == SCAN_DEPTH_MAX)
        return syntax(s, "arrays and objects are nested too deeply");
    s->p++;
    space(s);
    if (take(s, close))
        return 0;
    do {
        if (close == '}' && check_key(s))
            return -1;
        if (check_value(s, depth + 1))
            return -1;
        space(s);
    } while (take(s, ','));
    if (take(s, close))
        return 0;
    return syntax(s, close == '}' ? "',' or '}' is expected" : "',' or ']' is expected");
}

static int check_value(struct scan *s, int depth)
{
    space(s);
    if (s->p == s->end)
        return syntax(s, "the text ends where a value is expected");
    switch (*s->p) {
    case '{':
        return check_members(s, '}', depth);
    case '[':
        return check_members(s, ']', depth);
    case '"':
        return check_string(s);
    case 't':
        return check_word(s, "true");
    case 'f':
        return check_word(s, "false");
    case 'n':
        return check_word(s, "null");
    case '-':
    case '0' ... '9':
        return check_number(s);
    default:
        return syntax(s, "a value is expected");
    }
}

int scan_check(struct scan *s)
{
    s->p = s->start;
    if (check_value(s, 0))
        return -1;
    space(s);
    if (s->p < s->end)
        return syntax(s, "something follows the end of the value");
    s->p = s->start;
    return 0;
}

/* ---- walking checked text ---- */

char scan_peek(struct scan *s)
{
    space(s);
    return s->p < s->end ? *s->p : '\0';
}

/* The end of a string in checked text is the next quote that no backslash precedes. */
static void skip_string(struct scan *s)
{
    for (s->p++; *s->p != '"'; s->p++)
        if (*s->p == '\\')
            s->p++;
    s->p++;
}

/* Brackets differ from braces in one bit: '[' | 0x20 is '{', ']' | 0x20 is '}'. */
static void skip_members(struct scan *s)
{
    int depth = 0;
    do {
        char c = *s->p | 0x20;
        if (*s->p == '"') {
            skip_string(s);
            continue;
        }
        depth += (c == '{') - (c == '}');
        s->p++;
    } while (depth > 0);
}

int scan_skip(struct scan *s)
{
    char c = scan_peek(s);
    if (c == '{' || c == '[')
        skip_members(s);
    else if (c == '"')
        skip_string(s);
    else
        while (s->p < s->end && !memchr(",]} \n\t\r", *s->p, 7))
            s->p++;
    return 0;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Decodes the escape at *from, which stands after the backslash. */
static char *put_escape(char *to, const char **from, const char *end)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *p = *from;
    if (*p != 'u') {
        *to++ = values[strchr(names, *p) - names];
        *from = p + 1;
        return to;
    }
    unsigned code = (unsigned)hex4(p + 1, end);
    p += 5;
    if (code >= 0xd800 && code < 0xdc00) {
        code = 0x10000 + ((code - 0xd800) << 10) + ((unsigned)hex4(p + 2, end) - 0xdc00);
        p += 6;
    }
    *from = p;
    return put_utf8(to, code);
}

static int decode(struct scan *s, const char *from, const char *end, const char **text,
                  size_t *size)
{
    if (s->room < (size_t)(end - from)) {
        char *more = realloc(s->decoded, end - from);
        if (!more)
            return berth_error_memory(s->err);
        s->decoded = more;
        s->room = end - from;
    }
    char *to = s->decoded;
    while (from < end) {
        if (*from != '\\') {
            *to++ = *from++;
        } else {
            from++;
            to = put_escape(to, &from, end);
        }
    }
    *text = s->decoded;
    *size = to - s->decoded;
    return 0;
}

int scan_string(struct scan *s, const char **text, size_t *size)
{
    if (scan_peek(s) != '"')
        return scan_fail(s, "a string is expected");
    const char *from = s->p + 1;
    skip_string(s);
    *text = from;
    *size = s->p - 1 - from;
    if (memchr(from, '\\', *size))
        return decode(s, from, s->p - 1, text, size);
    return 0;
}

int scan_name(struct scan *s, char *name, size_t room)
{
    const char *text;
    size_t size;
    if (scan_string(s, &text, &size))
        return -1;
    if (size == 0 || size >= room)
        return scan_fail(s, "a name of 1 to %zu bytes is expected", room - 1);
    memcpy(name, text, size);
    name[size] = '\0';
    return 0;
}

int scan_int(struct scan *s, int min, int max, int *value)
{
    char c = scan_peek(s);
    const char *from = s->p;
    bool minus = c == '-';
    long v = 0;
    scan_skip(s);
    for (from += minus; from < s->p && *from >= '0' && *from <= '9' && v <= max; from++)
        v = v * 10 + (*from - '0');
    v = minus ? -v : v;
    if ((c != '-' && (c < '0' || c > '9')) || (from < s->p && (*from < '0' || *from > '9')))
        return scan_fail(s, "a whole number is expected");
    if (from < s->p || v < min || v > max)
        return scan_fail(s, "the number must be between %d and %d", min, max);
    *value = (int)v;
    return 0;
}

/* How many arrays and objects stand between from and end, strings left out. */
static size_t containers(struct scan *s, const char *from, const char *end)
{
    size_t n = 0;
    struct scan inner = *s;
    for (inner.p = from; inner.p < end;) {
        if (*inner.p == '"') {
            skip_string(&inner);
            continue;
        }
        n += *inner.p == '{' || *inner.p == '[';
        inner.p++;
    }
    return n;
}

int scan_tree(struct scan *s, json_t **tree)
{
    scan_peek(s);
    const char *from = s->p;
    scan_skip(s);
    if (containers(s, from, s->p) > SCAN_TREE_MAX)
        return scan_fail(s, "more than %d arrays and objects in one value", SCAN_TREE_MAX);
    json_error_t why;
    *tree = json_loadb(from, s->p - from, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
    return *tree ? 0 : scan_fail(s, "%s", why.text);
}

int scan_check_key(struct scan *s, const char *key, size_t size)
{
    if (size < 5 || memcmp(key, "must_", 5) != 0)
        return 0;
    return scan_fail(s,
                     "key \"%.*s\" is not known to this version of Berth, and its name says that a "
                     "reader must know it",
                     size > 64 ? 64 : (int)size, key);
}

/* An object on the way: where each key's value stands, and which are read. */
struct object {
    const struct scan_field *fields;
    int n;
    void *arg;
    const char *at[SCAN_FIELDS_MAX];
    bool done[SCAN_FIELDS_MAX];
};

static int read_field(struct scan *s, struct object *object, int i)
{
    s->p = object->at[i];
    s->place[s->depth++] = (struct scan_step){object->fields[i].key, 0};
    if (object->fields[i].read(s, object->arg))
        return -1;
    s->depth--;
    object->done[i] = true;
    return 0;
}

/* A value can be read where it stands if all that it may depend on is read; else it waits. */
static bool ready(const struct object *object, int i)
{
    for (int k = 0; k < i; k++)
        if (object->fields[k].required && !object->done[k])
            return false;
    return true;
}

static int read_member(struct scan *s, struct object *object)
{
    const char *key;
    size_t size;
    int i = 0;
    if (scan_string(s, &key, &size))
        return -1;
    while (i < object->n &&
           (strncmp(object->fields[i].key, key, size) != 0 || object->fields[i].key[size] != '\0'))
        i++;
    if (i == object->n && scan_check_key(s, key, size))
        return -1;
    if (i < object->n && object->at[i])
        return scan_fail(s, "key \"%s\" is given twice", object->fields[i].key);
    scan_peek(s);
    s->p++; /* the colon */
    if (i == object->n)
        return scan_skip(s);
    object->at[i] = s->p;
    return ready(object, i) ? read_field(s, object, i) : scan_skip(s);
}

int scan_object(struct scan *s, const struct scan_field *fields, int n, void *arg)
{
    struct object object = {.fields = fields, .n = n, .arg = arg};
    if (scan_peek(s) != '{')
        return scan_fail(s, "an object is expected");
    s->p++;
    while (scan_peek(s) != '}') {
        if (read_member(s, &object))
            return -1;
        if (scan_peek(s) == ',')
            s->p++;
    }
    const char *end = s->p + 1;
    for (int i = 0; i < n; i++) {
        if (!object.at[i] && fields[i].required)
            return scan_fail(s, "key \"%s\" is missing", fields[i].key);
        if (object.at[i] && !object.done[i] && read_field(s, &object, i))
            return -1;
    }
    s->p = end;
    return 0;
}

int scan_array(struct scan *s, int (*read)(struct scan *s, void *arg), void *arg)
{
    if (scan_peek(s) != '[')
        return scan_fail(s, "an array is expected");
    s->p++;
    struct scan_step *step = &s->place[s->depth++];
    *step = (struct scan_step){NULL, 0};
    while (scan_peek(s) != ']') {
        if (read(s, arg))
            return -1;
        if (scan_peek(s) == ',')
            s->p++;
        step->index++;
    }
    s->p++;
    s->depth--;
    return 0;
}
