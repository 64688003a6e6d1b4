/* hwloc XML: whatever hwloc makes of it, the shape must be one that a rank map can hold. */
#include "cluster.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_error err = {0};
    struct berth_shape shape;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (cluster_read_hwloc("x.xml", text, size, &shape, NULL, &err)) {
        if (!err.text[0] || shape.n_gpus)
            abort();
    } else if (berth_shape_check(&shape, "shape", &err)) {
        abort();
    } else {
        berth_shape_clear(&shape);
    }
    free(text);
    return 0;
}
