#!/usr/bin/env bats
# berth map on cluster T (spec.md 6). Right values are worked out by hand from its leaves
#   leaf0 n00 n03 n06   leaf1 n01 n04 n07 n08 n09   leaf2 n02 n05
# and the formulas of cost.h; each test says how.
load berth

# T1: a ring all-reduce of 8 MB over ten nodes moves 2*9/10*8 MB = 14.4 MB over every edge. Sorted by
# leaf, each leaf is left once: 14.4 MB / 25 MB/s = 576 ms. By name, leaf0 is left after n00, n03 and n06,
# leaf1 after n01, n04 and n09, leaf2 after n02 and n05: 3 * 14.4 MB = 43.2 MB in 1,728 ms.
@test "T1: three times less time than Slurm's name order" {
    must 0 "$BERTH" map --topology "$T" --cluster "$CASES/t1.cluster.json" --slots 1 --mesh dp10 \
        --traffic dp:allreduce:8MB -o m.json
    is 0.576 "$(value m.json "round(j['cost']['seconds'], 3)")"
    is 1.728 "$(value m.json "round(j['cost']['default']['name']['seconds'], 3)")"
    is 14.4 "$(value m.json "round(j['cost']['uplinks']['leaf1']['up'] / 1e6, 3)")"
    is 28.8 "$(value m.json "round(j['cost']['default']['name']['uplinks']['leaf2']['up'] / 1e6, 3)")"
    says err 'name order 1.73 s \(x3.00\)' 'topology order 576 ms \(x1.00\)' '^note: .*nothing to gain'
    is 0 "$(wc -c <out)"
}

# T2: a dp ring of five moves 2*4/5*8 MB = 12.8 MB over every edge. One ring fits into leaf1, the other
# crosses leaf0 and leaf2 once each: 12.8 / 25 = 512 ms; all five pp pairs cross with 4 * 64 KB both ways:
# 1.28 MB over leaf1's uplink, 51.2 ms. In topology order with dp slowest both rings leave every leaf
# once, 25.6 MB in 1,024 ms, and one pp pair crosses: 0.256 MB in 10.24 ms.
@test "T2: axis-aware against sorted by switch" {
    must 0 "$BERTH" map --topology "$T" --cluster "$CASES/t2.cluster.json" --slots 1 --mesh dp5,pp2 \
        --order pp-dp --traffic dp:allreduce:8MB,pp:p2p:64KB:4 -o m.json
    is 0.563 "$(value m.json "round(j['cost']['seconds'], 3)")"
    is 1.034 "$(value m.json "round(j['cost']['default']['topology']['seconds'], 3)")"
    is 1.28 "$(value m.json "round(j['cost']['uplinks']['leaf1']['up'] / 1e6, 3)")"
    says err 'topology order 1.03 s \(x1.84\)'
}

@test "T12: two leaves of a cluster, seven nodes" {
    must 0 "$BERTH" map --topology "$T" --nodes 'n[01,02,04,05,07-09]' --slots 1 --mesh dp \
        --traffic dp:allreduce:8MB -o m.json
    is 7 "$(value m.json "j['world']")"
    is 2 "$(value m.json "j['cost']['axes']['dp']['edges_above_leaf']")"
    says err '7 nodes, 2 leaves of 2 to 5 nodes'
}

# By hand: Slurm's block distribution over names puts rank r on node r.
@test "--method name is Slurm's own order, --method topology the leaves one after the other" {
    must 0 "$BERTH" map --topology "$T" --slots 1 --mesh dp10 --method name --format hostfile -q
    is "n00 n01 n02 n03 n04 n05 n06 n07 n08 n09" "$(paste -sd' ' out)"
    must 0 "$BERTH" map --topology "$T" --slots 1 --mesh dp10 --method topology --format hostfile -q
    is "n00 n03 n06 n01 n04 n07 n08 n09 n02 n05" "$(paste -sd' ' out)"
    is 0 "$(wc -c <err)"
}

@test "node names are sorted as numbers, not as text" {
    must 0 "$BERTH" map --cluster <(echo '{"berth_cluster": 1, "nodes": [{"names": "g[10,9,2,100]"}]}') \
        --slots 1 --mesh dp4 --method name --format hostfile -q
    is "g2 g9 g10 g100" "$(paste -sd' ' out)"
}

@test "an axis without a size takes what is left; GPUs of the cluster are the slots" {
    must 0 "$BERTH" map --topology "$T" --cluster "$CASES/t.gpus.json" --mesh tp8,pp2,dp -o m.json
    is 80 "$(value m.json "j['world']")"
    is "tp-dp-pp" "$(value m.json "j['mesh']['order']")"
    says err 'reference model: pass --traffic' 'tp is the fastest axis'
    # tp stays inside its node: each node has one tp group
    is True "$(value m.json "all(n['ranks'].count(',') == 0 for n in j['nodes'])")"
}

