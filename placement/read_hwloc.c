/*
 * A node's GPUs and NICs through the hwloc library, from an XML file or from this machine. GPUs are
 * told by PCI class and vendor, not by hwloc's OS devices: those exist only where hwloc was built
 * with CUDA or ROCm, and their discovery can hang (TOSS-6198), so it is switched off. On XML whose
 * objects lack their sets hwloc 2.9 itself crashes or leaks (fuzz_hwloc; all inside
 * hwloc_topology_load), so XML is read in a child process that hands over the shape as JSON.
 */
#include "config.h"

#include "cluster.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_HWLOC

int cluster_read_hwloc(const char *name, const char *bytes, size_t size, struct berth_shape *shape,
                       const char **note, struct berth_error *err)
{
    (void)bytes, (void)size, (void)shape, (void)note;
    return berth_error_set(err, BERTH_ESYSTEM,
                           "%s: this Berth was built without hwloc and cannot read hardware", name);
}

#else
#include <fcntl.h>
#include <hwloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 20 /* of CPU time; the largest XML known takes a tenth of one */

/* A device and its way to the root. */
struct device {
    hwloc_obj_t pci;
    const char *nic; /* its name as a NIC, NULL for a GPU */
};

struct devices {
    struct device *at;
    int n, room;
};

/* ---- which devices ---- */

static bool is_gpu(hwloc_obj_t pci)
{
    const struct hwloc_pcidev_attr_s *a = &pci->attr->pcidev;
    unsigned base = a->class_id >> 8;

    if (base != 0x03 && base != 0x12) /* display, processing accelerator */
        return false;
    if (a->vendor_id == 0x1002)
        return a->device_id != 0x515e; /* ES1000, a server board's VGA */
    return a->vendor_id == 0x10de;
}

/* The device's name as a NIC: its OpenFabrics name, else its network interface, else NULL. */
static const char *nic_name(hwloc_obj_t pci)
{
    const char *network = NULL;

    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling) {
        if (os->type != HWLOC_OBJ_OS_DEVICE || !os->name)
            continue;
        if (os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
            return os->name;
        if (os->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK && !network)
            network = os->name;
    }
    return network;
}

/* The index that NVML or ROCm SMI gave the GPU when the XML was written; -1 unknown. */
static int driver_index(hwloc_obj_t pci)
{
    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling) {
        int index, end = 0;
        if (os->name &&
            (sscanf(os->name, "nvml%4d%n", &index, &end) == 1 ||
             sscanf(os->name, "rsmi%4d%n", &index, &end) == 1) &&
            index >= 0 && !os->name[end])
            return index;
    }
    return -1;
}

static int compare_bus(const void *x, const void *y)
{
    const struct hwloc_pcidev_attr_s *a = &((const struct device *)x)->pci->attr->pcidev;
    const struct hwloc_pcidev_attr_s *b = &((const struct device *)y)->pci->attr->pcidev;

    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    if (a->bus != b->bus)
        return a->bus < b->bus ? -1 : 1;
    if (a->dev != b->dev)
        return a->dev < b->dev ? -1 : 1;
    return (a->func > b->func) - (a->func < b->func);
}

static int add_device(struct devices *d, hwloc_obj_t pci, const char *nic)
{
    if (d->n == d->room) {
        int room = d->room ? 2 * d->room : 16;
        struct device *more = realloc(d->at, (size_t)room * sizeof *more);
        if (!more)
            return -1;
        d->at = more;
        d->room = room;
    }
    d->at[d->n++] = (struct device){pci, nic};
    return 0;
}

static int find_devices(hwloc_topology_t topology, struct devices *gpus, struct devices *nics,
                        struct berth_error *err)
{
    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(topology, pci));) {
        const char *nic = nic_name(pci);
        if ((is_gpu(pci) && add_device(gpus, pci, NULL)) || (nic && add_device(nics, pci, nic)))
            return berth_error_memory(err);
    }
    if (gpus->n > BERTH_GPUS_MAX || nics->n > BERTH_GPUS_MAX)
        return berth_error_set(err, BERTH_EINPUT,
                               "%d GPUs and %d NICs are more than a node can have", gpus->n,
                               nics->n);
    if (gpus->n)
        qsort(gpus->at, (size_t)gpus->n, sizeof *gpus->at, compare_bus);
    if (nics->n)
        qsort(nics->at, (size_t)nics->n, sizeof *nics->at, compare_bus);
    return 0;
}

/* ---- where they are ---- */

static int depth_of(hwloc_obj_t obj)
{
    int depth = 0;

    while ((obj = obj->parent))
        depth++;
    return depth;
}

/* Depth of the lowest object that both hang under. */
static int common_depth(hwloc_obj_t a, hwloc_obj_t b)
{
    int da = depth_of(a), db = depth_of(b);

    for (; da > db; da--)
        a = a->parent;
    for (; db > da; db--)
        b = b->parent;
    for (; a != b; da--) {
        a = a->parent;
        b = b->parent;
    }
    return da;
}

