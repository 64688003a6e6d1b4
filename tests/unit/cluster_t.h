/*
 * Cluster T of spec.md 6, in memory: leaf0 = n00,n03,n06; leaf1 = n01,n04,n07,n08,n09; leaf2 =
 * n02,n05 under one spine, with the rates of a case. And jobs on all or some of its nodes.
 */
#ifndef BERTH_TESTS_CLUSTER_T_H
#define BERTH_TESTS_CLUSTER_T_H

#include "job.h"
#include "meshspec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MBIT (1e6 / 8) /* bytes per second */

static inline struct cluster *cluster_t(double host, double uplink)
{
    static const char *const leaf[] = {"leaf0", "leaf1", "leaf2"};
    static const int leaf_of[10] = {0, 1, 2, 0, 1, 2, 0, 1, 1, 1};
    struct cluster *c = cluster_new();
    struct berth_error err;
    char name[16];

    for (int i = 0; i < 3; i++)
        cluster_add_switch(c, leaf[i]);
    int spine = cluster_add_switch(c, "spine");
    for (int i = 0; i < 3; i++) {
        c->switches[i].parent = spine;
        c->switches[i].uplink = uplink;
        c->switches[i].link_latency = 1e-9;
    }
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "n%02d", i);
        int node = cluster_add_node(c, name);
        cluster_attach(c, node, leaf_of[i]);
        c->nodes[node].rate = host;
        c->nodes[node].latency = 1e-9; /* hand computations are about bytes */
        c->nodes[node].inner_rate = 1e9;
        c->nodes[node].inner_latency = 1e-9;
    }
    if (cluster_finish(c, "T", &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return c;
}

/* A job on the nodes whose numbers are not in `without` ("0,8" digits), `each` tasks on every one.
 */
static inline int job_t(struct job *job, struct cluster *c, const char *mesh_spec,
                        const char *order, const char *traffic_text, const char *without, int each,
                        struct berth_error *err)
{
    struct berth_mesh mesh;
    struct traffic traffic;
    char names[10][16], *list[10];
    int n = 0;

    for (int i = 0; i < 10; i++)
        if (!strchr(without, '0' + i)) {
            snprintf(names[n], sizeof(names[n]), "n%02d", i);
            list[n] = names[n];
            n++;
        }
    if (meshspec_parse(mesh_spec, order, n * each, &mesh, err) ||
        traffic_parse(traffic_text, &mesh, &traffic, err))
        return -1;
    return job_init(job, c, &mesh, &traffic, list, NULL, each, n, err);
}

#endif
