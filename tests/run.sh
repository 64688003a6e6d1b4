#!/bin/bash
# Everything that CI runs: packages, a build with warnings as errors, unit tests plain and under
# sanitizers, a minute of fuzzing, the installed tree, the command line, and the plugin on a real Slurm
# cluster. Closes with "N passed, N failed, N skipped". As root; --no-cluster leaves out what needs root.
set -uo pipefail
shopt -s extglob
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
top=$PWD
logs=$top/build/test-logs
cluster=$top/tests/cluster/cluster
passed=0 failed=0 skipped=0
with_cluster=yes
[ "${1:-}" != --no-cluster ] || with_cluster=no
[ "$(id -u)" = 0 ] || with_cluster=no
mkdir -p "$logs"

say() { printf '\n== %s (%ds)\n' "$*" "$SECONDS"; }

# check NAME COMMAND...: one test that is a command; its output is shown when it fails.
check() {
    local name=$1 log
    log=$logs/$(tr ' /' '__' <<<"$1").log
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name (exit $?)"
        tail -n 200 "$log"
        failed=$((failed + 1))
        return 1
    fi
}

skip() {
    echo "skip $1: $2"
    skipped=$((skipped + 1))
}

# Adds what automake's test driver counted, and shows the log of each failure.
count_unit_tests() {
    local dir=$1 log counts
    while IFS= read -r log; do
        counts=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
        passed=$((passed + ${counts:-1}))
        if grep -q '^\[  SKIPPED \] [0-9]' "$log"; then
            skipped=$((skipped + $(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)))
        fi
    done < <(grep -lE '^:test-result: PASS' "$dir"/tests/*/*.trs | sed 's/\.trs$/.log/')
    while IFS= read -r log; do
        echo "FAIL ${log#"$dir/"}"
        cat "$log"
        failed=$((failed + 1))
    done < <(grep -lE '^:test-result: (FAIL|ERROR)' "$dir"/tests/*/*.trs | sed 's/\.trs$/.log/')
}

# unit DIRECTORY CONFIGURE-ARGUMENTS: builds and runs the unit tests.
unit() {
    local dir=$top/build/$1
    shift
    mkdir -p "$dir"
    check "configure ${dir##*/}" sh -c "cd '$dir' && '$top/configure' $*" || return
    check "build ${dir##*/}" make -C "$dir" -j"$(nproc)" all || return
    rm -f "$dir"/tests/*/*.trs
    make -C "$dir" -j"$(nproc)" check >"$logs/check-${dir##*/}.log" 2>&1
    ls "$dir"/tests/*/*.trs >/dev/null 2>&1 || { cat "$logs/check-${dir##*/}.log"; failed=$((failed + 1)); return; }
    count_unit_tests "$dir"
}

# bats FILE...: each file's TAP, counted; failures are printed as they are.
run_bats() {
    local tap
    tap=$logs/$(basename "$1" .bats).tap
    bats --tap "$1" >"$tap" 2>&1
    local status=$?
    passed=$((passed + $(grep '^ok ' "$tap" | grep -cv '# skip')))
    skipped=$((skipped + $(grep -c '^ok .*# skip' "$tap")))
    grep '^ok .*# skip' "$tap"
    local bad
    bad=$(grep -c '^not ok ' "$tap")
    failed=$((failed + bad))
    if [ "$status" != 0 ]; then
        [ "$bad" -gt 0 ] || failed=$((failed + 1))
        echo "FAIL $1"
        grep -v '^ok ' "$tap"
    else
        echo "ok   $(basename "$1"): $(grep -c '^ok ' "$tap") tests"
    fi
}

fuzz() {
    local dir=$top/build/fuzz target name
    mkdir -p "$dir"
    check "configure fuzz" sh -c "cd '$dir' && '$top/configure' CC=clang --enable-fuzzers --enable-sanitizers" || return
    check "build fuzz" make -C "$dir" -j"$(nproc)" fuzzers || return
    local targets=("$dir"/tests/fuzz/fuzz_!(*.*))
    for target in "${targets[@]}"; do
        name=${target##*/fuzz_}
        mkdir -p "$dir/corpus/$name"
        check "fuzz $name" "$target" -max_total_time=$((60 / ${#targets[@]} + 1)) -rss_limit_mb=2048 -timeout=10 \
            -artifact_prefix="$logs/" "$dir/corpus/$name" "$top/tests/fuzz/corpus/$name"
    done
}

# A program of a user's, built against what `make install` put down.
installed() {
    local stage=$logs/stage
    rm -rf "$stage"
    check "make install DESTDIR" make -C "$top/build/plain" -s install DESTDIR="$stage" || return
    check "a program links by pkg-config" sh -c "
        printf '#include <berth.h>\n#include <stdio.h>\nint main(void){puts(berth_version());return 0;}\n' >'$stage/u.c'
        prefix=$stage/usr/local
        flags=\$(PKG_CONFIG_PATH=\$prefix/lib/pkgconfig pkg-config --define-variable=prefix=\$prefix --cflags --libs berth)
        cc '$stage/u.c' \$flags -o '$stage/u' && LD_LIBRARY_PATH=\$prefix/lib '$stage/u'"
    check "exported symbols" "$top/tests/unit/exports.sh" "$stage/usr/local/lib/libberth.so"
    check "the plugin exports SPANK's symbols only" "$top/tests/unit/plugin_exports.sh" "$stage/usr/local/lib/berth/spank_berth.so"
}

plain_machine() { # what is left without Slurm, MPI, CUDA and hwloc
    local dir=$top/build/bare
    mkdir -p "$dir"
    check "configure bare" sh -c "cd '$dir' && '$top/configure' --enable-werror --without-slurm --without-mpi --without-cuda --without-nccl --without-pmix --without-hwloc" || return
    check "build bare" make -C "$dir" -j"$(nproc)" all
}

say "packages"
contrib/packages.sh install test || { echo "packages are missing"; echo "0 passed, 1 failed"; exit 1; }
check "autogen" ./autogen.sh || { echo "$passed passed, $failed failed"; exit 1; }
check "shell scripts" sh -c 'shellcheck -S warning contrib/*.sh tests/*.sh tests/cluster/cluster tests/cluster/*.sh tests/fuzz/*.sh tests/unit/*.sh tests/bench/*.sh'
say "build and unit tests"
unit plain --enable-werror
say "unit tests under AddressSanitizer and UBSan"
unit sanitized --enable-werror --enable-sanitizers
say "fuzzers"
fuzz
say "without the optional parts"
plain_machine
say "installed tree"
installed
say "make distcheck"
check "make distcheck" make -C "$top/build/plain" -s -j"$(nproc)" distcheck
say "the command line"
export PATH=$top/build/plain:$PATH BERTH_BUILD=$top/build/plain
for file in tests/bats/*.bats; do
    grep -q '^# needs: cluster' "$file" && continue
    run_bats "$file"
done
say "on a Slurm cluster"
if [ $with_cluster = yes ]; then
    trap '"$cluster" down' EXIT
    for file in tests/bats/*.bats; do
        grep -q '^# needs: cluster' "$file" && run_bats "$file"
    done
else
    skip "the cluster's tests" "they need root (network namespaces)"
fi
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
