/*
 * --berth=VALUE and the plugin's arguments. Right values: the key list of the specification (design
 * 6, this version's keys) and the mesh arithmetic by hand, beside each case.
 */
#include "../../spank/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define KEYS "there are order=, traffic=, map=, mode=, override=, strict, report, off, help"

static const struct {
    const char *value;
    const char *mesh, *order, *traffic, *map;
    int fixed;
    bool open;
    enum options_mode mode;
    bool strict, report, override_slurm, off, help;
} good[] = {
    {"tp8,pp2,dp5", "tp8,pp2,dp5", .fixed = 80},
    {"tp8,pp2,dp", "tp8,pp2,dp", .fixed = 16, .open = true},
    {"dp", "dp", .fixed = 1, .open = true},
    {"tp=8,strict,dp=4,report", "tp=8,dp=4", .fixed = 32, .strict = true, .report = true},
    {"tp2,dp,order=dp-tp", "tp2,dp", "dp-tp", .fixed = 2, .open = true},
    /* a derived axis divides another and does not multiply: 2 * (what is left) */
    {"tp2,dp,ep4@dp", "tp2,dp,ep4@dp", .fixed = 2, .open = true},
    {"dp10,ep5@dp", "dp10,ep5@dp", .fixed = 10},
    {"dp5,pp2,traffic=dp:allreduce:8MB+pp:p2p:64KB:4", "dp5,pp2",
     .traffic = "dp:allreduce:8MB+pp:p2p:64KB:4", .fixed = 10},
    {"dp8,mode=layout", "dp8", .fixed = 8, .mode = MODE_LAYOUT},
    {"dp8,mode=remap,override=slurm", "dp8", .fixed = 8, .mode = MODE_REMAP,
     .override_slurm = true},
    {"map=/home/u/map.json,strict", .map = "/home/u/map.json", .strict = true},
    {"off", .off = true},
    {"help", .help = true},
};

static bool same(const char *a, const char *b)
{
    return (!a && !b) || (a && b && !strcmp(a, b));
}

static void reads_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct options o;
        struct berth_error err = {0};
        if (options_parse(good[i].value, &o, &err))
            fail_msg("%s: %s", good[i].value, err.text);
        if (!same(o.mesh, good[i].mesh) || !same(o.order, good[i].order) ||
            !same(o.map, good[i].map) || !same(o.traffic, good[i].traffic) ||
            o.fixed != good[i].fixed || o.open != good[i].open || o.mode != good[i].mode ||
            o.strict != good[i].strict || o.report != good[i].report ||
            o.override_slurm != good[i].override_slurm || o.off != good[i].off ||
            o.help != good[i].help)
            fail_msg("%s: read wrongly (fixed %d)", good[i].value, o.fixed);
        options_clear(&o);
    }
}

static const struct {
    const char *value, *message;
} bad[] = {
    {"", "--berth: an empty item; write a mesh, as in --berth=tp8,dp4"},
    {"tp8,,dp4", "--berth: an empty item; write a mesh, as in --berth=tp8,dp4"},
    {"strict", "--berth: no mesh; write the axes and their sizes, as in --berth=tp8,dp4"},
    /* keys of later versions are not known to this one */
    {"tp8,bind=gpu", "--berth: unknown key 'bind='; " KEYS},
    {"tp8,model=llama3-70b", "--berth: unknown key 'model='; " KEYS},
    {"tp8,check", "--berth: unknown key 'check'; " KEYS},
    {"tp8,mode=fast", "--berth: mode=fast: write auto, layout or remap"},
    {"tp8,override=pmi", "--berth: override=pmi: only slurm can be overridden"},
    {"tp8,order=", "--berth: order= needs a value"},
    {"tp8,order=tp,order=tp", "--berth: order= is given twice"},
    {"map=/m,dp4", "--berth: map= brings its own mesh; leave out the axes, order= and traffic="},
    {"tp8,-dp", "--berth: '-dp' is neither an axis, as tp8, nor a key; " KEYS},
};

