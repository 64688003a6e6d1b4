/*
 * How long a large map takes to open (read, check, hash), and how much memory:
 *     bench_map_open [NODES [RANKS_PER_NODE [TIMES]]]
 * cpu_ms is the same without what other processes took from this one. The map is made here: 16,384
 * nodes of 8 GPUs, shuffled, under leaves of 32 and a spine. Peak RSS is that of a child that opens
 * it once, less that of a child that does not.
 */
#include "error.h"
#include "map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int die(const struct berth_error *err)
{
    fprintf(stderr, "bench_map_open: %s\n", err->text);
    exit(2);
}

static int add_shape(struct berth_map *map, int gpus, struct berth_error *err)
{
    char text[8192] = "{\"gpus\": [";
    for (int i = 0; i < gpus && i < 64; i++) {
        size_t used = strlen(text);
        snprintf(
            text + used, sizeof(text) - used,
            "%s{\"pci\": \"0000:%02x:00.0\", \"index\": %d, \"numa\": %d, \"cpus\": \"%d-%d\"}",
            i ? ", " : "", 16 + i, i, i / 4, 16 * i, 16 * i + 15);
    }
    strcat(text, "]}");
    struct berth_shape shape;
    json_t *json = json_loads(text, 0, NULL);
    if (berth_shape_read(json, "shape", &shape, err))
        die(err);
    json_decref(json);
    return berth_map_append_shape(map, &shape);
}

/* Nodes take consecutive blocks of ranks; which node takes which is shuffled by a fixed generator.
 */
static int *shuffled(int n)
{
    int *order = calloc(n, sizeof(int));
    uint64_t state = 88172645463325252u;
    for (int i = 0; order && i < n; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int k = (int)(state % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
    return order;
}

static struct berth_map *make_map(int nodes, int per_node, struct berth_error *err)
{
    struct berth_mesh mesh = {
        .n_axes = 2, .axes = {{.name = "tp", .size = per_node}, {.name = "dp", .size = nodes}}};
    int ranks[64], slots[64], *order = shuffled(nodes);
    struct berth_map *map = berth_mesh_finish(&mesh, err) ? die(err), NULL : berth_map_new(&mesh);
    int shape = add_shape(map, per_node, err);
    for (int i = 0; i < nodes; i++) {
        char name[32], leaf[32];
        snprintf(name, sizeof(name), "gpu%05d", order[i]);
        snprintf(leaf, sizeof(leaf), "leaf%03d", order[i] / 32);
        const char *switches[] = {leaf, "spine"};
        int path = berth_map_add_path(map, NULL, switches, 2);
        for (int k = 0; k < per_node; k++) {
            ranks[k] = i * per_node + k;
            slots[k] = k;
        }
        if (berth_map_add_node(map, name, shape, ranks, slots, per_node, &path, 1, err))
            die(err);
    }
    free(order);
    if (berth_map_finish(map, err))
        die(err);
    return map;
}

static double now_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static double open_once(const char *path, double *cpu)
{
    struct berth_error err;
    double cpu_from = now_ms(CLOCK_PROCESS_CPUTIME_ID), from = now_ms(CLOCK_MONOTONIC);
    struct berth_map *map = berth_map_open(path, &err);
    double to = now_ms(CLOCK_MONOTONIC);
    *cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_from;
    if (!map)
        die(&err);
    berth_map_close(map);
    return to - from;
}

/* Peak RSS in KiB of a fresh process that opens `path`, or does nothing where it is NULL. */
static long peak_kib(const char *self, const char *path)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "--open", path ? path : "-", (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0) {
        fprintf(stderr, "bench_map_open: the measured child failed\n");
        exit(2);
    }
    return usage.ru_maxrss;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--open")) {
        double cpu;
        if (strcmp(argv[2], "-") != 0)
            open_once(argv[2], &cpu);
        return 0;
    }
    int nodes = argc > 1 ? atoi(argv[1]) : 16384, per_node = argc > 2 ? atoi(argv[2]) : 8;
    int times = argc > 3 ? atoi(argv[3]) : 21;
    if (nodes < 1 || per_node < 1 || per_node > 64 || times < 1 || times > 1000) {
        fprintf(stderr, "usage: bench_map_open [NODES [RANKS_PER_NODE (up to 64) [TIMES]]]\n");
        return 2;
    }
    struct berth_error err;
    struct stat st;
    double ms[1000], cpu[1000];
    char path[64];
    snprintf(path, sizeof(path), "bench_map_open.%ld.json", (long)getpid());
    struct berth_map *map = make_map(nodes, per_node, &err);
    if (berth_map_save(map, BERTH_MAP_JSON, path, &err))
        die(&err);
    berth_map_close(map);
    for (int i = 0; i < times; i++)
        ms[i] = open_once(path, &cpu[i]);
    qsort(ms, times, sizeof(double), ascending);
    qsort(cpu, times, sizeof(double), ascending);
    long base = peak_kib("/proc/self/exe", NULL), peak = peak_kib("/proc/self/exe", path);
    stat(path, &st);
    unlink(path);
    /* what is promised of 131,072 ranks: 50 ms and 32 MB */
    int over = nodes == 16384 && per_node == 8 && (ms[times / 2] > 50 || peak - base > 32 * 1024);
    printf("ranks %d nodes %d bytes %jd open_ms %.1f (median of %d, %.1f to %.1f) "
           "cpu_ms %.1f rss_mib %.1f (above a base of %.1f)\n",
           nodes * per_node, nodes, (intmax_t)st.st_size, ms[times / 2], times, ms[0],
           ms[times - 1], cpu[times / 2], (peak - base) / 1024.0, base / 1024.0);
    return over;
}
