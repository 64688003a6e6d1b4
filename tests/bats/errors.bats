#!/usr/bin/env bats
# Wrong maps, topologies, models, meshes and traffic: one sentence that says where, the right exit code
# (2 wrong, 1 sound but no), and nothing left behind. Codes are those of `berth --help`.
load berth

# refused CODE REGEX ARGUMENT...: REGEX must match the one line on stderr.
refused() {
    local want=$1 regex=$2
    shift 2
    mkdir -p clean
    must "$want" "$BERTH" "$@"
    is 1 "$(wc -l <err)"
    is 0 "$(wc -c <out)"
    says err "^berth: " "$regex"
    is "" "$(ls clean)"
}

# A mesh or traffic for cluster T, one rank per node.
mesh() {
    local want=$1 regex=$2
    shift 2
    refused "$want" "$regex" map --topology "$T" --slots 1 -o clean/map "$@"
}

# map CODE REGEX SED: the published map tp2,dp2 on a and b (spec.md 1), changed by SED.
map() {
    cat >good.json <<'MAP'
{"berth_map": 1, "world": 4,
 "mesh": {"order": "tp-dp", "axes": [{"name": "tp", "size": 2}, {"name": "dp", "size": 2}]},
 "nodes": [{"name": "a", "ranks": "0-1", "slots": "0-1"},
           {"name": "b", "ranks": "2-3", "slots": "0-1"}],
 "hash": "sha256:f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87"}
MAP
    must 0 "$BERTH" show good.json
    sed "$3" good.json >bad.json
    refused "$1" "bad\.json: .*$2" show bad.json --svg clean/svg
}

# topology REGEX LINE...: a topology.conf of these lines.
topology() {
    local regex=$1
    shift
    printf '%s\n' "$@" >bad.conf
    refused 2 "$regex" topo bad.conf --svg clean/svg
    refused 2 "$regex" map --topology bad.conf --slots 1 --mesh dp -o clean/map
}

@test "map: another version" { map 2 'version 2' 's/"berth_map": 1/"berth_map": 2/'; }
@test "map: a key that a reader must know" { map 2 'must_fly' 's/"world"/"must_fly": 1, "world"/'; }
@test "map: a rank twice" { map 2 'nodes\[1\]\.ranks: rank 1 .*nodes\[0\]' 's/"2-3"/"1-2"/'; }
@test "map: a rank missing" { map 2 'rank 3 is on no node' 's/"2-3", "slots": "0-1"/"2", "slots": "0"/'; }
@test "map: axes that do not make the world" { map 2 'make 4 ranks, but world is 8' 's/"world": 4/"world": 8/'; }
@test "map: edited after it was made" { map 2 'hash: ' 's/"2-3", "slots": "0-1"/"2-3", "slots": "1,0"/'; }
@test "map: a hash that is not its own" { map 2 'hash: ' 's/f7c9/f7c8/'; }
@test "map: not JSON, with line and column" { map 2 'line 3, column' 's/"ranks": "0-1",/"ranks": "0-1"/'; }
@test "map: a node twice" { map 2 'nodes\[1\]\.name: a' 's/"name": "b"/"name": "a"/'; }
@test "map: slots out of range" { map 2 'nodes\[1\]\.slots' 's/"2-3", "slots": "0-1"/"2-3", "slots": "0,99999"/'; }
@test "map: fewer slots than ranks" { map 2 'nodes\[1\]\.slots' 's/"2-3", "slots": "0-1"/"2-3", "slots": "0"/'; }
@test "map: ranks beyond all bounds" { map 2 'nodes\[1\]\.ranks' 's/"2-3", "slots": "0-1"/"2-4000000000"/'; }
@test "map: an axis of size zero" { map 2 'axes\[1\]\.size: ' 's/"dp", "size": 2/"dp", "size": 0/'; }
@test "map: an axis twice" { map 2 'axes\[1\]: axis tp is there twice' 's/"name": "dp"/"name": "tp"/'; }
@test "map: a switch under two others" {
    map 2 'switch l is below' '3s/"0-1"}/"0-1", "paths": [{"switches": ["l", "one"]}]}/
        4s/"0-1"}/"0-1", "paths": [{"switches": ["l", "two"]}]}/'
}

@test "map: a file that is not there, a directory, a binary" {
    refused 2 'nofile: .*No such file' show nofile --svg clean/svg
    refused 2 "$PWD: .*directory" show "$PWD" --svg clean/svg
    head -c 3000 "$(readlink -f "$(command -v bash)")" >bin
    refused 2 'bin: ' show bin --svg clean/svg
    refused 2 'bin: ' topo bin --svg clean/svg
    : >empty
    refused 2 'empty: ' show empty --svg clean/svg
}

@test "map: a file that may not be read" {
    [ "$(id -u)" -ne 0 ] || skip "root reads everything"
    : >secret
    chmod 0 secret
    refused 2 'secret: .*[Pp]ermission' show secret
}

@test "show: an axis, rank or node that the map does not have" {
    map 2 'version' 's/"berth_map": 1/"berth_map": 9/'
    refused 2 "no axis 'pp'" show good.json --axis pp
    refused 2 '0 to 3' show good.json --rank 4
    refused 2 "no node 'c'" show good.json --node c
    refused 2 '.' show good.json --rank 1 --node a
}