static const char *nearest_nic(hwloc_obj_t gpu, const struct devices *nics)
{
    const char *best = NULL;
    int deepest = -1;

    for (int i = 0; i < nics->n; i++) { /* in bus order: the lowest wins a tie */
        int depth = common_depth(gpu, nics->at[i].pci);
        if (depth > deepest) {
            deepest = depth;
            best = nics->at[i].nic;
        }
    }
    return best;
}

/*
 * The NUMA node that a device is local to; -1 where there are several with other CPUs each (a
 * device under the whole machine). Of several beside the same CPUs (DRAM, then HBM or persistent
 * memory) it is the lowest.
 */
static int numa_of(hwloc_topology_t topology, hwloc_obj_t pci)
{
    hwloc_obj_t local = hwloc_get_non_io_ancestor_obj(topology, pci), first = NULL, node = NULL;

    while (local && (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
        if (!hwloc_bitmap_isset(local->nodeset, node->os_index) ||
            hwloc_bitmap_iszero(node->cpuset))
            continue;
        if (first && !hwloc_bitmap_isequal(first->cpuset, node->cpuset))
            return -1;
        if (!first || node->os_index < first->os_index)
            first = node;
    }
    return first ? (int)first->os_index : -1;
}

/* Its local CPUs as a list; NULL (and no error) where all of several NUMA nodes' are. */
static char *cpus_of(hwloc_topology_t topology, hwloc_obj_t pci)
{
    hwloc_obj_t local = hwloc_get_non_io_ancestor_obj(topology, pci);
    char *text = NULL;

    if (!local || hwloc_bitmap_iszero(local->cpuset) ||
        (!local->parent && numa_of(topology, pci) < 0) ||
        hwloc_bitmap_list_asprintf(&text, local->cpuset) < 0)
        return NULL;
    return text;
}

static char *bus_id(hwloc_obj_t pci)
{
    const struct hwloc_pcidev_attr_s *a = &pci->attr->pcidev;
    char *text;

    if (asprintf(&text, "%04x:%02x:%02x.%x", (unsigned)a->domain, a->bus, a->dev, a->func) < 0)
        return NULL;
    return text;
}

/* ---- filling the shape ---- */

static int fill_nics(hwloc_topology_t topology, const struct devices *nics,
                     struct berth_shape *shape)
{
    shape->nics = calloc((size_t)nics->n + 1, sizeof *shape->nics);
    for (int i = 0; shape->nics && i < nics->n; i++) {
        struct berth_nic *nic = &shape->nics[shape->n_nics++];
        nic->name = strdup(nics->at[i].nic);
        nic->pci = bus_id(nics->at[i].pci);
        nic->numa = numa_of(topology, nics->at[i].pci);
        if (!nic->name || !nic->pci)
            return -1;
    }
    return shape->nics ? 0 : -1;
}

static int fill_gpus(hwloc_topology_t topology, const struct devices *gpus,
                     const struct devices *nics, struct berth_shape *shape)
{
    shape->gpus = calloc((size_t)gpus->n + 1, sizeof *shape->gpus);
    for (int i = 0; shape->gpus && i < gpus->n; i++) {
        struct berth_gpu *gpu = &shape->gpus[shape->n_gpus++];
        hwloc_obj_t pci = gpus->at[i].pci;
        const char *nic = nearest_nic(pci, nics);
        gpu->pci = bus_id(pci);
        gpu->index = driver_index(pci);
        gpu->numa = numa_of(topology, pci);
        gpu->cpus = cpus_of(topology, pci);
        gpu->nic = nic ? strdup(nic) : NULL;
        if (!gpu->pci || (nic && !gpu->nic))
            return -1;
    }
    return shape->gpus ? 0 : -1;
}

static int fill_shape(hwloc_topology_t topology, struct berth_shape *shape, bool *blind,
                      struct berth_error *err)
{
    struct devices gpus = {0}, nics = {0};
    int result = find_devices(topology, &gpus, &nics, err);

    if (!result && (fill_nics(topology, &nics, shape) || fill_gpus(topology, &gpus, &nics, shape)))
        result = berth_error_memory(err);
    if (!result)
        result = berth_shape_check(shape, "hardware", err);
    *blind = !hwloc_get_next_pcidev(topology, NULL) && !hwloc_get_next_osdev(topology, NULL);
    free(gpus.at);
    free(nics.at);
    return result;
}

/* ---- the topology ---- */

/* Refuses what is no hwloc XML, and the versions that the library here does not read. */
static int check_xml(const char *bytes, size_t size, struct berth_error *err)
{
    const char *tag = memmem(bytes, size, "<topology", 9), *end, *version;

    if (!tag || !(end = memchr(tag, '>', size - (size_t)(tag - bytes))))
        return berth_error_set(err, BERTH_EINPUT, "not hwloc XML: it has no <topology> element");
    version = memmem(tag, (size_t)(end - tag), "version=\"", 9);
    if (version && version[9] >= '3' && version[9] <= '9' &&
        HWLOC_API_VERSION >> 16 < (unsigned)(version[9] - '0'))
        return berth_error_set(err, BERTH_EINPUT,
                               "hwloc XML of version %c, and the hwloc %d here reads up to version "
                               "%d; write the file again in an older format",
                               version[9], HWLOC_API_VERSION >> 16, HWLOC_API_VERSION >> 16);
    return 0;
}

static int load(hwloc_topology_t topology, const char *bytes, size_t size, struct berth_error *err)
{
    static const char *const drivers[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};

    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      drivers[i]);
    if (bytes && size > INT32_MAX - 1)
        return berth_error_set(err, BERTH_EINPUT, "too large");
    if (bytes && hwloc_topology_set_xmlbuffer(topology, bytes, (int)size) < 0)
        return berth_error_set(err, BERTH_EINPUT, "hwloc cannot read this XML");
    if (hwloc_topology_load(topology) < 0)
        return berth_error_set(err, bytes ? BERTH_EINPUT : BERTH_ESYSTEM,
                               bytes ? "hwloc cannot read this XML"
                                     : "hwloc cannot read this machine");
    return 0;
}