static void refuses_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct options o;
        struct berth_error err = {0};
        assert_int_equal(options_parse(bad[i].value, &o, &err), -1);
        assert_string_equal(err.text, bad[i].message);
        assert_int_equal(err.kind, BERTH_EINPUT);
    }
}

static void refuses_bad_meshes_and_traffic(void **state)
{
    static const char *const values[] = {
        "tp0",
        "tp8,tp2",
        "tp,dp",
        "dp9999999999",
        "tp8,order=tp-xx",
        "dp8,traffic=dp:shout:8MB",
        "ep5@dp",
        "dp,ep5@xx",
        "dp,ep0@dp",
        "dp8,traffic=tp:allreduce:8MB",
        "dp,ep99999999@dp,x99999999@dp",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct options o;
        struct berth_error err = {0};
        if (!options_parse(values[i], &o, &err))
            fail_msg("%s was taken", values[i]);
        assert_int_equal(strncmp(err.text, "--berth: ", 9), 0);
        assert_null(o.mesh);
    }
}

static void refuses_long_values(void **state)
{
    char *value = malloc(OPTIONS_VALUE_MAX + 2);
    struct options o;
    struct berth_error err;

    (void)state;
    memset(value, 'a', OPTIONS_VALUE_MAX + 1);
    value[OPTIONS_VALUE_MAX + 1] = 0;
    assert_int_equal(options_parse(value, &o, &err), -1);
    assert_string_equal(err.text, "--berth: a value of more than 8192 characters");
    free(value);
}

/* ---- plugstack.conf ---- */

static char complaint[256];
static int complaints;

static void keep(const char *sentence)
{
    strcpy(complaint, sentence);
    complaints++;
}

static void reads_site(void **state)
{
    char *argv[] = {"topology=/etc/slurm/topology.conf", "model=/etc/berth.json", "dir=/run/b",
                    "ports=21000-22000"};
    struct site site;

    (void)state;
    complaints = 0;
    site_parse(4, argv, &site, keep);
    assert_int_equal(complaints, 0);
    assert_string_equal(site.topology, "/etc/slurm/topology.conf");
    assert_string_equal(site.model, "/etc/berth.json");
    assert_string_equal(site.dir, "/run/b");
    assert_int_equal(site.port_low, 21000);
    assert_int_equal(site.port_high, 22000);
}

static void site_defaults_stay(void **state)
{
    static const struct {
        char *argument;
        const char *sentence;
    } wrong[] = {
        {"dir=run/b", "plugstack.conf: 'dir=run/b' needs an absolute path; it is ignored"},
        {"dir=", "plugstack.conf: 'dir=' needs an absolute path; it is ignored"},
        {"topology=x", "plugstack.conf: 'topology=x' needs an absolute path; it is ignored"},
        {"ports=80-90",
         "plugstack.conf: 'ports=80-90' needs LOW-HIGH within 1024-65535; it is ignored"},
        {"ports=3000-2000",
         "plugstack.conf: 'ports=3000-2000' needs LOW-HIGH within 1024-65535; it is ignored"},
        {"ports=3000",
         "plugstack.conf: 'ports=3000' needs LOW-HIGH within 1024-65535; it is ignored"},
        {"colour=red", "plugstack.conf: 'colour=red' is not known; there are topology=, model=, "
                       "dir=, ports=; it is ignored"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *argv[] = {wrong[i].argument};
        struct site site;
        complaints = 0;
        site_parse(1, argv, &site, keep);
        assert_int_equal(complaints, 1);
        assert_string_equal(complaint, wrong[i].sentence);
        assert_null(site.topology);
        assert_null(site.model);
        assert_string_equal(site.dir, "/run/berth");
        /* outside Linux's ephemeral ports, 32768 to 60999 (ip-sysctl: ip_local_port_range) */
        assert_int_equal(site.port_low, 20000);
        assert_int_equal(site.port_high, 28999);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_values),
        cmocka_unit_test(refuses_values),
        cmocka_unit_test(refuses_bad_meshes_and_traffic),
        cmocka_unit_test(refuses_long_values),
        cmocka_unit_test(reads_site),
        cmocka_unit_test(site_defaults_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
