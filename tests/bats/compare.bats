#!/usr/bin/env bats
# needs: cluster
# The gain on the fixed cases T1 and T2 of spec.md 6, two alternations each: T1 against name order, T2
# against topology order. By hand 2.83 and 2.11. tests/soak.sh runs five pairs of every case and asks 1.9 of
# T2; two pairs on a machine that may be busy are asked for less.

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

@test "T2: at least 1.7 times faster than topology order" {
    run measured T2 topology
    awk "BEGIN { exit !(${output:-0} >= 1.7) }"
}

@test "all twelve runs ended, and no map file is left" {
    [ "$(wc -l <"$BATS_FILE_TMPDIR/runs.jsonl")" = 12 ]
    run bash -c "ls /run/berth 2>/dev/null | wc -l"
    [ "$output" = 0 ]
}