/* *blind: it lists no I/O devices at all. */
static int read_here(const char *bytes, size_t size, struct berth_shape *shape, bool *blind,
                     struct berth_error *err)
{
    hwloc_topology_t topology;
    int result;

    if (hwloc_topology_init(&topology) < 0)
        return berth_error_memory(err);
    result = load(topology, bytes, size, err) || fill_shape(topology, shape, blind, err);
    hwloc_topology_destroy(topology);
    return result ? -1 : 0;
}

/* ---- XML, in a child ---- */

/* {"shape": ..., "blind": ...} or {"kind": ..., "error": ...} */
static _Noreturn void child(const char *bytes, size_t size, int out)
{
    const struct rlimit no_core = {0}, cpu = {CHILD_SECONDS, CHILD_SECONDS};
    struct berth_shape shape = {0};
    struct berth_error err = {0};
    bool blind = false;
    json_t *answer;

    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &cpu);
    if (read_here(bytes, size, &shape, &blind, &err))
        answer = json_pack("{s:i,s:s}", "kind", (int)err.kind, "error", err.text);
    else
        answer = json_pack("{s:o,s:b}", "shape", berth_shape_json(&shape), "blind", (int)blind);
    _exit(!answer || json_dumpfd(answer, out, JSON_COMPACT) ? 1 : 0);
}

static int take_answer(const json_t *answer, struct berth_shape *shape, bool *blind,
                       struct berth_error *err)
{
    const json_t *error = json_object_get(answer, "error");

    if (!answer)
        return berth_error_set(err, BERTH_EINPUT,
                               "hwloc crashes or does not end on this XML: its objects contradict "
                               "each other; write the file again with lstopo");
    if (error)
        return berth_error_set(
            err, (enum berth_error_kind)json_integer_value(json_object_get(answer, "kind")), "%s",
            json_string_value(error));
    *blind = json_is_true(json_object_get(answer, "blind"));
    return berth_shape_read(json_object_get(answer, "shape"), "hardware", shape, err);
}

static int read_in_child(const char *bytes, size_t size, struct berth_shape *shape, bool *blind,
                         struct berth_error *err)
{
    int ends[2], status, result;
    json_t *answer;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        return berth_error_set(err, BERTH_ESYSTEM, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL); /* what is buffered must not be written twice */
    pid = fork();
    if (pid == 0)
        child(bytes, size, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return berth_error_set(err, BERTH_ESYSTEM, "cannot fork: %s", strerror(errno));
    }
    answer = json_loadfd(ends[0], 0, NULL);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    result = take_answer(answer, shape, blind, err);
    json_decref(answer);
    return result;
}

int cluster_read_hwloc(const char *name, const char *bytes, size_t size, struct berth_shape *shape,
                       const char **note, struct berth_error *err)
{
    bool blind = false;
    int result;

    *shape = (struct berth_shape){0};
    if (note)
        *note = NULL;
    if (bytes)
        result = check_xml(bytes, size, err) || read_in_child(bytes, size, shape, &blind, err);
    else
        result = read_here(NULL, 0, shape, &blind, err);
    if (result) {
        berth_shape_clear(shape);
        return berth_error_prefix(err, "%s", name);
    }
    if (note && blind)
        *note = "hwloc lists no I/O devices here, so GPUs and NICs stay unknown; an XML with them "
                "comes from `lstopo --whole-io --of xml` run on the node itself";
    return 0;
}

#endif
