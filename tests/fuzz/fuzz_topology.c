/* topology.conf and `scontrol show topology`: a model that is read must hold together. */
#include "cluster.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_error err = {0};
    struct cluster *c = cluster_read_topology("t", (const char *)data, size, &err);
    int switches[BERTH_LEVELS_MAX];

    if (!c) {
        if (err.kind != BERTH_EINPUT || !err.text[0])
            abort();
        return 0;
    }
    for (int s = 0; s < c->n_switches; s++)
        if (cluster_find_switch(c, c->switches[s].name) != s || c->switches[s].parent == s ||
            c->switches[s].line <= 0)
            abort();
    for (int n = 0; n < c->n_nodes; n++) {
        if (cluster_find_node(c, c->nodes[n].name) != n)
            abort();
        for (int p = 0; p < c->nodes[n].n_leaves; p++) {
            int depth = cluster_path(c, n, p, switches, BERTH_LEVELS_MAX);
            if (depth < 1 || depth > BERTH_LEVELS_MAX || c->switches[switches[0]].level != 0 ||
                c->switches[switches[depth - 1]].parent >= 0)
                abort();
        }
    }
    cluster_free(c);
    return 0;
}