@test "topology: a cycle of switches" {
    topology 'bad\.conf:[12]: switch [ab]' 'SwitchName=a Switches=b' 'SwitchName=b Switches=a'
}
@test "topology: a switch under two others" {
    topology 'bad\.conf:3: switch l ' 'SwitchName=l Nodes=n1' 'SwitchName=a Switches=l' 'SwitchName=b Switches=l'
}
@test "topology: a bracket that is not closed" { topology 'bad\.conf:2: .*column' '# T' 'SwitchName=l Nodes=n[1-'; }
@test "topology: a range that runs backwards" { topology 'bad\.conf:1: ' 'SwitchName=l Nodes=n[5-2]'; }
@test "topology: a range beyond all bounds" { topology 'bad\.conf:1: ' 'SwitchName=l Nodes=n[0-99999999]'; }
@test "topology: an unknown key" { topology 'bad\.conf:1' 'SwitchName=l Nodess=n1'; }
@test "topology: no topology at all" { topology 'bad\.conf: ' 'hello world'; }

@test "model: another version, a negative number, an unknown leaf" {
    echo '{"berth_cluster": 2}' >bad.conf
    refused 2 'bad\.conf: .*berth_cluster' topo bad.conf
    echo '{"berth_cluster": 1, "nodes": [{"names": "n[1-2]", "gpus": -3}]}' >bad.conf
    refused 2 'bad\.conf: nodes\[0\]\.gpus' topo bad.conf
    echo '{"berth_cluster": 1, "defaults": {"node": {"rate": "fast"}}}' >bad.conf
    refused 2 'bad\.conf: defaults\.node\.rate' topo bad.conf
    echo '{"berth_cluster": 1, "switches": [{"name": "l"' >bad.conf
    refused 2 'bad\.conf: ' topo bad.conf
}

@test "mesh: smaller and larger than the nodes, with both numbers" {
    mesh 1 '8 ranks.* 10' --mesh dp8
    mesh 1 '12 ranks.* 10' --mesh dp12
}
@test "mesh: sizes that do not divide what is there" { mesh 1 '3.* 10' --mesh dp3,pp; }
@test "mesh: two axes without a size" { mesh 2 'dp and pp' --mesh dp,pp; }
@test "mesh: an axis twice" { mesh 2 'dp stands twice' --mesh dp5,dp2; }
@test "mesh: size zero" { mesh 2 "'dp0'" --mesh dp0; }
@test "mesh: a size beyond all bounds" { mesh 2 'dp99999999999' --mesh dp99999999999; }
@test "mesh: a number without a name" { mesh 2 "'10'" --mesh 10; }
@test "mesh: nothing" { mesh 2 . --mesh ''; }
@test "mesh: a derived axis that does not divide" { mesh 2 'ep .*3.* 10' --mesh dp10,ep3@dp; }
@test "mesh: tp larger than a node" { mesh 1 'tp2 does not fit into a node, which has 1 slot' --mesh tp2,dp5; }

@test "traffic: an axis that the mesh does not have" { mesh 2 "'ep'" --mesh dp10 --traffic ep:allreduce:1MB; }
@test "traffic: an unknown collective" { mesh 2 "'broadcast'" --mesh dp10 --traffic dp:broadcast:1MB; }
@test "traffic: an unknown unit" { mesh 2 "'1MX'" --mesh dp10 --traffic dp:allreduce:1MX; }
@test "traffic: a share above one" { mesh 2 'traffic item' --mesh dp10 --traffic dp:allreduce:1MB:1:1.5; }

@test "nodes: a bracket that is not closed" { mesh 2 'nodes: column' --mesh dp10 --nodes 'n[00-0'; }
@test "nodes: a node twice" { mesh 2 'n00 twice' --mesh dp3 --nodes n00,n01,n00; }
@test "nodes: one that is not in the topology" { mesh 2 'node n10 .*t\.topology\.conf' --mesh dp --nodes 'n[00-10]'; }

@test "usage: what is missing or unknown" {
    refused 2 'no mesh' map --topology "$T" --slots 1
    refused 2 '--slots N' map --topology "$T" --mesh dp10
    refused 2 'no nodes' map --mesh dp10
    refused 2 "'--nix'" map --nix
    refused 2 "'-x'" topo -x
    refused 2 "'--mesh' needs a value" map --mesh
    refused 2 "'--json=1' takes no value" map --json=1
    refused 2 "'nix'" nix
    mesh 2 "'xml'" --mesh dp10 --format xml
    mesh 2 "'best'" --mesh dp10 --method best
    mesh 2 '1 to 4096' --mesh dp10 --slots 0
}

@test "output: a directory that is not there, a full disk" {
    refused 2 'clean/none/map' map --topology "$T" --slots 1 --mesh dp10 -o clean/none/map
    refused 2 'No space left' map --topology "$T" --slots 1 --mesh dp10 -o /dev/full
    [ -c /dev/full ]
    for command in "map --topology $T --slots 1 --mesh dp10 -q" "topo $T" "topo $T --json" "--help"; do
        code=0
        # shellcheck disable=SC2086
        "$BERTH" $command >/dev/full 2>err || code=$?
        is 2 $code
        is 1 "$(wc -l <err)"
        says err 'No space left'
    done
}

@test "output: the old file stays when the new one is refused" {
    echo old >map.json
    must 1 "$BERTH" map --topology "$T" --slots 1 --mesh dp8 -o map.json
    is old "$(cat map.json)"
}

# hwloc 2.9 crashes on objects without complete_cpuset; another version may read it or refuse it. Either is
# an answer, and the command's own end by a signal (over 128) is not.
@test "an hwloc XML that hwloc itself crashes on" {
    sed 's/ complete_cpuset="[^"]*"//g' "$BATS_TEST_DIRNAME/../data/hwloc/two-gpus.xml" >bad.xml
    run "$BERTH" topo bad.xml
    [ "$status" = 0 ] || { [ "$status" = 2 ] && [[ $output == *"bad.xml: hwloc"* ]] && [ "${#lines[@]}" = 1 ]; }
}
