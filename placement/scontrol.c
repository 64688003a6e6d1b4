/*
 * Runs scontrol and takes its output. It must be safe inside srun: no shell, nothing but our own
 * child is waited for, descriptors are close-on-exec, and whatever happens ends by a deadline.
 */
#include "config.h"

#include "slurm.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)256 << 20)
#define COMPLAINT_MAX 400
#define ARGS_MAX 8

extern char **environ;

enum { OUT, ERR };

struct run {
    pid_t pid;
    int fd[2]; /* our ends of its stdout and stderr, -1 at their end */
    char *out; /* its output so far */
    size_t n_out, room;
    char complaint[COMPLAINT_MAX]; /* the beginning of its stderr */
    size_t n_complaint;
    struct timespec deadline;
    struct berth_error *err;
};

/* ---- starting it ---- */

/* Descriptors above 2, so that placing them on 1 and 2 cannot hit one of them: srun may have closed
 * its own. */
static int open_pipe(int ends[2])
{
    int low[2];

    if (pipe2(low, O_CLOEXEC) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
    close(low[0]);
    close(low[1]);
    if (ends[0] >= 0 && ends[1] >= 0)
        return 0;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return -1;
}

static const char *find_scontrol(void)
{
    const char *named = geteuid() == 0 ? NULL : secure_getenv("BERTH_SCONTROL");

    if (named && *named)
        return named;
#ifdef BERTH_SLURM_BINDIR
    if (access(BERTH_SLURM_BINDIR "/scontrol", X_OK) == 0)
        return BERTH_SLURM_BINDIR "/scontrol";
#endif
    return "scontrol"; /* in PATH */
}

/* Signals as a fresh process has them, whatever srun blocks or ignores. */
static int set_signals(posix_spawnattr_t *attr)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawnattr_setsigmask(attr, &none) || posix_spawnattr_setsigdefault(attr, &all))
        return -1;
    return posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(struct run *r, char *const *argv, int out, int err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc)
        return rc;
    rc = posix_spawnattr_init(&attr);
    if (rc) {
        posix_spawn_file_actions_destroy(&actions);
        return rc;
    }
    rc = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, out, 1);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, err, 2);
    rc = rc ? rc : set_signals(&attr);
    rc = rc ? rc : posix_spawnp(&r->pid, argv[0], &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static int start(struct run *r, char *const *argv)
{
    int out[2], err[2], rc = -1;

    if (open_pipe(out) < 0)
        return berth_error_set(r->err, BERTH_ESYSTEM, "%m");
    if (open_pipe(err) < 0) {
        berth_error_set(r->err, BERTH_ESYSTEM, "%m");
        close(out[0]);
        close(out[1]);
        return -1;
    }
    rc = spawn(r, argv, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    if (!rc) {
        r->fd[OUT] = out[0];
        r->fd[ERR] = err[0];
        return 0;
    }
    close(out[0]);
    close(err[0]);
    return berth_error_set(r->err, BERTH_ESYSTEM, "cannot start %s: %s", argv[0], strerror(rc));
}

/* ---- reading from it ---- */

/* Milliseconds until the deadline, 0 when it has passed. */
static int left(const struct run *r)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    long long ms =
        (r->deadline.tv_sec - now.tv_sec) * 1000LL + (r->deadline.tv_nsec - now.tv_nsec) / 1000000;
    return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

static int grow(struct run *r)
{
    if (r->room - r->n_out > 1)
        return 0;
    if (r->n_out >= OUTPUT_MAX)
        return berth_error_set(r->err, BERTH_EINPUT, "it prints more than 256 MiB");
    size_t room = r->room ? 2 * r->room : 16384;
    char *more = realloc(r->out, room);
    if (!more)
        return berth_error_memory(r->err);
    r->out = more;
    r->room = room;
    return 0;
}

/* Takes what there is on one of its two streams. */
static int take(struct run *r, int stream)
{
    char spare[512];
    char *to = spare;
    size_t room = sizeof spare;

    if (stream == OUT && grow(r))
        return -1;
    if (stream == OUT) {
        to = r->out + r->n_out;
        room = r->room - r->n_out - 1;
    }
    ssize_t n = read(r->fd[stream], to, room);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0) {
        close(r->fd[stream]);
        r->fd[stream] = -1;
        return 0;
    }
    if (stream == OUT) {
        r->n_out += (size_t)n;
        return 0;
    }
    size_t keep = COMPLAINT_MAX - 1 - r->n_complaint;
    keep = keep < (size_t)n ? keep : (size_t)n;
    memcpy(r->complaint + r->n_complaint, spare, keep);
    r->n_complaint += keep;
    return 0;
}

static int late(struct run *r, int seconds)
{
    return berth_error_set(r->err, BERTH_ESYSTEM, "no answer within %d s", seconds);
}

static int read_all(struct run *r, int seconds)
{
    while (r->fd[OUT] >= 0 || r->fd[ERR] >= 0) {
        struct pollfd polled[2] = {{r->fd[OUT], POLLIN, 0}, {r->fd[ERR], POLLIN, 0}};
        int ms = left(r), n = poll(polled, 2, ms);
        if (n < 0 && errno != EINTR)
            return berth_error_set(r->err, BERTH_ESYSTEM, "poll: %m");
        if (n <= 0 && left(r) == 0)
            return late(r, seconds);
        for (int stream = OUT; n > 0 && stream <= ERR; stream++)
            if (polled[stream].revents && take(r, stream))
                return -1;
    }
    return 0;
}

/*
 * Waits for it until the deadline; its status, or 0 when something else has reaped it (srun's
 * SIGCHLD handling may): then the output has to speak for itself. -1 when it is still there.
 */
static int wait_for(struct run *r, int seconds)
{
    int status;

    for (;;) {
        pid_t pid = waitpid(r->pid, &status, WNOHANG);
        if (pid == r->pid) {
            r->pid = 0;
            return status;
        }
        if (pid < 0 && errno != EINTR) {
            r->pid = 0;
            return 0;
        }
        if (left(r) == 0)
            return late(r, seconds);
        poll(NULL, 0, 2); /* both its streams are closed: it is as good as gone */
    }
}

static void stop(struct run *r)
{
    for (int stream = OUT; stream <= ERR; stream++)
        if (r->fd[stream] >= 0)
            close(r->fd[stream]);
    if (r->pid <= 0)
        return;
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* The first line of what it said on stderr, without "scontrol: error:". */
static const char *complaint(struct run *r)
{
    char *text = r->complaint, *colon;

    text[r->n_complaint] = '\0';
    text[strcspn(text, "\n")] = '\0';
    colon = strstr(text, "error: ");
    return colon ? colon + strlen("error: ") : text;
}

static int judge(struct run *r, int status)
{
    const char *why = complaint(r);

    /* where the controller is away, `show topology` complains, prints nothing and succeeds [22.05]
     */
    if (status == 0 && r->n_out == 0 && *why)
        return berth_error_set(r->err, BERTH_ESYSTEM, "no output: %s", why);
    if (status == 0)
        return 0;
    if (WIFSIGNALED(status))
        return berth_error_set(r->err, BERTH_ESYSTEM, "killed by signal %d", WTERMSIG(status));
    return berth_error_set(r->err, BERTH_ESYSTEM, "exit status %d%s%s", WEXITSTATUS(status),
                           *why ? ": " : "", why);
}

static char *run(char *const *argv, int seconds, size_t *size, struct berth_error *err)
{
    struct run r = {.fd = {-1, -1}, .err = err};
    int status = -1;

    clock_gettime(CLOCK_MONOTONIC, &r.deadline);
    r.deadline.tv_sec += seconds;
    if (start(&r, argv) == 0 && read_all(&r, seconds) == 0)
        status = wait_for(&r, seconds);
    stop(&r);
    if (status < 0 || judge(&r, status) || grow(&r)) {
        free(r.out);
        return NULL;
    }
    r.out[r.n_out] = '\0';
    *size = r.n_out;
    return r.out;
}

char *slurm_scontrol(const char *const *args, int seconds, size_t *size, struct berth_error *err)
{
    char *argv[ARGS_MAX + 2] = {(char *)find_scontrol()};
    char command[128] = "scontrol";
    int n = 0;

    for (; args[n] && n < ARGS_MAX; n++) {
        size_t used = strlen(command);
        argv[n + 1] = (char *)args[n]; /* exec does not write to them */
        snprintf(command + used, sizeof command - used, " %s", args[n]);
    }
    char *out = run(argv, seconds, size, err);
    if (!out)
        berth_error_prefix(err, "%s", command);
    return out;
}
