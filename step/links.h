/*
 * Calibration: what the cluster's links really give, measured point to point, as a cluster model
 * that `berth map --cluster` reads.
 */
#ifndef BERTH_LINKS_H
#define BERTH_LINKS_H

#include "berth.h"
#include <jansson.h>
#include <mpi.h>

/*
 * Collective over `world`, whose ranks are the map's. Only rank 0 asks `map`, for nodes and switch
 * paths, and gets the model in *model (new reference; NULL elsewhere):
 *   defaults.node       rate and latency between two nodes, at best of one leaf; within a node
 *   switches[]          rate and latency of every uplink that has nodes of the job on both sides
 * What no pair of ranks could measure is left out. 0 or -1; every process returns the same.
 */
int links_measure(const struct berth_map *map, MPI_Comm world, json_t **model,
                  struct berth_error *err);

#endif
