# Unit tests (cmocka), named for what they test; tests/run.sh adds the cluster's bats files.
if HAVE_CMOCKA
unit_tests = \
	tests/unit/test_mesh tests/unit/test_map tests/unit/test_map_pack tests/unit/test_sha256 \
	tests/unit/test_hostlist tests/unit/test_cluster tests/unit/test_topology \
	tests/unit/test_model tests/unit/test_hwloc tests/unit/test_slurm tests/unit/test_shared_data \
	tests/unit/test_meshspec tests/unit/test_traffic tests/unit/test_cost tests/unit/test_mapper \
	tests/unit/test_options tests/unit/test_srun_args tests/unit/test_decide tests/unit/test_variables
check_PROGRAMS += $(unit_tests)
endif
AM_TESTS_ENVIRONMENT = SRCDIR=$(abs_top_srcdir); export SRCDIR;
LDADD = libspankcore.la libplacement.la libberth-core.la $(CMOCKA_LIBS) $(HWLOC_LIBS)
