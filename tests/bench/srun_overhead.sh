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

# Inside one allocation, so that the step alone is timed.
measure() {
    local i start
    for ((i = 0; i < pairs; i++)); do
        for which in without with; do
            if [ $which = with ]; then "$cluster" plugin "$plugin"; else "$cluster" plugin; fi
            start=$(date +%s%N)
            srun -N1 -n1 true
            echo "$which $(($(date +%s%N) - start))"
        done
    done
}
export -f measure
export plugin pairs cluster
sorted() { awk "$1" <<<"$times" | sort -g; }
line() { sed -n "$1p"; }

times=$(salloc -Q -N1 -n1 bash -c measure)
differences=$(sorted '$1 == "without" { before = $2 } $1 == "with" { print ($2 - before) / 1e6 }')
plain=$(sorted '$1 == "without" { print $2 / 1e6 }' | line $(((pairs + 1) / 2)))
median=$(line $(((pairs + 1) / 2)) <<<"$differences")
low=$(awk "BEGIN { print int($pairs / 2 - 0.98 * sqrt($pairs)) }") # ranks n/2 -+ 1.96 sqrt(n)/2
[ "$low" -ge 1 ] || low=1
printf '%d pairs: srun true %.1f ms; with the plugin %+.2f ms (median; 95 %% interval %+.2f to %+.2f ms)\n' \
    "$pairs" "$plain" "$median" "$(line "$low" <<<"$differences")" "$(line $((pairs + 1 - low)) <<<"$differences")"
awk "BEGIN { exit !($median <= 1) }"
