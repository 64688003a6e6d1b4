/*
 * Sequences of a job's nodes, for the mapper: by switch, with the leaves in several orders.
 */
#ifndef BERTH_SEQUENCE_H
#define BERTH_SEQUENCE_H

#include "cost.h"

#define SEQUENCE_CLASSES_MAX 64

enum sequence_kind {
    SEQUENCE_TOPOLOGY, /* switches as the topology lists them */
    SEQUENCE_PACKED,   /* under each switch, children chosen so that strips end where leaves end */
    SEQUENCE_LARGEST,  /* children with more nodes first */
    SEQUENCE_SMALLEST,
    SEQUENCE_KINDS
};

struct sequences {
    const struct job *job;
    int slots;     /* per node if all have as many, else 0 */
    int n_classes; /* classes of nodes that cost the same: one leaf, rate and slots */
    int *class_of; /* per node of the job */
    int *class_first, *class_size; /* into class_nodes */
    int *class_nodes;              /* the job's nodes, class after class, in the topology's order */
    struct sequence_tree *tree;    /* the switches with nodes of this job below them */
};

struct sequences *sequences_new(const struct job *job); /* NULL: no memory */
void sequences_free(struct sequences *q);

/* Writes the job's nodes in sequence; `strip` is the number of nodes that one strip takes. */
void sequence_make(struct sequences *q, enum sequence_kind kind, int strip, int *order);

#endif
