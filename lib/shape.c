/*
 * Shapes: the hardware of nodes that are alike, as values and as JSON. Rank maps and cluster models
 * carry the same objects.
 */
#include "config.h"

#include "error.h"
#include "map.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

void berth_shape_clear(struct berth_shape *shape)
{
    for (int i = 0; shape->gpus && i < shape->n_gpus; i++) {
        free(shape->gpus[i].pci);
        free(shape->gpus[i].cpus);
        free(shape->gpus[i].nic);
    }
    for (int i = 0; shape->nics && i < shape->n_nics; i++) {
        free(shape->nics[i].name);
        free(shape->nics[i].pci);
    }
    for (int i = 0; shape->cliques && i < shape->n_cliques; i++)
        free(shape->cliques[i]);
    free(shape->gpus);
    free(shape->nics);
    free(shape->cliques);
    *shape = (struct berth_shape){0};
}

static bool copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

/* Zeroed arrays for the counts that the shape has. */
static bool allocate(struct berth_shape *shape)
{
    shape->gpus = calloc(shape->n_gpus + 1, sizeof(*shape->gpus));
    shape->nics = calloc(shape->n_nics + 1, sizeof(*shape->nics));
    shape->cliques = calloc(shape->n_cliques + 1, sizeof(*shape->cliques));
    return shape->gpus && shape->nics && shape->cliques;
}

int berth_shape_copy(struct berth_shape *to, const struct berth_shape *from)
{
    *to = (struct berth_shape){from->n_gpus, from->n_nics, from->n_cliques};
    bool copied = allocate(to);
    for (int i = 0; copied && i < from->n_gpus; i++) {
        const struct berth_gpu *gpu = &from->gpus[i];
        to->gpus[i].index = gpu->index;
        to->gpus[i].numa = gpu->numa;
        copied = copy_text(&to->gpus[i].pci, gpu->pci) && copy_text(&to->gpus[i].cpus, gpu->cpus) &&
                 copy_text(&to->gpus[i].nic, gpu->nic);
    }
    for (int i = 0; copied && i < from->n_nics; i++) {
        to->nics[i].numa = from->nics[i].numa;
        copied = copy_text(&to->nics[i].name, from->nics[i].name) &&
                 copy_text(&to->nics[i].pci, from->nics[i].pci);
    }
    for (int i = 0; copied && i < from->n_cliques; i++)
        copied = copy_text(&to->cliques[i], from->cliques[i]);
    if (!copied)
        berth_shape_clear(to);
    return copied ? 0 : -1;
}

