#!/usr/bin/env bats
# needs: cluster
# The gain on the fixed cases T1 and T2 of spec.md 6, two alternations each: T1 against name order, T2
# against topology order. By hand 2.83 and 2.11; five pairs of every case run in tests/soak.sh.

setup_file() {
    export cluster=$BATS_TEST_DIRNAME/../cluster/cluster
    [ "$(id -u)" = 0 ] || skip "needs root"
    "$cluster" up >/dev/null
    BERTH_BUILD=${BERTH_BUILD:?} "$BATS_TEST_DIRNAME/../cluster/compare" --pairs 2 --steps 3 \
        --out "$BATS_FILE_TMPDIR" --orders 'name topology berth' T1 T2 >"$BATS_FILE_TMPDIR/table" 2>&1
    cat "$BATS_FILE_TMPDIR/table" >&3
}

teardown_file() {
    "$cluster" down
}

# measured CASE AGAINST: column 8 of summary.tsv, the median of the pairs' ratios
measured() {
    awk -F'\t' -v case="$1" -v against="$2" '$1 == case && $2 == against { print $8 }' "$BATS_FILE_TMPDIR/summary.tsv"
}

@test "T1: at least 2.5 times faster than Slurm's name order" {
    run measured T1 name
    awk "BEGIN { exit !(${output:-0} >= 2.5) }"
}

@test "T2: faster than topology order by more than half" {
    run measured T2 topology
    awk "BEGIN { exit !(${output:-0} >= 1.5) }"
}

@test "every run had the map's ring order and no file is left" {
    [ "$(wc -l <"$BATS_FILE_TMPDIR/runs.jsonl")" = 12 ]
    run bash -c "ls /run/berth 2>/dev/null | wc -l"
    [ "$output" = 0 ]
}
