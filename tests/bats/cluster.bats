#!/usr/bin/env bats
# needs: cluster
# The test cluster itself: it comes up whole, runs jobs, and leaves the machine as it found it, also when
# it fails half-way or is killed.

cluster=$BATS_TEST_DIRNAME/../cluster/cluster
state=/run/berth-cluster
broken=

setup_file() {
    [ ! -e "$state" ] || { echo "a cluster is up: run 'cluster down' first" >&2; return 1; }
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    unset "${!BERTH_CLUSTER@}" "${!SLURM@}"
    machine >before
}

teardown() {
    "$cluster" down
    [ -z "$broken" ] || rm -r "$broken"
}

# All that up touches: namespaces, links, shapers, mounts, names, and processes that know the state folder.
machine() {
    ip netns list | sort
    ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/\1/' | sort
    tc qdisc show | grep tbf || true
    findmnt -rno TARGET,FSTYPE | sort
    cat /etc/hosts
    ps -eo pid=,stat=,comm= | awk '$2 !~ /^Z/ && $3 ~ /^(munged|srun|salloc|sbatch|slurm.*)$/ { print $1, $3 }'
    ls -d "$state" 2>/dev/null || true
}

unchanged() {
    machine >after
    diff before after
}

has() { [[ $output == *"$1"* ]] || { printf "no '%s' in:\n%s\n" "$1" "$output"; return 1; }; }

idle_nodes() { "$cluster" exec sinfo -h -N -t idle -o %N | wc -l; }

# A Slurm "installation" whose slurmd ends at once: what up meets half-way.
broken_prefix() {
    local name
    broken=$(mktemp -d /var/tmp/berth-broken.XXXXXX) # not /tmp, where nodes would not see it
    mkdir "$broken"/{bin,sbin}
    for name in sinfo scontrol; do
        ln -s "$(command -v $name)" "$broken/bin/$name"
    done
    ln -s "$(PATH=$PATH:/usr/sbin command -v slurmctld)" "$broken/sbin/slurmctld"
    printf '#!/bin/sh\necho this slurmd is broken >&2\nexit 1\n' >"$broken/sbin/slurmd"
    chmod 755 "$broken/sbin/slurmd"
}

@test "up: nodes, switches, GPUs, names and jobs of two users; down leaves nothing" {
    "$cluster" up >used
    grep -qx "export SLURM_CONF=$state/slurm.conf" used
    [ "$(idle_nodes)" = 10 ]
    [ "$(getent hosts n03 | awk '{ print $1 }')" = 10.87.1.2 ] # the second node named
    [ "$("$cluster" exec scontrol show topology | grep -c '^SwitchName=leaf. Level=0')" = 3 ]
    cd $state/shared
    run "$cluster" exec --as nobody srun -Q -N10 --gres=gpu:8 bash -c 'echo $(id -u) $(hostname) $CUDA_VISIBLE_DEVICES'
    [ "$(sort <<<"$output")" = "$(printf '65534 n0%d 0,1,2,3,4,5,6,7\n' {0..9})" ] || { echo "$output"; return 1; }
    run "$cluster" exec srun -Q -n80 --ntasks-per-node=8 id -u
    [ "$(sort <<<"$output" | uniq -c | xargs)" = "80 0" ]
    cd "$BATS_TEST_TMPDIR"
    "$cluster" down
    unchanged
}

@test "a second up is refused, and does not touch the first" {
    "$cluster" up --leaves 'a=x0 b=x1' >/dev/null
    run "$cluster" up
    [ "$status" = 1 ]
    has "cluster: a cluster is up already, or one was left half-made, in $state: run 'cluster down' first"
    [ "$(idle_nodes)" = 2 ]
}

@test "up that fails half-way says why and takes everything down" {
    broken_prefix
    run "$cluster" up --prefix "$broken"
    [ "$status" = 1 ] || { echo "status $status: $output"; return 1; }
    has "slurmd-n00 has ended"
    unchanged
}

@test "up that is killed half-way: down clears it" {
    "$cluster" up >/dev/null &
    local pid=$! i
    for ((i = 0; i < 200; i++)); do
        [ ! -e $state/pid/slurmd-n03 ] || break
        sleep 0.01
    done
    kill -KILL $pid
    wait $pid || true
    [ -e $state ]
    run "$cluster" status
    has "no cluster is up"
    "$cluster" down
    unchanged
}

@test "down clears a cluster whose controller was killed, and a job in it" {
    "$cluster" up >/dev/null
    cd $state/shared
    "$cluster" exec srun -Q -N2 sleep 1000 &
    local client=$! i
    for ((i = 0; i < 100; i++)); do
        pgrep -f '^[^ ]*sleep 1000$' >/dev/null && break
        sleep 0.1
    done
    kill -KILL "$(cut -d' ' -f1 $state/pid/slurmctld)"
    cd "$BATS_TEST_TMPDIR"
    "$cluster" down
    wait $client || true
    run pgrep -f '^[^ ]*sleep 1000$'
    [ -z "$output" ]
    unchanged
}

