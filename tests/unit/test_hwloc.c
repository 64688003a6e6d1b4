/*
 * A node's hardware from hwloc XML. Right values: by hand for tests/data/hwloc (the comment in
 * two-gpus.xml says what is where), and readings.json of ../shared/data/hwloc for real machines.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() ((void)0)
#define __lsan_enable() ((void)0)
#endif

static const char *in(const char *folder, const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/%s/%s", getenv("SRCDIR") ?: ".", folder, name);
    return path;
}

static int read_path(const char *path, struct berth_shape *shape, const char **note,
                     struct berth_error *err)
{
    size_t size;
    char *text = cluster_slurp(path, &size, err);

    assert_non_null(text);
    int rc = cluster_read_hwloc("x.xml", text, size, shape, note, err);
    free(text);
    return rc;
}

#ifdef HAVE_HWLOC

/* GPUs are 10de:2330 (class 0302) and 1002:74a1 (class 1200); 1a03:2000 and 1002:515e are not. The
 * nearest NIC is the one behind the same bridge; of eth0 and eth1 the lower bus id. */
static void reads_hardware(void **state)
{
    static const struct berth_gpu gpus[] = {
        {"0000:18:00.0", 1, 0, "0-1", "mlx5_1"},
        {"0000:84:00.0", 0, 1, "2-3", "eth0"},
    };
    static const struct berth_nic nics[] = {
        {"mlx5_0", "0000:05:00.0", 0}, /* not ib0: the OpenFabrics name */
        {"mlx5_1", "0000:17:00.0", 0},
        {"eth0", "0000:83:00.0", 1},
        {"eth1", "0000:83:00.1", 1},
    };
    struct berth_error err = {0};
    struct berth_shape shape;
    const char *note;

    (void)state;
    read_path(in("tests/data/hwloc", "two-gpus.xml"), &shape, &note, &err);
    assert_string_equal(err.text, "");
    assert_null(note);
    assert_int_equal(shape.n_gpus, 2);
    assert_int_equal(shape.n_nics, 4);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(shape.gpus[i].pci, gpus[i].pci);
        assert_int_equal(shape.gpus[i].index, gpus[i].index);
        assert_int_equal(shape.gpus[i].numa, gpus[i].numa);
        assert_string_equal(shape.gpus[i].cpus, gpus[i].cpus);
        assert_string_equal(shape.gpus[i].nic, gpus[i].nic);
    }
    for (int i = 0; i < 4; i++) {
        assert_string_equal(shape.nics[i].name, nics[i].name);
        assert_string_equal(shape.nics[i].pci, nics[i].pci);
        assert_int_equal(shape.nics[i].numa, nics[i].numa);
    }
    berth_shape_clear(&shape);
}

static void says_that_io_is_missing(void **state)
{
    struct berth_error err = {0};
    struct berth_shape shape;
    const char *note;

    (void)state;
    assert_int_equal(read_path(in("tests/data/hwloc", "no-io.xml"), &shape, &note, &err), 0);
    assert_int_equal(shape.n_gpus + shape.n_nics, 0);
    assert_string_equal(
        note, "hwloc lists no I/O devices here, so GPUs and NICs stay unknown; an XML with "
              "them comes from `lstopo --whole-io --of xml` run on the node itself");
    berth_shape_clear(&shape);
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"<system/>", "x.xml: not hwloc XML: it has no <topology> element"},
    {"<topology", "x.xml: not hwloc XML: it has no <topology> element"},
    {"<topology version=\"3.0\"><object type=\"Machine\"/></topology>",
     "x.xml: hwloc XML of version 3, and the hwloc 2 here reads up to version 2; write the file "
     "again in an older format"},
    {"<topology version=\"2.0\">", "x.xml: hwloc cannot read this XML"},
    {"<topology version=\"2.0\"></topology>", "x.xml: hwloc cannot read this XML"},
    {"<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x",
     "x.xml: hwloc cannot read this XML"},
    {"<topology version=\"2.0\"><object type=\"PU\"/></topology>",
     "x.xml: hwloc cannot read this XML"},
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct berth_error err = {0};
        struct berth_shape shape;
        int rc = cluster_read_hwloc("x.xml", bad[i].text, strlen(bad[i].text), &shape, NULL, &err);
        assert_int_equal(rc, -1);
        assert_string_equal(err.text, bad[i].message);
    }
}

/*
 * readings.json: number of GPU devices (ES1000 and BMCs left out), of NICs with a PCI id, and of
 * one GPU the bus id, NUMA node, and nearest NIC (of several equally near the lowest bus id; of the
 * names of one device the OpenFabrics one).
 */
