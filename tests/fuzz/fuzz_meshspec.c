/*
 * Mesh specifications and traffic: whatever reads must write back to something that reads the same.
 */
#include "meshspec.h"
#include "traffic.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is three lines: mesh, order (may be empty), traffic. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *order, *traffic_text, formatted[1024];
    struct berth_mesh mesh, again;
    struct traffic traffic;
    struct berth_error err;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    order = strchr(text, '\n');
    if (order)
        *order++ = 0;
    traffic_text = order ? strchr(order, '\n') : NULL;
    if (traffic_text)
        *traffic_text++ = 0;
    meshspec_is_axis(text, strlen(text));
    if (!meshspec_parse(text, order && *order ? order : NULL, 0, &mesh, &err)) {
        meshspec_format(&mesh, formatted, sizeof(formatted));
        if (meshspec_parse(formatted, mesh.order, mesh.world, &again, &err) ||
            memcmp(mesh.axes, again.axes, sizeof(mesh.axes)))
            abort();
        if (traffic_text && !traffic_parse(traffic_text, &mesh, &traffic, &err)) {
            for (int i = 0; i < traffic.n; i++)
                if (traffic.items[i].axis < 0 || traffic.items[i].axis >= berth_mesh_count(&mesh) ||
                    !(traffic.items[i].bytes >= 1))
                    abort();
        }
    }
    free(text);
    return 0;
}