static int compare_text(const char *a, const char *b)
{
    return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_gpus(const struct berth_gpu *a, const struct berth_gpu *b)
{
    int order = compare_text(a->pci, b->pci);
    order = order ? order : (a->index > b->index) - (a->index < b->index);
    order = order ? order : (a->numa > b->numa) - (a->numa < b->numa);
    order = order ? order : compare_text(a->cpus, b->cpus);
    return order ? order : compare_text(a->nic, b->nic);
}

int berth_shape_compare(const struct berth_shape *a, const struct berth_shape *b)
{
    int order = a->n_gpus - b->n_gpus;
    order = order ? order : a->n_nics - b->n_nics;
    order = order ? order : a->n_cliques - b->n_cliques;
    for (int i = 0; order == 0 && i < a->n_gpus; i++)
        order = compare_gpus(&a->gpus[i], &b->gpus[i]);
    for (int i = 0; order == 0 && i < a->n_nics; i++) {
        const struct berth_nic *x = &a->nics[i], *y = &b->nics[i];
        order = compare_text(x->name, y->name);
        order = order ? order : compare_text(x->pci, y->pci);
        order = order ? order : (x->numa > y->numa) - (x->numa < y->numa);
    }
    for (int i = 0; order == 0 && i < a->n_cliques; i++)
        order = compare_text(a->cliques[i], b->cliques[i]);
    return order;
}

/* ---- what a shape must be ---- */

bool berth_name_is_plain(const char *name)
{
    size_t length = 0;
    while (name[length] >= 0x20 && name[length] <= 0x7e)
        length++;
    return length > 0 && length <= BERTH_NAME_MAX && name[length] == '\0';
}

static int check_name(const char *name, const char *place, const char *array, int i,
                      const char *key, struct berth_error *err)
{
    if (!name || berth_name_is_plain(name))
        return 0;
    return berth_error_set(err, BERTH_EINPUT,
                           "%s.%s[%d].%s: a name of 1 to %d printable ASCII characters is expected",
                           place, array, i, key, BERTH_NAME_MAX);
}

/* "0000:18:00.0" as one number that ascends with the bus; -1 if it is not written so. */
static int64_t pci_number(const char *pci)
{
    unsigned part[4] = {0};
    int digits[4] = {0}, at = 0;
    static const char separators[] = "::.";
    static const int longest[4] = {8, 2, 2, 1};
    for (const char *p = pci; *p; p++) {
        const char *all = "0123456789abcdefABCDEF", *digit = strchr(all, *p);
        if (digit && ++digits[at] <= longest[at])
            part[at] = part[at] * 16 + (unsigned)(digit - all > 15 ? digit - all - 6 : digit - all);
        else if (digit || at == 3 || *p != separators[at] || digits[at++] == 0)
            return -1;
    }
    if (at != 3 || digits[3] == 0 || part[2] > 0x1f || part[3] > 7)
        return -1;
    return (int64_t)part[0] << 16 | part[1] << 8 | part[2] << 3 | part[3];
}

static int check_ranges(const char *text, int max, const char *place, const char *array, int i,
                        const char *key, struct berth_error *err)
{
    int *values = NULL;
    if (berth_ranges_parse(text, max, max + 1, &values, err) < 0)
        return berth_error_prefix(err, "%s.%s[%d]%s", place, array, i, key);
    free(values);
    return 0;
}

/* `last` is the PCI id, as a number, of the GPUs before this one. */
static int check_gpu(const struct berth_gpu *gpu, int64_t *last, const char *place, int i,
                     struct berth_error *err)
{
    int64_t number = gpu->pci ? pci_number(gpu->pci) : *last;
    if (gpu->pci && number < 0)
        return berth_error_set(err, BERTH_EINPUT,
                               "%s.gpus[%d].pci: \"%.40s\" is no PCI bus id like 0000:18:00.0",
                               place, i, gpu->pci);
    if (gpu->pci && number <= *last)
        return berth_error_set(err, BERTH_EINPUT,
                               "%s.gpus[%d].pci: %s does not come after the GPU before it; a shape "
                               "lists its GPUs in PCI bus order",
                               place, i, gpu->pci);
    *last = number;
    if (check_name(gpu->nic, place, "gpus", i, "nic", err))
        return -1;
    return gpu->cpus ? check_ranges(gpu->cpus, 65535, place, "gpus", i, ".cpus", err) : 0;
}

int berth_shape_check(const struct berth_shape *shape, const char *place, struct berth_error *err)
{
    int64_t last = -1;
    for (int i = 0; i < shape->n_gpus; i++)
        if (check_gpu(&shape->gpus[i], &last, place, i, err))
            return -1;
    for (int i = 0; i < shape->n_nics; i++)
        if (check_name(shape->nics[i].name, place, "nics", i, "name", err) ||
            check_name(shape->nics[i].pci, place, "nics", i, "pci", err))
            return -1;
    for (int i = 0; i < shape->n_cliques; i++)
        if (check_ranges(shape->cliques[i], shape->n_gpus - 1, place, "nvlink_cliques", i, "", err))
            return -1;
    return 0;
}

/* ---- from JSON ---- */

#define TEXT_MAX 4096 /* bytes of a list of CPUs, the longest of a shape's texts */

struct reader { /* where the reading of a shape stands, for messages */
    const char *place, *array;
    int i;
    struct berth_error *err;
};

static int refuse(const struct reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct reader *r, const char *key, const char *format, ...)
{
    char text[BERTH_ERROR_MAX], at[16] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (r->i >= 0)
        snprintf(at, sizeof(at), "[%d]", r->i);
    return berth_error_set(r->err, BERTH_EINPUT, "%s%s%s%s%s%s: %s", r->place, r->array ? "." : "",
                           r->array ? r->array : "", at, key ? "." : "", key ? key : "", text);
}

static int check_keys(const struct reader *r, const json_t *object)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return refuse(r, NULL, "an object is expected");
    json_object_foreach((json_t *)object, key, value) if (!strncmp(key, "must_", 5)) return refuse(
        r, NULL,
        "key \"%.64s\" is not known to this version of Berth, and its name says "
        "that a reader must know it",
        key);
    return 0;
}

static int read_text(const struct reader *r, const json_t *object, const char *key, char **text)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return 0;
    const char *string = json_string_value(value);
    size_t size = json_string_length(value);
    if (!string || size == 0 || size > TEXT_MAX)
        return refuse(r, key, "a string of 1 to %d bytes is expected", TEXT_MAX);
    return copy_text(text, string) ? 0 : berth_error_memory(r->err);
}

static int read_number(const struct reader *r, const json_t *object, const char *key, int *number)
{
    const json_t *value = json_object_get(object, key);
    *number = -1;
    if (!value || json_is_null(value))
        return 0;
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < -1 || n > 65535)
        return refuse(r, key, "a number from 0 to 65535, or -1 for unknown, is expected");
    *number = (int)n;
    return 0;
}

static int read_gpu(const struct reader *r, const json_t *json, struct berth_gpu *gpu)
{
    if (check_keys(r, json) || read_text(r, json, "pci", &gpu->pci) ||
        read_number(r, json, "index", &gpu->index) || read_number(r, json, "numa", &gpu->numa) ||
        read_text(r, json, "cpus", &gpu->cpus) || read_text(r, json, "nic", &gpu->nic))
        return -1;
    return 0;
}

