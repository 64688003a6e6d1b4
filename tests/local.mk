# Unit tests (cmocka), the fuzzers' corpora, the exported symbols. tests/run.sh adds what needs a command
# line or a cluster.
if HAVE_CMOCKA
unit_tests = \
	tests/unit/test_mesh tests/unit/test_map tests/unit/test_map_pack tests/unit/test_map_write tests/unit/test_sha256 \
	tests/unit/test_hostlist tests/unit/test_cluster tests/unit/test_topology \
	tests/unit/test_model tests/unit/test_hwloc tests/unit/test_slurm tests/unit/test_shared_data \
	tests/unit/test_meshspec tests/unit/test_traffic tests/unit/test_cost tests/unit/test_mapper \
	tests/unit/test_options tests/unit/test_srun_args tests/unit/test_decide tests/unit/test_variables \
	tests/unit/test_units
endif
fuzz_targets = \
	tests/fuzz/fuzz_map tests/fuzz/fuzz_pack tests/fuzz/fuzz_hostlist tests/fuzz/fuzz_topology \
	tests/fuzz/fuzz_model tests/fuzz/fuzz_nodes tests/fuzz/fuzz_hwloc tests/fuzz/fuzz_counts \
	tests/fuzz/fuzz_meshspec tests/fuzz/fuzz_options tests/fuzz/fuzz_srun_args
check_PROGRAMS += $(unit_tests) $(fuzz_targets)
TESTS = $(unit_tests) tests/fuzz/replay.sh
AM_TESTS_ENVIRONMENT = SRCDIR=$(abs_top_srcdir); export SRCDIR;

tests_unit_test_units_SOURCES = tests/unit/test_units.c step/statistics.c step/statistics.h
LDADD = libspankcore.la libplacement.la libberth-core.la $(CMOCKA_LIBS) $(HWLOC_LIBS)
tests_fuzz_fuzz_map_SOURCES = tests/fuzz/fuzz_map.c $(fuzz_main)
tests_fuzz_fuzz_map_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_pack_SOURCES = tests/fuzz/fuzz_pack.c $(fuzz_main)
tests_fuzz_fuzz_pack_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_hostlist_SOURCES = tests/fuzz/fuzz_hostlist.c $(fuzz_main)
tests_fuzz_fuzz_hostlist_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_topology_SOURCES = tests/fuzz/fuzz_topology.c $(fuzz_main)
tests_fuzz_fuzz_topology_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_model_SOURCES = tests/fuzz/fuzz_model.c $(fuzz_main)
tests_fuzz_fuzz_model_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_nodes_SOURCES = tests/fuzz/fuzz_nodes.c $(fuzz_main)
tests_fuzz_fuzz_nodes_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_hwloc_SOURCES = tests/fuzz/fuzz_hwloc.c $(fuzz_main)
tests_fuzz_fuzz_hwloc_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_counts_SOURCES = tests/fuzz/fuzz_counts.c $(fuzz_main)
tests_fuzz_fuzz_counts_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_meshspec_SOURCES = tests/fuzz/fuzz_meshspec.c $(fuzz_main)
tests_fuzz_fuzz_meshspec_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.c $(fuzz_main)
tests_fuzz_fuzz_options_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_srun_args_SOURCES = tests/fuzz/fuzz_srun_args.c $(fuzz_main)
tests_fuzz_fuzz_srun_args_LDFLAGS = $(fuzz_ldflags)

# libFuzzer brings its own main
if FUZZERS
fuzz_main =
fuzz_ldflags = -fsanitize=fuzzer
else
fuzz_main = tests/fuzz/replay.c
fuzz_ldflags =
endif

# only the fuzzers, without the tests around them
fuzzers: $(fuzz_targets)
.PHONY: fuzzers

include tests/bench/local.mk

EXTRA_DIST += tests/unit/map_fixture.h tests/unit/starve.h tests/unit/cluster_t.h tests/unit/exports.sh tests/unit/plugin_exports.sh
EXTRA_DIST += tests/fuzz/replay.sh tests/fuzz/replay.c tests/fuzz/corpus tests/data tests/bats tests/cluster
