#!/bin/bash
# Berth in one command, on a fresh Debian machine: installs what is missing, builds, makes a Slurm
# cluster of ten nodes under three switches out of network namespaces, runs the same training step in
# Slurm's own order, sorted by switch, and with --berth, and prints the step times beside the predicted
# ones. Without root it maps the same job offline and says so. Everything it starts, it stops.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$PWD/build/quickstart
out=$PWD/build/quickstart-results
cluster=tests/cluster/cluster

say() { printf '\n== %s\n' "$*"; }

case ${1:-} in
'') ;;
--clean) rm -rf "$build" "$out"; exit 0 ;;
*) echo "usage: contrib/quickstart.sh [--clean]" >&2; exit 2 ;;
esac

root=yes
[ "$(id -u)" = 0 ] || root=no
if [ $root = yes ]; then
    say "packages"
    contrib/packages.sh install run
elif ! (contrib/packages.sh install build); then
    echo "quickstart: ask root to run: contrib/packages.sh install run" >&2
    exit 1
fi

say "building in ${build#"$PWD/"}"
mkdir -p "$build" "$out"
[ -x configure ] || ./autogen.sh >"$out/autogen.log" 2>&1 || { cat "$out/autogen.log"; exit 1; }
(cd "$build" && { [ -e Makefile ] || ../../configure --prefix="$build/install" >configure.log 2>&1 || { tail -n 20 configure.log; exit 1; }; } &&
    sed -n '/^berth [0-9]/,$p' configure.log && { make -j"$(nproc)" >make.log 2>&1 || { tail -n 40 make.log; exit 1; }; })

say "offline: two rings of five and a pipeline of two on ten nodes, from files alone"
cat >"$out/topology.conf" <<'END'
SwitchName=leaf0 Nodes=n[00,03,06]
SwitchName=leaf1 Nodes=n[01,04,07-09]
SwitchName=leaf2 Nodes=n[02,05]
SwitchName=spine Switches=leaf[0-2]
END
cat >"$out/rates.json" <<'END'
{"berth_cluster": 1, "defaults": {"node": {"rate": 50e6}, "switch": {"uplink": 25e6}}}
END
"$build/berth" map --topology "$out/topology.conf" --cluster "$out/rates.json" --slots 1 --mesh dp5,pp2 \
    --traffic dp:allreduce:8MB,pp:p2p:64KB:4 -o "$out/offline.map.json"
"$build/berth" show "$out/offline.map.json" >"$out/offline.txt"
"$build/berth" show "$out/offline.map.json" --cluster "$out/rates.json" --svg "$out/offline.svg"
echo "wrote ${out#"$PWD/"}/offline.map.json, offline.txt and offline.svg; the program is ${build#"$PWD/"}/berth"

if [ $root = no ]; then
    say "not root: that was the offline part. As root this script also runs it on a Slurm cluster."
    exit 0
fi

say "a Slurm cluster on this machine"
trap '$cluster down' EXIT
$cluster up >"$out/cluster.log" || { cat "$out/cluster.log"; exit 1; }
echo "ten nodes: leaf0 = n00,n03,n06; leaf1 = n01,n04,n07,n08,n09; leaf2 = n02,n05"

say "T1: one data-parallel ring of ten. T2: two rings of five and a pipeline of two. About three minutes."
BERTH_BUILD=$build tests/cluster/compare --out "$out" --pairs 5 T1 T2 | tee "$out/result.txt"
echo
echo "name: Slurm's own order. topology: nodes sorted by switch. Pictures: ${out#"$PWD/"}/T1.svg, T2.svg"