static int read_nic(const struct reader *r, const json_t *json, struct berth_nic *nic)
{
    if (check_keys(r, json) || read_text(r, json, "name", &nic->name) ||
        read_text(r, json, "pci", &nic->pci) || read_number(r, json, "numa", &nic->numa))
        return -1;
    return nic->name ? 0 : refuse(r, NULL, "key \"name\" is missing");
}

static int read_clique(const struct reader *r, const json_t *json, char **clique)
{
    if (!json_is_string(json))
        return refuse(r, NULL, "a string is expected");
    return copy_text(clique, json_string_value(json)) ? 0 : berth_error_memory(r->err);
}

/* The length of an optional array, or -1. */
static int array_length(const struct reader *r, const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    if (!array || json_is_null(array))
        return 0;
    if (!json_is_array(array))
        return refuse(r, key, "an array is expected");
    if (json_array_size(array) > BERTH_GPUS_MAX)
        return refuse(r, key, "%zu entries; at most %d are possible", json_array_size(array),
                      BERTH_GPUS_MAX);
    return (int)json_array_size(array);
}

static int read_members(struct reader *r, const json_t *json, struct berth_shape *shape)
{
    r->array = "gpus";
    for (r->i = 0; r->i < shape->n_gpus; r->i++)
        if (read_gpu(r, json_array_get(json_object_get(json, "gpus"), r->i), &shape->gpus[r->i]))
            return -1;
    r->array = "nics";
    for (r->i = 0; r->i < shape->n_nics; r->i++)
        if (read_nic(r, json_array_get(json_object_get(json, "nics"), r->i), &shape->nics[r->i]))
            return -1;
    r->array = "nvlink_cliques";
    for (r->i = 0; r->i < shape->n_cliques; r->i++)
        if (read_clique(r, json_array_get(json_object_get(json, "nvlink_cliques"), r->i),
                        &shape->cliques[r->i]))
            return -1;
    return 0;
}

int berth_shape_read(const json_t *json, const char *place, struct berth_shape *shape,
                     struct berth_error *err)
{
    struct reader r = {place, NULL, -1, err};
    *shape = (struct berth_shape){0};
    if (check_keys(&r, json))
        return -1;
    int gpus = array_length(&r, json, "gpus"), nics = array_length(&r, json, "nics");
    int cliques = array_length(&r, json, "nvlink_cliques");
    if (gpus < 0 || nics < 0 || cliques < 0)
        return -1;
    *shape = (struct berth_shape){gpus, nics, cliques};
    int rc = allocate(shape) ? read_members(&r, json, shape) : berth_error_memory(err);
    if (rc == 0)
        rc = berth_shape_check(shape, place, err);
    if (rc)
        berth_shape_clear(shape);
    return rc;
}

/* ---- to JSON ---- */

/* Sets a key unless the value is unknown; false on no memory. */
static bool put_text(json_t *object, const char *key, const char *text)
{
    return !text || json_object_set_new(object, key, json_string(text)) == 0;
}

static bool put_number(json_t *object, const char *key, int number)
{
    return number < 0 || json_object_set_new(object, key, json_integer(number)) == 0;
}

static json_t *gpu_json(const struct berth_gpu *gpu)
{
    json_t *json = json_object();
    if (put_text(json, "pci", gpu->pci) && put_number(json, "index", gpu->index) &&
        put_number(json, "numa", gpu->numa) && put_text(json, "cpus", gpu->cpus) &&
        put_text(json, "nic", gpu->nic))
        return json;
    json_decref(json);
    return NULL;
}

static json_t *nic_json(const struct berth_nic *nic)
{
    json_t *json = json_object();
    if (put_text(json, "name", nic->name) && put_text(json, "pci", nic->pci) &&
        put_number(json, "numa", nic->numa))
        return json;
    json_decref(json);
    return NULL;
}

json_t *berth_shape_json(const struct berth_shape *shape)
{
    json_t *json = json_object(), *gpus = json_array(), *nics = json_array();
    json_t *cliques = json_array();
    bool made = json && gpus && nics && cliques;
    for (int i = 0; made && i < shape->n_gpus; i++)
        made = json_array_append_new(gpus, gpu_json(&shape->gpus[i])) == 0;
    for (int i = 0; made && i < shape->n_nics; i++)
        made = json_array_append_new(nics, nic_json(&shape->nics[i])) == 0;
    for (int i = 0; made && i < shape->n_cliques; i++)
        made = json_array_append_new(cliques, json_string(shape->cliques[i])) == 0;
    made = made && json_object_set(json, "gpus", gpus) == 0;
    if (made && shape->n_nics > 0)
        made = json_object_set(json, "nics", nics) == 0;
    if (made && shape->n_cliques > 0)
        made = json_object_set(json, "nvlink_cliques", cliques) == 0;
    json_decref(gpus);
    json_decref(nics);
    json_decref(cliques);
    if (!made)
        json_decref(json);
    return made ? json : NULL;
}
