/* Hostlists: what expands must compress to something that expands to the same names. */
#include "hostlist.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), **names, **again;
    struct berth_error err = {0};

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    int n = hostlist_expand(text, &names, &err);
    if (n < 0 && (err.kind != BERTH_EINPUT || !err.text[0]))
        abort();
    if (n > 0 && n < 4096) {
        char *compressed = hostlist_compress((const char *const *)names, n);
        if (!compressed || hostlist_expand(compressed, &again, &err) != n)
            abort();
        for (int i = 0; i < n; i++)
            if (strcmp(names[i], again[i]) != 0)
                abort();
        hostlist_free(again, n);
        free(compressed);
    }
    if (n >= 0)
        hostlist_free(names, n);
    free(text);
    return 0;
}
