#!/usr/bin/env bats
# berth topo: what was read, and that its --json says the same again.
load berth

@test "the tree of cluster T, its leaves and counts" {
    must 0 "$BERTH" topo "$T"
    says out '10 nodes, 4 switches \(3 with nodes\)' '^spine' '^  leaf0 +3 nodes: n\[00,03,06\]' \
        '^  leaf1 +5 nodes: n\[01,04,07-09\]' 'uneven: 2 to 5 nodes' 'GPUs of 10 nodes are not known'
}

@test "rates and GPUs come from a second file" {
    must 0 "$BERTH" topo "$T" "$CASES/t2.cluster.json" --cluster "$CASES/t.gpus.json"
    says out ', 80 GPUs' 'leaf2  uplink 25 MB/s' '10 nodes n\[00-09\]: 8 GPUs'
}

@test "--json reads back unchanged" {
    must 0 "$BERTH" topo "$T" "$CASES/t2.cluster.json" "$CASES/t.gpus.json" --json
    cp out a.json
    must 0 "$BERTH" topo a.json --json
    cmp a.json out
    must 0 "$BERTH" map --cluster a.json --mesh tp8,dp10 -q -o m1.json
    must 0 "$BERTH" map --topology "$T" --cluster "$CASES/t2.cluster.json" \
        --cluster "$CASES/t.gpus.json" --mesh tp8,dp10 -q -o m2.json
    is "$(value m1.json "j['hash']")" "$(value m2.json "j['hash']")"
    is "$(value m1.json "j['cost']")" "$(value m2.json "j['cost']")"
}

@test "--nodes keeps these nodes and the switches above them" {
    must 0 "$BERTH" topo "$T" --nodes 'n[00,03]'
    says out '2 nodes, 2 switches' '^  leaf0 +2 nodes: n\[00,03\]'
    must 2 "$BERTH" topo "$T" --nodes n77
    says err 'node n77 is not in .*t\.topology\.conf'
}

@test "nodes under no switch are named" {
    must 0 "$BERTH" topo "$T" <(echo '{"berth_cluster": 1, "nodes": [{"names": "x[1-3]"}]}')
    says out '3 nodes under no switch: x\[1-3\]'
}

@test "an hwloc XML without I/O objects is said to be so" {
    "$BERTH" topo "$CASES/../hwloc/no-io.xml" >out 2>err || skip "$(cat err)"
    says out 'neither GPU nor NIC'
}

@test "a drawing is well-formed and names every switch" {
    must 0 "$BERTH" topo "$T" --svg t.svg
    python3 -c 'import xml.dom.minidom as m; m.parse("t.svg")'
    says t.svg '>leaf2: 2 nodes<' '>spine<' '>n09<'
}
