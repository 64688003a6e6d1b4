#!/usr/bin/env bats
# berth show: from the map alone, and with rates. Values by hand as in map.bats.
load berth

make_t2() {
    must 0 "$BERTH" map --topology "$T" --cluster "$CASES/t2.cluster.json" --slots 1 --mesh dp5,pp2 \
        --order pp-dp --traffic dp:allreduce:8MB,pp:p2p:64KB:4 -q -o m.json
}

@test "mesh, places, groups and uplinks from the map alone" {
    make_t2
    must 0 "$BERTH" show m.json
    says out 'order pp-dp: pp is the fastest axis' 'DeviceMesh lists the fastest last: dp=5 pp=2' \
        'leaf1  5 nodes n\[01,04,07-09\]' 'dp group [01]: 5 ranks, inside leaf1' \
        'dp group [01]: 5 ranks, leaf. -> leaf., crosses 2 uplinks' \
        'when it was made: 563 ms per step' 'no rates known'
}

@test "rates from a file give times again" {
    make_t2
    must 0 "$BERTH" show m.json --cluster "$CASES/t2.cluster.json"
    says out 'dp +allreduce .* 512 ms' 'pp +p2p .* 51.2 ms' 'communication per step +563 ms'
}

# Name order, dp ring 0 (ranks 0 2 4 6 8 = n00 n02 n04 n06 n08): leaf0 2 1 0 1, five edges between leaves;
# ring 1 (n01 n03 n05 n07 n09): leaf1 0 2 1 1, three. leaf1 is left after n04, n08, n01: 3 * 12.8 MB = 38.4;
# pp pairs (n00 n01) (n02 n03) (n04 n05) (n06 n07) cross, (n08 n09) not: 3 touch leaf1, 0.768 MB.
@test "--json: uplinks of this map and of Slurm's name order" {
    make_t2
    must 0 "$BERTH" show m.json --json
    is 39.168 "$(value out "round([u['name_order']['up'] for u in j['uplinks'] if u['switch'] == 'leaf1'][0] / 1e6, 3)")"
    is 1.28 "$(value out "round([u['map']['up'] for u in j['uplinks'] if u['switch'] == 'leaf1'][0] / 1e6, 3)")"
    is 1 "$(value out "[a['groups']['one_leaf'] for a in j['axes'] if a['name'] == 'dp'][0]")"
    is 2 "$(value out "[a['groups']['most_crossings'] for a in j['axes'] if a['name'] == 'dp'][0]")"
}

@test "one rank, one node, one axis" {
    make_t2
    must 0 "$BERTH" show m.json --rank 3
    says out '^rank 3: node n0' 'pp +1 of 2 in group 1, next is rank 2' 'dp +1 of 5 in group 1, next is rank 5'
    must 0 "$BERTH" show m.json --node n05
    says out '^node n05: 1 rank, under leaf2 < spine'
    must 0 "$BERTH" show m.json --axis pp
    is 5 "$(grep -c '^  pp group' out)"
    is 0 "$(grep -c '^  dp group' out || true)"
    must 0 "$BERTH" show m.json --rank 3 --json
    is 1 "$(value out "j['axes']['dp']['coord']")"
}

@test "the published map: two nodes without switches" {
    must 0 "$BERTH" show "$CASES/../map/vector1.json"
    says out 'no switches known' 'f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87'
}

@test "no colour and no escape where stdout is no terminal" {
    make_t2
    must 0 "$BERTH" show m.json
    is 0 "$(grep -c $'\033' out || true)"
}

@test "the drawing: both orders, well-formed, loads on the links" {
    make_t2
    must 0 "$BERTH" show m.json --svg m.svg
    python3 -c 'import xml.dom.minidom as m; m.parse("m.svg")'
    says m.svg "Slurm's name order" 'This map' '>39.2 MB<' '>1.28 MB<' 'Colour: group of dp'
    must 0 "$BERTH" show m.json --svg - --axis pp
    says out 'Colour: group of pp'
}

@test "names cannot break the drawing" {
    echo 'SwitchName=a<b&" Nodes=n[1-2]' >t.conf
    must 0 "$BERTH" topo t.conf --svg t.svg
    must 0 "$BERTH" map --topology t.conf --slots 1 --mesh dp2 -q -o m.json
    must 0 "$BERTH" show m.json --svg m.svg
    for drawing in t.svg m.svg; do
        python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' $drawing
    done
}

# 16,384 nodes of 8 under 512 leaves of 32 and 16 pods.
@test "131,072 ranks: summarised, and quick" {
    python3 - >big.conf <<'PY'
for l in range(512):
    print(f"SwitchName=l{l} Nodes=n[{l * 32:05}-{l * 32 + 31:05}]")
for p in range(16):
    print(f"SwitchName=p{p} Switches=l[{p * 32}-{p * 32 + 31}]")
print("SwitchName=core Switches=p[0-15]")
PY
    must 0 "$BERTH" map --topology big.conf --slots 8 --mesh tp8,pp16,dp -q -o m.json
    must 0 timeout 5 "$BERTH" show m.json
    says out '\.\.\. 16380 more, all alike: each on one node' '480 more leaves'
    [ "$(wc -l <out)" -lt 200 ]
    must 0 timeout 5 "$BERTH" show m.json --svg m.svg
    [ "$(wc -c <m.svg)" -lt 4000000 ]
}

@test "leaves without a spine: what goes between them is shown all the same" {
    printf 'SwitchName=l0 Nodes=n[0-3]\nSwitchName=l1 Nodes=n[4-6]\n' >two.conf
    must 0 "$BERTH" map --topology two.conf --slots 1 --mesh dp7 --traffic dp:allreduce:7MB -q -o two.json
    must 0 "$BERTH" show two.json
    says out '^  l0 .* 12 MB$' '^  l1 .* 12 MB$' # 2 (7-1)/7 of 7 MB over one edge each way
}
