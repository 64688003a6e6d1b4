/*
 * How a user writes a mesh: `tp8,pp2,dp5`, `tp=8,pp=2,dp`, and with it the traffic.
 */
#ifndef BERTH_MESHSPEC_H
#define BERTH_MESHSPEC_H

#include "../lib/error.h"
#include "../lib/mesh.h"
#include <stddef.h>

/* The order of the known axes where none is given: Megatron's tp-cp-ep-dp-pp, with etp and shard
 * put in. */
#define MESHSPEC_ORDER "tp-etp-cp-ep-shard-dp-pp"

/*
 * Parses a mesh. Items are NAMEsize, NAME=size, or one NAME alone, which takes what is left of
 * `world` (0: unknown, then every axis needs a size). NAMEsize@AXIS or @AXIS+AXIS is derived: laid
 * over those axes, it does not multiply the world ("ep5@dp"). `order` is an order string or NULL:
 * then the known axes stand in Megatron's order, and a mesh with any other name stays as written,
 * fastest first.
 * BERTH_EINPUT: what is wrong with which item. BERTH_ENO: the axes do not make `world`.
 */
int meshspec_parse(const char *spec, const char *order, int world, struct berth_mesh *mesh,
                   struct berth_error *err);

/* True if `item` (up to a comma) looks like a mesh item rather than a key=value option. */
bool meshspec_is_axis(const char *item, size_t length);

/* "tp8,dp5,pp2", with derived axes as "ep5@dp"; into buf, returns buf. */
const char *meshspec_format(const struct berth_mesh *mesh, char *buf, size_t size);

#endif
