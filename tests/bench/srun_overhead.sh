#!/bin/bash
# What the plugin costs an srun that does not use it: pairs of `srun true` without and with the plugin in
# plugstack.conf, alternating, on a cluster that is up. Prints the median difference and its 95 % interval (of
# the median of paired differences, by order statistics: the sign test's interval).
# usage: srun_overhead.sh PLUGIN.so [PAIRS]     needs: tests/cluster/cluster up; root
set -euo pipefail
plugin=${1:?usage: srun_overhead.sh PLUGIN.so [PAIRS]}
pairs=${2:-100}
cluster=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/cluster/cluster
eval "$("$cluster" env)"

# Two plugstack.conf that are renamed into place: copying the plugin each time would time a cold file.
kept=$BERTH_CLUSTER/shared
"$cluster" plugin "$plugin"
cp "$BERTH_CLUSTER/plugstack.conf" "$kept/with"
: >"$kept/without"

one() {
    local start
    cp "$kept/$1" "$kept/next"
    mv "$kept/next" "$BERTH_CLUSTER/plugstack.conf"
    start=$(date +%s%N)
    srun -N1 -n1 true
    echo "$1 $(($(date +%s%N) - start))"
}

# Inside one allocation, so that the step alone is timed; each comes first in every other pair.
measure() {
    local i
    for ((i = 0; i < 5; i++)); do one with; one without; done >/dev/null
    for ((i = 0; i < pairs; i++)); do
        if ((i % 2)); then one with; one without; else one without; one with; fi
    done
}
export -f measure one
export pairs kept BERTH_CLUSTER
sorted() { awk "$1" <<<"$times" | sort -g; }
line() { sed -n "$1p"; }

times=$(salloc -Q -N1 -n1 bash -c measure)
differences=$(sorted '{ t[$1] = $2 } NR % 2 == 0 { print (t["with"] - t["without"]) / 1e6 }')
plain=$(sorted '$1 == "without" { print $2 / 1e6 }' | line $(((pairs + 1) / 2)))
median=$(line $(((pairs + 1) / 2)) <<<"$differences")
low=$(awk "BEGIN { print int($pairs / 2 - 0.98 * sqrt($pairs)) }") # ranks n/2 -+ 1.96 sqrt(n)/2
[ "$low" -ge 1 ] || low=1
printf '%d pairs: srun true %.1f ms; with the plugin %+.2f ms (median; 95 %% interval %+.2f to %+.2f ms)\n' \
    "$pairs" "$plain" "$median" "$(line "$low" <<<"$differences")" "$(line $((pairs + 1 - low)) <<<"$differences")"
awk "BEGIN { exit !($median <= 1) }"
