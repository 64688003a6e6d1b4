/* `scontrol show node --oneliner`, merged into a cluster that has some nodes already. */
#include "cluster.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char topology[] = "SwitchName=leaf Nodes=n[0-3]\n";
    struct berth_error err = {0};
    struct cluster *c = cluster_read_topology("t", topology, sizeof topology - 1, &err);

    if (!c)
        abort();
    if (cluster_read_scontrol_nodes(c, "n", (const char *)data, size, &err) &&
        (err.kind != BERTH_EINPUT || !err.text[0]))
        abort();
    for (int i = 0; i < c->n_nodes; i++)
        if (c->nodes[i].gpus < -1 || c->nodes[i].gpus > BERTH_GPUS_MAX)
            abort();
    cluster_free(c);
    return 0;
}