static const struct {
    const char *file;
    int gpus, nics;
    const char *gpu;
    int numa;
    const char *nic;
} real[] = {
    {"aws-p6e-gb200.condensed.v2.xml", 4, 24, "0000:9c:00.0", 1, "rdmap154s0"},
    {"prrte-turin-4gpu.xml", 4, 7, "0000:96:00.0", 6, "mlx5_4"},
    {"prrte-test-topo2.xml", 1, 2, "0000:63:00.0", 3, "mlx5_0"},
    {"flux-corona.xml", 8, 3, "0000:c3:00.0", 1, "mlx5_0"},
    {"flux-sierra.xml", 4, 6, "0035:03:00.0", 8, "mlx5_2"},
    {"llnl-lassen.v1.xml", 4, 6, "0004:04:00.0", 0, "mlx5_0"},
    {"llnl-corona.v2.xml", 4, 3, "0000:73:00.0", 7, "enp3s0f0"},
    {"llnl-tuolumne-mi300a.SPX.v2.xml", 4, 5, "0002:02:00.0", 2, "hsi2"},
    {"llnl-tuolumne-mi300a.CPX.v2.xml", 4, 5, "0003:02:00.0", 3, "hsi3"}, /* 4 devices, 24 parts */
    {"llnl-ulna-arm64.v1.xml", 2, 4, "0000:82:00.0", 1, "mlx5_3"},
    {"ompi-devel09-pci.v2.xml", 0, 3, NULL, 0, NULL}, /* 102b:0532 is a BMC */
    {"uliege-xavier-agx.v2.xml", 0, 0, NULL, 0, NULL},
};

static void reads_real_machines(void **state)
{
    (void)state;
    if (access(in("../shared/data/hwloc", ""), R_OK) != 0) {
        print_message("../shared/data/hwloc is not here: not tested on real machines\n");
        skip();
    }
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        struct berth_error err = {0};
        struct berth_shape shape;
        int g = 0;
        print_message("%s\n", real[i].file);
        read_path(in("../shared/data/hwloc", real[i].file), &shape, NULL, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(shape.n_gpus, real[i].gpus);
        assert_int_equal(shape.n_nics, real[i].nics);
        while (real[i].gpu && g < shape.n_gpus && strcmp(shape.gpus[g].pci, real[i].gpu) != 0)
            g++;
        if (real[i].gpu) {
            assert_true(g < shape.n_gpus);
            assert_int_equal(shape.gpus[g].numa, real[i].numa);
            assert_string_equal(shape.gpus[g].nic, real[i].nic);
        }
        berth_shape_clear(&shape);
    }
}

/* The machine that the test runs on: whatever it has, it must be a shape. */
static void reads_this_machine(void **state)
{
    struct berth_error err = {0};
    struct berth_shape shape;

    (void)state;
    __lsan_disable(); /* libpciaccess 0.17 never frees what pci_get_strings() reads */
    cluster_read_hwloc("live", NULL, 0, &shape, NULL, &err);
    __lsan_enable();
    assert_string_equal(err.text, "");
    assert_int_equal(berth_shape_check(&shape, "shape", &err), 0);
    berth_shape_clear(&shape);
}

/* cluster.h: an XML describes the nodes without a shape whose number of GPUs is its own or unknown.
 */
static void gives_nodes_their_hardware(void **state)
{
    char model[] = "/tmp/berth-test-XXXXXX", xml[4096], bare[4096];
    const char *paths[2] = {model, xml};
    struct berth_error err = {0};
    FILE *out = fdopen(mkstemp(model), "w");

    (void)state;
    fputs("NodeName=n0 Gres=gpu:2\nNodeName=n1 Gres=(null)\nNodeName=n2 \n", out);
    fclose(out);
    strcpy(xml, in("tests/data/hwloc", "two-gpus.xml"));
    strcpy(bare, in("tests/data/hwloc", "no-io.xml"));
    struct cluster *c = cluster_read_files(paths, 2, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(c->nodes[0].shape, 0);
    assert_int_equal(c->nodes[1].shape, -1); /* Slurm says that it has none */
    assert_int_equal(c->nodes[2].shape, 0);
    assert_int_equal(c->nodes[2].gpus, 2);
    cluster_free(c);

    paths[1] = bare; /* what is not in it says nothing */
    c = cluster_read_files(paths, 2, &err);
    assert_int_equal(c->nodes[2].shape, -1);
    assert_int_equal(c->nodes[2].gpus, -1);
    assert_non_null(c->note);
    cluster_free(c);

    out = fopen(model, "w");
    fputs("NodeName=n0 Gres=gpu:8\n", out);
    fclose(out);
    paths[1] = xml;
    assert_null(cluster_read_files(paths, 2, &err));
    assert_non_null(
        strstr(err.text, "it has 2 GPUs, and no node whose hardware is unknown has as many"));
    unlink(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_hardware),
        cmocka_unit_test(says_that_io_is_missing),
        cmocka_unit_test(refuses),
        cmocka_unit_test(reads_real_machines),
        cmocka_unit_test(reads_this_machine),
        cmocka_unit_test(gives_nodes_their_hardware),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void says_that_hwloc_is_missing(void **state)
{
    struct berth_error err = {0};
    struct berth_shape shape;

    (void)state;
    assert_int_equal(read_path(in("tests/data/hwloc", "two-gpus.xml"), &shape, NULL, &err), -1);
    assert_int_equal(err.kind, BERTH_ESYSTEM);
    assert_string_equal(err.text,
                        "x.xml: this Berth was built without hwloc and cannot read hardware");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_that_hwloc_is_missing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
