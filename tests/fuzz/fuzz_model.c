/* The JSON cluster model: what is read and written must read and write as the same bytes. */
#include "cluster.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *written(const struct cluster *c)
{
    json_t *json = cluster_write_model(c);
    char *text = json_dumps(json, JSON_COMPACT);

    json_decref(json);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_error err = {0};
    struct cluster *c = cluster_read_model("m", (const char *)data, size, &err);

    if (!c) {
        if (err.kind != BERTH_EINPUT || !err.text[0])
            abort();
        return 0;
    }
    char *first = written(c);
    if (!first)
        abort();
    struct cluster *again = cluster_read_model("m", first, strlen(first), &err);
    if (!again)
        abort();
    char *second = written(again);
    if (!second || strcmp(first, second) != 0)
        abort();
    free(first);
    free(second);
    cluster_free(c);
    cluster_free(again);
    return 0;
}
