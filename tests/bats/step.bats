#!/usr/bin/env bats
# berth-step and libberth-mpi without a cluster: what is sent, in which order, and what is refused.
# $BERTH_STEP is the program under test, else the one in PATH; several processes on this machine.

load berth

setup_file() {
    mpicc -shared -fPIC -o "$BATS_FILE_TMPDIR/trace.so" "$BATS_TEST_DIRNAME/trace_sends.c"
}

setup() {
    export BERTH_STEP=${BERTH_STEP:-$(command -v berth-step || true)}
    [ -x "$BERTH_STEP" ] || skip "there is no berth-step: set BERTH_STEP or put it in PATH"
    BERTH=${BERTH:-$(command -v berth || true)}
    cd "$BATS_TEST_TMPDIR" || return 1
    unset BERTH_MAP BERTH_RANK BERTH_MODE
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
    # the library's own leaks are not ours to report (sanitizer builds)
    export ASAN_OPTIONS=detect_leaks=0
}

# mpi PROCESSES ARGUMENT...: berth-step as so many processes; see must() for what is left.
mpi() { mpirun --oversubscribe --quiet -n "$1" "$BERTH_STEP" "${@:2}"; }
export -f mpi
fails() { must "$1" bash -c 'mpi "$@"' _ "${@:2}"; }
works() { fails 0 "$@"; }

map() { # FILE ORDER AXES: a map of four ranks on one node
    printf '{"berth_map": 1, "world": 4, "mesh": {"order": "%s", "axes": [%s]},
        "nodes": [{"name": "here", "ranks": "0-3"}]}\n' "$2" "$3" >"$1"
}

@test "help needs no MPI" {
    must 0 "$BERTH_STEP" --help
    says out '^usage: berth-step' 'links' 'Exit status'
}

# Buffers that do not divide by the group, that are shorter than it, that are longer than a slice.
@test "every collective's result is exact" {
    works 7 --mesh dp7 --check --steps 1 --warmup 0 --traffic \
        dp:allreduce:1000003,dp:allreduce:3,dp:reducescatter:500001,dp:allgather:77777,dp:alltoall:1001,dp:alltoall:700001,dp:p2p:99999
    is True "$(value out 'j["checked"]')"
    works 8 --mesh tp2,pp2,dp2,ep2@dp --check --steps 1 --warmup 0 --traffic \
        tp:allreduce:100KB:8,pp:p2p:70001:4,ep:alltoall:99991:2,dp:reducescatter:1MB,dp:allgather:999999
    is True "$(value out 'j["checked"]')"
}

@test "the line has what the spec's reader needs, and its sums agree" {
    works 4 --mesh tp2,dp2 --traffic dp:allreduce:200KB,tp:allreduce:10KB:3,dp:allgather:10KB --steps 5
    is 1 "$(wc -l <out)"
    is "5 4 tp2,dp2 tp-dp None False" \
        "$(value out '" ".join(str(j[k]) for k in ("steps", "world", "mesh", "order", "mode", "checked"))')"
    # spec 1's arithmetic: two ranks per axis on one node without GPUs, so only the node's name is open
    is True "$(value out 'j["hash"].startswith("sha256:") and len(j["hash"]) == 71')"
    is "dp:allreduce:200000:1 tp:allreduce:10000:3 dp:allgather:10000:1" \
        "$(value out '" ".join("%s:%s:%d:%d" % (i["axis"], i["collective"], i["bytes"], i["count"]) for i in j["items"])')"
    is "dp tp" "$(value out '" ".join(j["axes"])')"
    is True "$(value out 'all(0 < x["min"] <= x["median"] <= x["p95"] for x in [j["step_s"], *j["axes"].values(), *j["items"]])')"
    is True "$(value out 'j["step_s"]["min"] >= sum(i["min"] for i in j["items"]) - 1e-9')"
}

# Processes 0 1 2 3 are ranks 2 0 3 1: the ring 0 1 2 3 of the map is the processes 1 3 0 2.
@test "the ring follows the map's order, not MPI's" {
    map m.json dp '{"name": "dp", "size": 4}'
    cat >run <<'END'
ranks=(2 0 3 1)
export BERTH_RANK=${ranks[OMPI_COMM_WORLD_RANK]}
LD_PRELOAD=$1 exec "$BERTH_STEP" --map m.json --traffic dp:allreduce:4000 --steps 1 --warmup 0
END
    export TRACE=$PWD/trace BERTH_STEP
    must 0 mpirun --oversubscribe --quiet -n 4 bash run "$BATS_FILE_TMPDIR/trace.so"
    is "0>2 1>3 2>1 3>0" "$(cat trace.* | awk '/send/ { print $2 ">" $3 }' | sort -u | xargs)"
    # cost.h: 2 (n-1) rounds of a quarter of the 4000 bytes, from each rank
    is "24 1000" "$(cat trace.* | awk '/send/ { n++; b[$4] } END { for (x in b) print n, x }')"
}

