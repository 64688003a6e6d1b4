# Benchmarks: built on request (make tests/bench/bench_map_open), never installed, never part of check.
EXTRA_PROGRAMS += tests/bench/bench_map_open
tests_bench_bench_map_open_SOURCES = tests/bench/bench_map_open.c
tests_bench_bench_map_open_LDADD = libberth-core.la
EXTRA_PROGRAMS += tests/bench/bench_mapper
tests_bench_bench_mapper_SOURCES = tests/bench/bench_mapper.c
tests_bench_bench_mapper_LDADD = libplacement-core.la
