/*
 * The map file of one step on one node: opened empty by root, filled by the user, removed by root.
 * Everything goes through descriptors of a directory that only root can change; the file's name is
 * made of numbers alone.
 */
#ifndef BERTH_MAPFILE_H
#define BERTH_MAPFILE_H

#include "../lib/error.h"
#include <stddef.h>
#include <sys/types.h>

struct mapfile {
    int dir; /* directory, -1 none */
    int fd;  /* the open file, -1 none */
    char name[64];
};

#define MAPFILE_NONE        \
    {                       \
        .dir = -1, .fd = -1 \
    }

/*
 * As root: makes the directory if it is not there (0711), checks that it is root's and no one else
 * can write to it, removes files whose slurmstepd is gone, and creates the step's file, empty,
 * 0600, owned by uid:gid. On -1 nothing is left open.
 */
int mapfile_open(struct mapfile *file, const char *dir, unsigned job, unsigned step, pid_t pid,
                 uid_t uid, gid_t gid, struct berth_error *err);

/* With the user's rights: writes all bytes through the open descriptor, and closes it. */
int mapfile_write(struct mapfile *file, const void *bytes, size_t size, struct berth_error *err);

/* As root: removes the file and closes all. */
void mapfile_remove(struct mapfile *file);

#endif
