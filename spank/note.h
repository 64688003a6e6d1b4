/*
 * The note that travels beside the map from srun to the nodes: SLURM_BERTH_STEP, one line of words.
 * Users can write anything into it, so it is read as strictly as a file.
 */
#ifndef BERTH_NOTE_H
#define BERTH_NOTE_H

#include "../lib/error.h"
#include <stdbool.h>
#include <stddef.h>

#define NOTE_VARIABLE "SLURM_BERTH_STEP"
/* In place of a note: the step must not run. A step that srun leaves before the launch stays with
 * slurmctld until its job ends, and keeps the job's CPUs (22.05); so it is launched, and its tasks
 * stop. */
#define NOTE_STOP "stop"
#define NOTE_MAP_PREFIX "SLURM_BERTH_MAP_"
#define NOTE_MAX 512
#define NOTE_ADDR_MAX 256

struct note {
    bool layout, nodes;
    bool strict, override_slurm, keep_local_rank;
    int parts; /* of the packed map */
    int port;
    char addr[NOTE_ADDR_MAX]; /* MASTER_ADDR */
};

/* Writes the note into buf; false where it does not fit or its address is not one word. */
bool note_format(const struct note *note, char *buf, size_t size);
int note_parse(const char *text, struct note *note, struct berth_error *err);

#endif