# Ranks 0 1 2 3 with tp fastest: tp groups {0,1} {2,3}, pp chains 0-2 and 1-3.
@test "micro-batches: tp and pp in each, dp once at the end" {
    export TRACE=$PWD/trace
    export LD_PRELOAD=$BATS_FILE_TMPDIR/trace.so
    must 0 mpirun --oversubscribe --quiet -n 4 -x LD_PRELOAD "$BERTH_STEP" --mesh tp2,pp2 \
        --traffic pp:p2p:400:4,tp:allreduce:800:8,tp:allgather:1200 --steps 1 --warmup 0
    unset LD_PRELOAD
    # 4 micro-batches of pp and tp, then the one all-gather
    is 9 "$(grep -c barrier trace.0)"
    is "0 2 400 4 times" "$(awk '/send/ && $3 == 2 { n++; s = $2 " " $3 " " $4 } END { print s, n, "times" }' trace.0)"
    # 8 all-reduces of 2 rounds, each half of 800 bytes; one all-gather of half of 1200, last
    is "16 1" "$(awk '/send 0 1 400/ { a++ } /send 0 1 600/ { b++ } END { print a, b }' trace.0)"
    is "send 0 1 600" "$(tail -n 1 trace.0)"
}

@test "processes with different maps: each says no, and which differs" {
    map a.json dp '{"name": "dp", "size": 4}'
    map b.json tp '{"name": "tp", "size": 4}'
    must 1 mpirun --oversubscribe --quiet -n 3 "$BERTH_STEP" --map a.json : -n 1 "$BERTH_STEP" --map b.json
    says err '^berth-step: process 3 \(.*\) has the rank map sha256:[0-9a-f]{64} of 4 ranks, process 0 \(.*\) has sha256:[0-9a-f]{64} of 4: give every process the same map$'
    is 1 "$(grep -c berth-step: err)"
    is 0 "$(wc -c <out)"
}

@test "processes that take one rank, or none of the map's" {
    map m.json dp '{"name": "dp", "size": 4}'
    export BERTH_RANK=2
    fails 1 4 --map m.json
    says err 'process 0 \(.*\) and process 1 \(.*\) both take rank 2 of the map: check BERTH_RANK$'
    for BERTH_RANK in 4 -1 2x; do
        fails 1 4 --map m.json
        says err 'process 0 \(.*\): BERTH_RANK is not a rank of the map, 0 to 3$'
    done
}

@test "another number of processes than ranks" {
    map m.json dp '{"name": "dp", "size": 4}'
    fails 1 3 --map m.json
    says err 'the rank map is for 4 ranks, but 3 processes run'
    fails 1 3 --mesh dp4
    says err "'dp4' has 4 ranks, the job has 3"
}

@test "wrong usage: exit 2, one sentence, from one process" {
    local words
    while IFS='|' read -r words sentence; do
        # shellcheck disable=SC2086
        fails 2 2 $words
        says err "^berth-step: $sentence"
        is 1 "$(grep -c ^berth-step: err)"
    done <<'END'
--steps 2|no map: give --map, set BERTH_MAP, or say --mesh$
--mesh dp2 --steps 0|--steps '0' is not a number from 1 to 1000000$
--mesh dp2 --warmup -1|--warmup '-1' is not a number from 0 to 1000000$
--mesh dp2 --map x|--map, --mesh and --topology: give one of them$
--links --check|--topology and --output go with --links, --traffic and --check go without it$
--mesh dp2 --topology x|--map, --mesh and --topology: give one of them$
--mesh dp2 --colour|--colour is unknown or lacks its value; see berth-step --help$
--mesh dp2 what|'what': no argument is expected; see --help$
--map nowhere.json|nowhere.json: 
--links --topology nowhere.conf|nowhere.conf: 
--mesh dp2 --traffic dp:allreduce:3GB|dp:allreduce:3000000000:1:1 is over 2 GB per rank or a million operations, too much to replay: give less with --traffic$
--mesh dp2 --traffic dp:allreduce:8:2000000|dp:allreduce:8:2000000:1 is over 2 GB
--links -o no/such/folder|no/such/folder: 
END
}

@test "--links writes a model that berth reads" {
    [ -x "$BERTH" ] || skip "there is no berth to read it"
    works 2 --links -o model.json
    is 0 "$(wc -c <out)"
    is True "$(value model.json 'j["defaults"]["node"]["inner_rate"] > 1e6 and 0 < j["defaults"]["node"]["inner_latency"] < 1')"
    # one node has no link to another, nor an uplink
    is "inner_latency inner_rate []" "$(value model.json '" ".join(sorted(j["defaults"]["node"])) + " " + str(j["switches"])')"
    echo 'SwitchName=leaf Nodes=a,b' >t.conf
    must 0 "$BERTH" topo --json --topology t.conf --cluster model.json
}
