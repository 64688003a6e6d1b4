/*
 * What a plan costs as ranks grow: fragmented allocations (leaves with 1 to 32 of the job's nodes,
 * 12 leaves to a pod), eight ranks per node, tp8 and the reference model's traffic. Prints per size
 * the time of plan_solve and the predicted step against Slurm's two orders.
 */
#include "meshspec.h"
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static unsigned random_next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Nodes in name order meet the leaves in chunks of one to three, as grown clusters do. */
static struct cluster *fragmented(int nodes, char **names)
{
    struct cluster *c = cluster_new();
    struct berth_error err;
    unsigned seed = 12345;
    int *room = calloc((size_t)nodes, sizeof(int)), leaves = 0, total = 0, at = 0;
    char name[32];
    int core = cluster_add_switch(c, "core"), pod = -1;

    while (total < nodes) {
        if (leaves % 12 == 0) {
            snprintf(name, sizeof(name), "pod%d", leaves / 12);
            pod = cluster_add_switch(c, name);
            c->switches[pod].parent = core;
        }
        snprintf(name, sizeof(name), "leaf%d", leaves);
        int leaf = cluster_add_switch(c, name);
        c->switches[leaf].parent = pod;
        room[leaves] = 1 + (int)(random_next(&seed) % 32);
        total += room[leaves++];
    }
    for (int i = 0; i < nodes;) {
        int leaf = (int)(random_next(&seed) % (unsigned)leaves),
            chunk = 1 + (int)(random_next(&seed) % 3);
        for (; room[leaf] == 0; leaf = (leaf + 1) % leaves)
            ;
        for (; chunk > 0 && room[leaf] > 0 && i < nodes; chunk--, room[leaf]--, i++) {
            snprintf(names[i] = malloc(16), 16, "node%05d", i);
            snprintf(name, sizeof(name), "leaf%d", leaf);
            cluster_attach(c, cluster_add_node(c, names[i]), cluster_find_switch(c, name));
        }
        at++;
    }
    free(room);
    if (at == 0 || cluster_finish(c, "generated", &err))
        exit(1);
    return c;
}

int main(void)
{
    static const struct {
        int ranks;
        const char *mesh;
    } sizes[] = {{80, "tp8,pp2,dp5"},
                 {1024, "tp8,pp8,dp16"},
                 {4096, "tp8,pp8,dp64"},
                 {16384, "tp8,pp16,dp128"},
                 {131072, "tp8,pp16,dp1024"}};

    printf("%8s %6s %10s %12s %12s %12s %8s\n", "ranks", "nodes", "plan ms", "name s", "topology s",
           "planned s", "RSS MB");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int nodes = sizes[i].ranks / 8;
        char **names = calloc((size_t)nodes, sizeof(char *));
        struct cluster *c = fragmented(nodes, names);
        struct berth_mesh mesh;
        struct traffic traffic;
        struct berth_error err;
        struct job job;
        struct plan plan;
        struct rusage usage;

        if (meshspec_parse(sizes[i].mesh, NULL, sizes[i].ranks, &mesh, &err))
            return 1;
        traffic_reference(&mesh, &traffic);
        if (job_init(&job, c, &mesh, &traffic, names, NULL, 8, nodes, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        double start = now();
        if (plan_solve(&job, &plan, &err))
            return 1;
        double seconds = now() - start;
        getrusage(RUSAGE_SELF, &usage);
        printf("%8d %6d %10.1f %12.4g %12.4g %12.4g %8ld\n", sizes[i].ranks, nodes, seconds * 1e3,
               plan.name_cost.seconds, plan.topology_cost.seconds, plan.planned_cost.seconds,
               usage.ru_maxrss / 1024);
        plan_clear(&plan);
        job_clear(&job);
        cluster_free(c);
        for (int k = 0; k < nodes; k++)
            free(names[k]);
        free(names);
    }
    return 0;
}