@test "down when nothing is up is fine, twice" {
    "$cluster" down
    "$cluster" down
    unchanged
}

@test "rates change while it is up" {
    "$cluster" up --leaves 'a=x0 b=x1 c=x2' --uplink-of b=100mbit --no-names >/dev/null
    grep -q x0 /etc/hosts && return 1
    tc qdisc show dev bthu0 | grep -q 'rate 200Mbit'
    tc qdisc show dev bthu1 | grep -q 'rate 100Mbit'
    tc -n berth-x2 qdisc show dev eth0 | grep -q 'rate 400Mbit'
    "$cluster" rate --host 300mbit --uplink-of c=50mbit
    tc qdisc show dev bthd1 | grep -q 'rate 100Mbit'
    tc qdisc show dev bthd2 | grep -q 'rate 50Mbit'
    tc qdisc show dev bthn2 | grep -q 'rate 300Mbit'
    "$cluster" rate --uplink 1gbit
    run "$cluster" status
    has "every node's link: 300mbit"
    has "uplink of b: 1gbit"
}

# What a node sends over its leaf's uplink is slow; 400 kB pass in the burst, so 10 MB at 40 Mbit/s: 2 s.
@test "a link really has its rate" {
    "$cluster" up --leaves 'a=x0 b=x1' --uplink 40mbit >/dev/null
    local took
    took=$(ip netns exec berth-x1 python3 - <<'END'
import socket, subprocess, time
server = socket.create_server(("10.87.1.2", 5000))
code = ("import socket; s = socket.create_connection(('10.87.1.2', 5000)); s.sendall(bytes(10 ** 7)); "
        "s.shutdown(1); s.recv(1)")
client = subprocess.Popen(["ip", "netns", "exec", "berth-x0", "python3", "-c", code])
connection, _ = server.accept()
start, got = time.monotonic(), 0
while data := connection.recv(1 << 16):
    got += len(data)
took = time.monotonic() - start
connection.send(b".")
client.wait()
assert got == 10 ** 7
print(int(took * 1000))
END
)
    echo "10 MB took $took ms"
    [ "$took" -gt 1800 ] && [ "$took" -lt 3000 ]
}

@test "mpirun and srun --mpi=pmix inside a job" {
    command -v mpicc || skip "there is no mpicc"
    "$cluster" up --leaves 'a=x0,x1 b=x2' >/dev/null
    cat >hello.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int rank, length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(name, &length);
    printf("rank %d on %s\n", rank, name);
    MPI_Finalize();
    return 0;
}
END
    mpicc -o $state/shared/hello hello.c
    cp "$BATS_TEST_DIRNAME/../cluster/mpi.env" $state/shared/
    cat >$state/shared/job <<'END'
#!/bin/bash
. ./mpi.env
srun ./hello | sort
export HOME=/tmp
mpirun -n 3 ./hello | sort
END
    cd $state/shared
    run "$cluster" exec --as nobody sbatch -W -Q -N3 -n3 -o out job
    run cat out
    [ "$output" = "$(printf 'rank 0 on x0\nrank 1 on x1\nrank 2 on x2\n%.0s' 1 2)" ] || { cat out; return 1; }
}

@test "wrong options: one sentence each, and nothing is made" {
    while IFS='|' read -r words sentence; do
        eval "run '$cluster' up $words"
        [ "$status" = 1 ]
        [ "$output" = "cluster: $sentence" ] || { echo "$words: $output"; return 1; }
        unchanged
    done <<END
--leaves 'a=x0 b=x0'|leaves: node x0 stands twice
--leaves 'a=x0 a=x1'|leaves: a stands twice
--leaves 'a=x0,,x1'|leaves: 'a=x0,,x1' is not of the form LEAF=NODE,NODE
--leaves 'a=../x'|leaves: '../x' is not a host name
--leaves ' '|leaves: no node is named
--host fast|rate 'fast' is not like 200mbit or 1gbit
--uplink-of leaf9=1gbit|--uplink-of leaf9=1gbit: there is no such leaf
--cpus 0|--cpus '0' is not a number from 1 to 9999
--gpus many|--gpus 'many' is not a number from 0 to 999
--cpus 9999 --task-plugin affinity|task/affinity refuses nodes with more CPUs than the machine has: use --cpus $(nproc)
--plugin /nowhere.so|--plugin /nowhere.so cannot be read
--prefix /nowhere|--prefix /nowhere: there is no sbin/slurmctld in it
--prefix /tmp/slurm|--prefix /tmp/slurm: every node has its own /tmp, install it elsewhere
--subnet 10.0.0|--subnet '10.0.0' is not of the form 10.87
--what 1|up: unknown option '--what'; see 'cluster help'
--host|up: '--host' is unknown or lacks its value; see 'cluster help'
END
}

@test "without root it says so" {
    run setpriv --reuid=65534 --regid=65534 --clear-groups bash "$cluster" up
    [[ $output != *"Permission denied"* ]] || skip "another user cannot read this checkout"
    [ "$status" = 1 ]
    has "this needs root"
}
