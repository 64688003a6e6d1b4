/* Slurm's counts, "8(x10),4": first a byte for the number of nodes, then the text. */
#include "slurm.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_error err = {0};

    if (size < 1)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    int *counts = slurm_counts_parse(text, data[0], &err);
    if (!counts && (err.kind != BERTH_EINPUT || !err.text[0]))
        abort();
    for (int i = 0; counts && i < data[0]; i++)
        if (counts[i] < 0 || counts[i] > BERTH_WORLD_MAX)
            abort();
    free(counts);
    free(text);
    return 0;
}
