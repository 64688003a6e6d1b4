/*
 * Whole files in and out. A reader of any file that Berth writes sees the old one or the new one.
 */
#include "config.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- in ---- */

static int system_error(struct berth_error *err, const char *path, const char *what)
{
    return berth_error_set(err, BERTH_ESYSTEM, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* Reads to the end, doubling the room; a file's size may be 0 or wrong, as under /proc. */
static char *read_all(int fd, const char *path, size_t first, size_t max, size_t *size,
                      struct berth_error *err)
{
    size_t room = first + 1, used = 0;
    char *bytes = malloc(room);
    while (bytes) {
        ssize_t n = read(fd, bytes + used, room - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            system_error(err, path, "read it");
            break;
        }
        used += n;
        if (used > max) {
            berth_error_set(err, BERTH_EINPUT,
                            "%s: has more than %zu bytes, the most that Berth reads", path, max);
            break;
        }
        if (n == 0) {
            bytes[used] = '\0';
            *size = used;
            return bytes;
        }
        if (used == room) {
            char *more = realloc(bytes, room *= 2);
            if (!more) {
                berth_error_memory(err);
                break;
            }
            bytes = more;
        }
    }
    if (!bytes)
        berth_error_memory(err);
    free(bytes);
    return NULL;
}

char *berth_file_read(const char *path, size_t max, size_t *size, struct berth_error *err)
{
    char *bytes = NULL;
    struct stat st;
    /* without O_NONBLOCK a FIFO that nobody writes to would hold up the open itself */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        system_error(err, path, "open it");
        return NULL;
    }
    if (fcntl(fd, F_SETFL, 0) < 0 || fstat(fd, &st) != 0)
        system_error(err, path, "read it");
    else if (S_ISDIR(st.st_mode))
        berth_error_set(err, BERTH_EINPUT, "%s: is a directory, a file is expected", path);
    else if (S_ISREG(st.st_mode) && (uintmax_t)st.st_size > max)
        berth_error_set(err, BERTH_EINPUT, "%s: has %jd bytes, more than the %zu that Berth reads",
                        path, (intmax_t)st.st_size, max);
    else
        bytes =
            read_all(fd, path, S_ISREG(st.st_mode) ? (size_t)st.st_size + 1 : 4096, max, size, err);
    close(fd);
    return bytes;
}

/* ---- out ---- */

typedef int (*writer)(FILE *out, void *arg, struct berth_error *err);

/* Writes to an open descriptor, which it closes. `sync` where the file is to outlive a crash. */
static int fill(int fd, const char *path, bool sync, writer write, void *arg,
                struct berth_error *err)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        system_error(err, path, "write it");
        close(fd);
        return -1;
    }
    int rc = write(out, arg, err);
    if (rc == 0 && (fflush(out) != 0 || (sync && fsync(fd) != 0)))
        rc = system_error(err, path, "write it");
    if (fclose(out) != 0 && rc == 0)
        rc = system_error(err, path, "write it");
    return rc;
}

/* A rename lasts once the directory is on disk; where that cannot be asked for, nothing is lost. */
static void sync_directory(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* Opens a new file beside `path`, hidden, with the mode that the umask leaves; its name in `temp`.
 */
static int open_beside(const char *path, char *temp, size_t size, struct berth_error *err)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) + 1 : 0;
    for (int i = 0; i < 100; i++) {
        int n = snprintf(temp, size, "%.*s.%s.%ld.%d", dir, path, path + dir, (long)getpid(), i);
        if (n < 0 || (size_t)n >= size) {
            errno = ENAMETOOLONG;
            break;
        }
        int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : system_error(err, path, "write it");
    }
    return system_error(err, path, "write it");
}

/* `mode` is the mode that the old file had, -1 for a new one. */
static int replace(const char *path, int mode, writer write, void *arg, struct berth_error *err)
{
    char temp[PATH_MAX];
    int fd = open_beside(path, temp, sizeof(temp), err);
    if (fd < 0)
        return -1;
    int rc = 0;
    if (mode >= 0 && fchmod(fd, (mode_t)mode) != 0) {
        rc = system_error(err, path, "keep its mode");
        close(fd);
    }
    if (rc == 0)
        rc = fill(fd, path, true, write, arg, err);
    if (rc == 0 && rename(temp, path) != 0)
        rc = system_error(err, path, "write it");
    if (rc == 0)
        sync_directory(path);
    else
        unlink(temp);
    return rc;
}

int berth_file_save(const char *path, writer write, void *arg, struct berth_error *err)
{
    char target[PATH_MAX];
    struct stat st;
    if (!strcmp(path, "-")) {
        int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return system_error(err, "standard output", "write to it");
        fflush(stdout);
        return fill(fd, "standard output", false, write, arg, err);
    }
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return berth_error_set(err, BERTH_EINPUT, "%s: is a directory, a file is expected", path);
    if (exists && !S_ISREG(st.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? system_error(err, path, "write it")
                      : fill(fd, path, false, write, arg, err);
    }
    if (exists && !realpath(path, target))
        return system_error(err, path, "write it");
    return replace(exists ? target : path, exists ? (int)(st.st_mode & 0777) : -1, write, arg, err);
}
