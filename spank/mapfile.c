/*
 * Map files of running steps. The owner that the directory must have is the effective user, which
 * is root in slurmstepd's hooks and the test's own user in the unit tests.
 */
#include "config.h"

#include "mapfile.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_FORMAT "%u.%u.%d.json"

static int open_directory(const char *path, struct berth_error *err)
{
    struct stat st;
    bool made = !mkdir(path, 0711);

    if (!made && errno != EEXIST)
        return berth_error_set(err, BERTH_ESYSTEM, "the map directory %.200s cannot be made: %s",
                               path, strerror(errno));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return berth_error_set(err, BERTH_ESYSTEM, "the map directory %.200s cannot be opened: %s",
                               path, strerror(errno));
    if (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
        close(fd);
        return berth_error_set(
            err, BERTH_ESYSTEM,
            "the map directory %.200s must belong to root and be writable by root alone", path);
    }
    if (made && fchmod(fd, 0711)) { /* slurmd's umask may have taken the users' way in */
        berth_error_set(err, BERTH_ESYSTEM,
                        "the map directory %.200s cannot be opened to users: %s", path,
                        strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

/* A slurmstepd that was killed could not remove its file. */
static void sweep(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;

    if (!list && copy >= 0)
        close(copy);
    while (list && (entry = readdir(list))) {
        unsigned job, step;
        int pid;
        char name[64];
        if (sscanf(entry->d_name, NAME_FORMAT, &job, &step, &pid) != 3 || pid < 1)
            continue;
        snprintf(name, sizeof(name), NAME_FORMAT, job, step, pid);
        if (!strcmp(name, entry->d_name) && kill(pid, 0) && errno == ESRCH)
            unlinkat(dir, name, 0);
    }
    if (list)
        closedir(list);
}

int mapfile_open(struct mapfile *file, const char *dir, unsigned job, unsigned step, pid_t pid,
                 uid_t uid, gid_t gid, struct berth_error *err)
{
    const char *did = "created";

    *file = (struct mapfile)MAPFILE_NONE;
    snprintf(file->name, sizeof(file->name), NAME_FORMAT, job, step, (int)pid);
    if ((file->dir = open_directory(dir, err)) < 0)
        return -1;
    sweep(file->dir);
    unlinkat(file->dir, file->name, 0); /* it would be of an earlier process with this one's id */
    file->fd =
        openat(file->dir, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file->fd < 0)
        goto fail;
    did = "given to its user";
    if (fchown(file->fd, uid, gid) || fchmod(file->fd, 0600))
        goto fail;
    return 0;
fail:
    berth_error_set(err, BERTH_ESYSTEM, "the map file %.200s/%s cannot be %s: %s", dir, file->name,
                    did, strerror(errno));
    mapfile_remove(file);
    return -1;
}

int mapfile_write(struct mapfile *file, const void *bytes, size_t size, struct berth_error *err)
{
    const char *p = bytes;
    int rc = 0;

    while (size && !rc) {
        ssize_t n = write(file->fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = berth_error_set(err, BERTH_ESYSTEM, "the map file %s cannot be written: %s",
                                 file->name, strerror(errno));
        else
            p += n, size -= (size_t)n;
    }
    if (rc && ftruncate(file->fd, 0))
        berth_error_prefix(err, "and not emptied");
    if (close(file->fd) && !rc)
        rc = berth_error_set(err, BERTH_ESYSTEM, "the map file %s cannot be written: %s",
                             file->name, strerror(errno));
    file->fd = -1;
    return rc;
}

void mapfile_remove(struct mapfile *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->dir >= 0) {
        unlinkat(file->dir, file->name, 0);
        close(file->dir);
    }
    *file = (struct mapfile)MAPFILE_NONE;
}