@test "every format has a line for every rank" {
    for format in tsv hostfile rankfile; do
        must 0 "$BERTH" map --topology "$T" --slots 2 --mesh tp2,dp10 --format $format -q
        rows=$(grep -vc '^rank	' out || true)
        is 20 "$rows"
    done
    must 0 "$BERTH" map --topology "$T" --slots 2 --mesh tp2,dp10 --format env -q
    says out '^export WORLD_SIZE=.20' '^export BERTH_MAP_HASH=.sha256:'
    must 0 "$BERTH" map --topology "$T" --slots 2 --mesh tp2,dp10 --json -q
    is 1 "$(value out "j['berth_map']")"
}

@test "--blocks keeps each node's ranks one contiguous block" {
    must 0 "$BERTH" map --topology "$T" --slots 2 --mesh dp10,pp2 --order pp-dp --blocks -o m.json \
        --traffic dp:allreduce:8MB,pp:p2p:1KB
    is True "$(value m.json "all(int(n['ranks'].split('-')[1]) == int(n['ranks'].split('-')[0]) + 1
        and ',' not in n['ranks'] for n in j['nodes'])")"
}

@test "the same input gives the same bytes" {
    must 0 "$BERTH" map --topology "$T" --slots 1 --mesh dp5,pp2 -q -o a.json
    must 0 "$BERTH" map --topology "$T" --slots 1 --mesh dp5,pp2 -q -o b.json
    cmp a.json b.json
}

@test "tp wider than a node only on request" {
    must 1 "$BERTH" map --topology "$T" --slots 2 --mesh tp4,dp5
    must 0 "$BERTH" map --topology "$T" --slots 2 --mesh tp4,dp5 --wide-tp -q
}

# scontrol is replaced by a script of its words; berth asks it only where it does not run as root.
@test "inside an allocation nodes, tasks and switches come from Slurm" {
    local as=()
    if [ "$(id -u)" -eq 0 ]; then
        as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
        chmod a+rx . .. "$BATS_RUN_TMPDIR" && "${as[@]}" "$BERTH" --version >out 2>&1 || skip "no other user can run $BERTH"
    fi
    cat >scontrol <<'SLURM'
#!/bin/bash
case "$*" in
*topology*)
    echo 'SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[00,03,06]'
    echo 'SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[01,04,07-09]'
    echo 'SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[02,05]'
    echo 'SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[00-09] Switches=leaf[0-2]' ;;
*node*) for i in 0 1 2 3 4 5 6 7 8 9; do echo "NodeName=n0$i Gres=gpu:2 NodeAddr=n0$i"; done ;;
esac
SLURM
    chmod 755 scontrol
    export BERTH_SCONTROL=$PWD/scontrol SLURM_JOB_ID=5 SLURM_JOB_NUM_NODES=10
    export SLURM_JOB_NODELIST='n[00-09]' SLURM_TASKS_PER_NODE='1(x10)' SLURM_NTASKS=10
    must 0 "${as[@]}" "$BERTH" map --mesh dp10 --traffic dp:allreduce:8MB
    is 10 "$(value out "j['world']")"
    is 3 "$(value out "j['cost']['axes']['dp']['edges_above_leaf']")"
    must 1 "${as[@]}" "$BERTH" map --mesh dp20
    unset SLURM_NTASKS
    export SLURM_GPUS_ON_NODE=2
    must 0 "${as[@]}" "$BERTH" map --mesh tp2,dp10 -q
    is 20 "$(value out "j['world']")"
    # files given: Slurm is not asked
    BERTH_SCONTROL=/bin/false must 0 "${as[@]}" "$BERTH" map --topology "$T" --nodes 'n[00-02]' \
        --slots 1 --mesh dp3 -q
    BERTH_SCONTROL=/bin/false must 2 "${as[@]}" "$BERTH" map --mesh dp10
    is 1 "$(wc -l <err)"
}

@test "help names every option, version is one line" {
    must 0 "$BERTH" map --help
    says out '^usage: berth map' '--mesh' '--traffic' '--method' '--output'
    must 0 "$BERTH" help show
    says out '^usage: berth show'
    must 0 "$BERTH" --version
    says out '^berth [0-9]+\.[0-9]+'
    must 2 "$BERTH"
}

# tests/data/hwloc/two-gpus.xml has two GPUs: four nodes like it hold eight ranks, and slot 1 is the second by bus id.
@test "one node's hwloc XML describes all nodes that --nodes names" {
    must 0 "$BERTH" map --cluster "$BATS_TEST_DIRNAME/../data/hwloc/two-gpus.xml" --nodes 'n[0-3]' --mesh tp2,dp -o m.json
    is 8 "$(value m.json "j['world']")"
    is 2 "$(value m.json "len(j['shapes'][0]['gpus'])")"
}

# topology.conf(5): Nodes=ALL is every node that no other switch lists.
@test "Nodes=ALL takes the nodes that --nodes names" {
    printf 'SwitchName=root Nodes=ALL\n' >all.conf
    must 0 "$BERTH" map --topology all.conf --nodes 'n[0-3]' --slots 2 --mesh dp -o m.json
    is root "$(value m.json "j['nodes'][3]['paths'][0]['switches'][0]")"
}
