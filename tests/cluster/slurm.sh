# The cluster's daemons: munged, slurmctld and one slurmd per namespace, with a configuration, keys,
# sockets and ports of their own, so that a Slurm or munge of the host is not disturbed.
# Sourced by cluster. Every choice in slurm.conf that is not plain was tried: see its comments.
# shellcheck shell=bash disable=SC2154 # cluster and network.sh set state, prefix, node_names ...

controller_port=16817
node_port=16818
start_limit=60 # seconds until every node must be idle

slurm_find() {
    [ -n "$prefix" ] || return 0
    prefix=$(realpath -m "$prefix")
    [[ $prefix != /tmp/* ]] || die "--prefix $prefix: every node has its own /tmp, install it elsewhere"
    [ -x "$prefix/sbin/slurmctld" ] || die "--prefix $prefix: there is no sbin/slurmctld in it"
    PATH=$prefix/bin:$prefix/sbin:$PATH
}

slurm_load() {
    local line
    [ ! -s "$state/path" ] || while read -r line; do eval "$line"; done <"$state/path"
}

slurm_up() {
    mkdir "$state"/{pid,log,spool,dev,plugin}
    : >"$state/path"
    if [ -n "$prefix" ]; then
        echo "export PATH=$prefix/bin:$prefix/sbin:\$PATH" >>"$state/path"
        echo "export LD_LIBRARY_PATH=$prefix/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" >>"$state/path"
    fi
    slurm_load
    export SLURM_CONF=$state/slurm.conf
    write_slurm_conf >"$state/slurm.conf"
    write_topology_conf >"$state/topology.conf"
    write_cgroup_conf >"$state/cgroup.conf"
    write_gres
    slurm_set_plugin "$plugin_kind" "$plugin" "$plugin_args"
    start_munged
    start slurmctld slurmctld -D
    start_nodes
    wait_idle
}

write_slurm_conf() {
    local i shape="Sockets=1 CoresPerSocket=$cpus" list
    [ $((cpus % 2)) = 1 ] || [ "$task_plugin" != none ] || shape="Sockets=2 CoresPerSocket=$((cpus / 2))"
    list=$(IFS=,; echo "${node_names[*]}")
    cat <<END
ClusterName=berth
SlurmctldHost=$(hostname -s)($subnet.0.1)
SlurmctldPort=$controller_port
SlurmdPort=$node_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge/socket
StateSaveLocation=$state/spool/controller
SlurmdSpoolDir=$state/spool/%n
SlurmctldPidFile=$state/spool/slurmctld.pid
SlurmdPidFile=$state/spool/slurmd-%n.pid
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdLogFile=$state/log/slurmd-%n.log
PlugStackConfig=$state/plugstack.conf
# proctrack/cgroup and task/cgroup would need the machine's cgroups; many containers have none.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/$task_plugin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/tree
SlurmdParameters=config_overrides
$([ "$gpus" = 0 ] || echo GresTypes=gpu)
ReturnToService=2
JobRequeue=1
MpiDefault=none
MailProg=/bin/true
LaunchParameters=use_interactive_step
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
# A loaded machine answers late.
MessageTimeout=30
SlurmdTimeout=300
KillWait=2
END
    for i in "${!node_names[@]}"; do
        echo "NodeName=${node_names[i]} NodeAddr=${node_addrs[i]} CPUs=$cpus $shape ThreadsPerCore=1" \
            "$([ "$gpus" = 0 ] || echo "Gres=gpu:$gpus") State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=$list Default=YES MaxTime=INFINITE State=UP"
}

write_topology_conf() {
    local i j list
    for i in "${!leaf_names[@]}"; do
        list=()
        for j in "${!node_names[@]}"; do
            [ "${node_leaf[j]}" != "$i" ] || list+=("${node_names[j]}")
        done
        echo "SwitchName=${leaf_names[i]} Nodes=$(IFS=,; echo "${list[*]}")"
    done
    echo "SwitchName=spine Switches=$(IFS=,; echo "${leaf_names[*]}")"
}

# Nothing here uses cgroups, but slurmd loads a cgroup plugin all the same: by itself it would look at
# /sys/fs/cgroup, which `ip netns exec` hides. 23.11 can do without; before it, v1 does nothing by itself.
write_cgroup_conf() {
    if printf '%s\n' 23.11 "$(sinfo -V | cut -d' ' -f2)" | sort -VC; then
        echo "CgroupPlugin=disabled"
    else
        echo "CgroupPlugin=cgroup/v1"
    fi
}

# GPUs are character devices (null's), since Slurm refuses a plain file.
write_gres() {
    local i
    : >"$state/gres.conf"
    [ "$gpus" -gt 0 ] || return 0
    for ((i = 0; i < gpus; i++)); do
        mknod -m 666 "$state/dev/nvidia$i" c 1 3
    done
    echo "Name=gpu File=$state/dev/nvidia[0-$((gpus - 1))]" >"$state/gres.conf"
}

# slurm_set_plugin KIND [PATH.so [ARGUMENT ...]]. The file is copied, since a node's /tmp is its own;
# srun and slurmstepd read plugstack.conf anew each time, so a change acts on the next step.
slurm_set_plugin() {
    local kind=$1 path=${2:-}
    if [ -n "$path" ]; then
        [ -r "$path" ] || die "plugin $path cannot be read"
        cp -- "$path" "$state/plugin/new"
        mv -- "$state/plugin/new" "$state/plugin/${path##*/}"
        echo "$kind $state/plugin/${path##*/} ${*:3}" >"$state/plugstack.new"
    else
        : >"$state/plugstack.new"
    fi
    mv -- "$state/plugstack.new" "$state/plugstack.conf"
}

# ---- processes ----

# start NAME COMMAND ...: in a session of its own, none of our descriptors held, pid and start time
# recorded (a pid alone may be another's by the time of down).
start() {
    local name=$1
    shift
    (
        local fd
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            [ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
        done
        cd "$state" || exit # each node has its own /tmp: a folder there could be gone
        exec setsid "$@" </dev/null >>"$state/log/$name.out" 2>&1
    ) &
    echo "$! $(start_time $!)" >"$state/pid/$name"
    disown # no "Killed" from this shell
}

start_time() { # field 22 of stat, counted after the command's closing parenthesis
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    echo "${20}"
}

process_alive() { # PID-FILE
    local pid since
    read -r pid since <"$1" || return 1
    [ -n "$pid" ] && [ "$(start_time "$pid")" = "$since" ]
}

start_munged() {
    local munge=$state/munge
    install -d -o munge -m 0755 "$munge"
    (umask 077 && head -c 1024 /dev/urandom >"$munge/key")
    chown munge "$munge/key"
    chmod 0400 "$munge/key"
    start munged setpriv --reuid=munge --regid="$(id -g munge)" --clear-groups munged --foreground \
        --key-file="$munge/key" --socket="$munge/socket" --pid-file="$munge/pid" \
        --log-file="$munge/log" --seed-file="$munge/seed"
    wait_for 10 "munged's socket" test -S "$munge/socket"
}

# Each node has its own /tmp: PMIx makes a directory there that is named alike on every node.
start_nodes() {
    local name
    for name in "${node_names[@]}"; do
        # shellcheck disable=SC2016
        start "slurmd-$name" ip netns exec "berth-$name" unshare --uts --mount sh -c \
            'mount -t tmpfs -o mode=1777 tmpfs /tmp && hostname "$0" && exec slurmd -D -N "$0"' "$name"
    done
}

wait_for() { # SECONDS WHAT COMMAND ...
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "cluster: waited in vain for $what" >&2; return 1; }
        sleep 0.1
    done
}

nodes_late() {
    sinfo -h -N -o '%N %T' 2>/dev/null | awk '$2 != "idle" { print $1 " is " $2 }'
}

all_idle() {
    [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = ${#node_names[@]} ]
}

wait_idle() {
    wait_for $start_limit "nodes to be idle" daemons_dead_or all_idle && all_idle && return 0
    nodes_late >&2
    return 1
}

# True when a daemon has ended (so that waiting stops) or the command says so.
daemons_dead_or() {
    local file
    for file in "$state"/pid/*; do
        process_alive "$file" || { echo "cluster: ${file##*/} has ended" >&2; return 0; }
    done
    "$@"
}

# ---- down ----

# What is ours: the recorded daemons' sessions, everything in the namespaces, and clients that use our
# slurm.conf. A session outlives its leader (slurmctld has a helper), and its number is not given to
# another process before its last member ends: only a leader that started at another time is not ours.
our_pids() {
    local file name pid since now
    for file in "$state"/pid/*; do
        read -r pid since <"$file" || continue
        now=$(start_time "$pid")
        [ "${now:-$since}" = "$since" ] || continue
        ps -o pid=,stat= -s "$pid" | awk '$2 !~ /^Z/ { print $1 }'
    done
    for name in $(network_namespaces); do
        ip netns pids "$name" || true
    done
    for pid in $(ps -eo pid=,comm= | awk '$2 ~ /^(srun|salloc|sbatch|slurm.*)$/ { print $1 }'); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "SLURM_CONF=$state/slurm.conf" &&
            echo "$pid"
    done
    return 0
}

# Nothing here needs an orderly end: all state goes. Killed at once, so that nothing respawns.
slurm_down() {
    local pids _
    for _ in {1..50}; do
        pids=$(our_pids 2>/dev/null | sort -un)
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086
        kill -KILL $pids 2>/dev/null || true
        sleep 0.1
    done
    die "these processes do not end: ${pids//$'\n'/ }"
}
