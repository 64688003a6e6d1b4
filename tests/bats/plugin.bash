# What the plugin's bats files share: the cluster with the plugin in it, jobs as an ordinary user, and a
# program that tells what its task got. Sourced; needs BERTH_BUILD, the build's folder.
# shellcheck shell=bash disable=SC2034,SC2154 # bats sets output, status and lines

top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
cluster=$top/tests/cluster/cluster

plugin_up() { # OPTIONS of cluster up
    local build=${BERTH_BUILD:?names the folder of the build} so
    for so in "$build/.libs/spank_berth.so" "$build/lib/berth/spank_berth.so"; do
        [ ! -r "$so" ] || export BERTH_PLUGIN=$so
    done
    "$cluster" up --plugin "${BERTH_PLUGIN:?is not built}" "$@" >/dev/null
    eval "$("$cluster" env)"
    export SLURM_CONF BERTH_CLUSTER shared=$BERTH_CLUSTER/shared
    cat >"$shared/show" <<'END'
#!/bin/bash
# One line: what this task is, to Slurm and to Berth.
printf 'P=%s H=%s' "$SLURM_PROCID" "$SLURMD_NODENAME"
for name in ${SHOW:-RANK LOCAL_RANK WORLD_SIZE NODE_RANK BERTH_MODE}; do
    printf ' %s=%s' "$name" "${!name-unset}"
done
echo
END
    chmod 755 "$shared/show"
    # tasks of a job that is killed leave their files to the next step: start from nothing
    rm -rf /run/berth
}

plugin_down() {
    "$cluster" down
}

# Whatever a test did: no file is left, no node is drained, and the next one finds all nodes idle.
plugin_settled() {
    local i
    for ((i = 0; i < 100; i++)); do
        [ "$(squeue -h | wc -l)" = 0 ] && [ "$(sinfo -h -N -t idle -o %N | wc -l)" = "$(sinfo -h -N -o %N | wc -l)" ] &&
            [ -z "$(ls -A /run/berth 2>/dev/null)" ] && break
        sleep 0.1
    done
    [ -z "$(sinfo -h -R)" ] || { sinfo -R; return 1; }
    [ -z "$(ls -A /run/berth 2>/dev/null)" ] || { ls -la /run/berth; return 1; }
    [ "$(squeue -h | wc -l)" = 0 ] || { squeue; return 1; }
}

# in_job SALLOC-OPTIONS... -- SCRIPT: runs the script as nobody in an allocation; output in $output.
in_job() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    printf '%s\n' "$2" >"$shared/script"
    chmod 644 "$shared/script"
    run timeout 120 "$cluster" exec --as nobody env -u BERTH salloc -Q "${options[@]}" bash "$shared/script"
}

ten=(-N10 -n10 --gres=gpu:8) # all of cluster T, one task per node

# The lines of $output that `show` wrote, in the order of PROCID.
shown() { grep '^P=' <<<"$output" | sort -t= -k2n; }
# column NAME: that variable of each task, in the order of PROCID, on one line.
column() { shown | sed "s/.* $1=\([^ ]*\).*/\1/" | xargs; }
# by_rank NAME: the same in the order of RANK.
by_rank() { grep '^P=' <<<"$output" | sed "s/.*RANK=\([0-9]*\).*/\1 &/" | sort -n | sed "s/.* $1=\([^ ]*\).*/\1/" | xargs; }
said() { grep -c '^berth: \|: berth: ' <<<"$output" || true; }

expect_status() { [ "$status" = "$1" ] || { echo "status $status, not $1: $output"; return 1; }; }
expect() { [ "$1" = "$2" ] || { printf "'%s'\nis not\n'%s'\n%s\n" "$1" "$2" "$output"; return 1; }; }
expect_has() { grep -qF -- "$1" <<<"$output" || { printf "no '%s' in\n%s\n" "$1" "$output"; return 1; }; }
expect_lacks() { ! grep -qF -- "$1" <<<"$output" || { printf "'%s' is in\n%s\n" "$1" "$output"; return 1; }; }

# How often a list of nodes of cluster T changes its leaf; 2 is the least for all three.
leaf_changes() {
    local node leaf last='' n=-1
    for node in $1; do
        case $node in n00 | n03 | n06) leaf=0 ;; n02 | n05) leaf=2 ;; *) leaf=1 ;; esac
        [ "$leaf" = "$last" ] || n=$((n + 1))
        last=$leaf
    done
    echo $n
}
# RANK of every task when Berth has done nothing.
untouched="unset unset unset unset unset unset unset unset unset unset"
