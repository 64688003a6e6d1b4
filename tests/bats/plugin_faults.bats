#!/usr/bin/env bats
# needs: cluster
# Every error path of the plugin: the job still runs, no node is drained, no file is left (teardown looks).

load plugin

setup_file() { plugin_up; }
teardown_file() { plugin_down; }
teardown() {
    plugin_settled
}

two=(-w "n[00,01]" -n2 --gres=gpu:1)
show='$BERTH_CLUSTER/shared/show'

# A command in the mount namespace of a node.
on_node() {
    nsenter -t "$(cut -d' ' -f1 "$BERTH_CLUSTER/pid/slurmd-$1")" -m "${@:2}"
}

# directory_fault ARGUMENT WORDS: with this map directory the tasks run, get all but BERTH_MAP, and are told why.
directory_fault() {
    "$cluster" plugin "$BERTH_PLUGIN" "dir=$1"
    in_job "${two[@]}" -- 'SHOW="RANK BERTH_MAP" srun --berth=dp2 '"$show"
    local loose=$output loose_status=$status
    in_job "${two[@]}" -- 'srun --berth=dp2,strict '"$show"
    "$cluster" plugin "$BERTH_PLUGIN"
    [ "$status" != 0 ] || { echo "strict did not stop: $output"; return 1; }
    expect "$(shown)" ""
    output=$loose status=$loose_status
    expect_status 0
    expect "$(column RANK)" "0 1"
    expect "$(column BERTH_MAP)" "unset unset"
    expect_has "$2"
    expect_has "BERTH_MAP is not set"
}

@test "map directory: not root's" {
    install -d -o nobody -m 0755 "$shared/theirs"
    directory_fault "$shared/theirs" "must belong to root and be writable by root alone"
    expect "$(ls -A "$shared/theirs")" ""
}

@test "map directory: all may write to it" {
    install -d -m 0777 "$shared/wide"
    directory_fault "$shared/wide" "must belong to root and be writable by root alone"
}

@test "map directory: a symbolic link" {
    ln -sfn /run "$shared/link"
    directory_fault "$shared/link" "cannot be opened"
}

@test "map directory: cannot be made" {
    directory_fault /proc/berth "cannot be made"
}

@test "map directory: read-only" {
    for node in n00 n01; do
        on_node $node mkdir -p /tmp/ro
        on_node $node mount -t tmpfs -o ro,mode=0711 tmpfs /tmp/ro
    done
    directory_fault /tmp/ro "cannot be created: Read-only file system"
    for node in n00 n01; do on_node $node umount /tmp/ro; done
}

@test "map directory: full" {
    for node in n00 n01; do
        on_node $node mkdir -p /tmp/full
        on_node $node mount -t tmpfs -o size=4k,mode=0711 tmpfs /tmp/full
        on_node $node dd if=/dev/zero of=/tmp/full/rest bs=4096 count=1 status=none
    done
    directory_fault /tmp/full "cannot be written: No space left on device"
    for node in n00 n01; do
        expect "$(on_node $node ls /tmp/full)" rest
        on_node $node umount /tmp/full
    done
}

@test "garbled and hostile SLURM_BERTH_* variables" {
    big=$(head -c 100000 /dev/zero | tr '\0' A)
    for value in garbage "" "1 layout 64 20001 - n00" "1 layout 1 20001 - n00" "1 remap 1 20001 s- ../../etc" "2 remap 1 1 - x"; do
        in_job "${two[@]}" -- "export SHOW='RANK SLURM_BERTH_STEP SLURM_BERTH_MAP_0' BERTH_X='$value'
            SLURM_BERTH_STEP=\"\$BERTH_X\" SLURM_BERTH_MAP_0=AAAA srun $show" # srun itself drops what is inherited
        expect_status 0
        expect "$(column RANK)" "unset unset"
        expect "$(said)" 0
        in_job "${two[@]}" -- "export SHOW='RANK SLURM_BERTH_STEP SLURM_BERTH_MAP_0'
            srun --export=\"ALL,SLURM_BERTH_STEP=$value,SLURM_BERTH_MAP_0=$big\" $show"
        expect_status 0
        expect "$(column RANK)" "unset unset"
        expect "$(column SLURM_BERTH_STEP)" "unset unset"
        expect "$(column SLURM_BERTH_MAP_0)" "unset unset"
    done
}

@test "a map of other nodes, and one that does not unpack" {
    # srun's own epilog sees what srun sends
    printf '#!/bin/bash\nenv | grep ^SLURM_BERTH >%s/sent\n' "$shared" >"$shared/steal"
    chmod 755 "$shared/steal"
    in_job "${two[@]}" -- "srun --berth=dp2,mode=remap --epilog=\$BERTH_CLUSTER/shared/steal true"
    expect_status 0
    step=$(sed -n 's/^SLURM_BERTH_STEP=//p' "$shared/sent") map=$(sed -n 's/^SLURM_BERTH_MAP_0=//p' "$shared/sent")
    [ -n "$step$map" ]
    in_job -w "n[02,03]" -n2 -- "srun --export='ALL,SLURM_BERTH_STEP=$step,SLURM_BERTH_MAP_0=$map' $show"
    expect_status 0
    expect "$(column RANK)" "unset unset"
        expect_has "the map does not name node n02; its tasks run as Slurm would start them"
    in_job -w "n[00,01]" -n4 -- "srun --export='ALL,SLURM_BERTH_STEP=$step,SLURM_BERTH_MAP_0=$map' $show"
    expect_status 0
    expect "$(column RANK)" "unset unset unset unset"
    expect_has "the map has 2 tasks on 2 nodes, this step 4 on 2; its tasks run as Slurm would start them"
    in_job -w "n[00,01]" -n2 -- "srun -n2 -m block --export='ALL,SLURM_BERTH_STEP=${step/remap/nodes},SLURM_BERTH_MAP_0=$map' $show"
    expect_status 0 # a note that lies about the mode: its tasks are told the wrong thing, and nothing breaks
    in_job "${two[@]}" -- "srun --export='ALL,SLURM_BERTH_STEP=$step,SLURM_BERTH_MAP_0=eJw=' $show"
    expect_status 0
    expect "$(column RANK)" "unset unset"
    expect "$(said)" 1
}

@test "a step that is cancelled leaves nothing" {
    in_job "${two[@]}" -- "srun --berth=dp2 sleep 60 & sleep 1; ls /run/berth/ >/dev/null 2>&1; scancel \$SLURM_JOB_ID.0; wait"
    plugin_settled
}

@test "the file of a slurmstepd that was killed is swept by the next step" {
    mkdir -p -m 0711 /run/berth
    chmod 0711 /run/berth
    sh -c 'echo $$' >"$shared/pid" # a process that has ended
    touch "/run/berth/99.0.$(cat "$shared/pid").json"
    in_job "${two[@]}" -- "srun --berth=dp2 $show"
    expect_status 0
    [ ! -e "/run/berth/99.0.$(cat "$shared/pid").json" ]
}

@test "wrong plugstack arguments: the defaults stay" {
    "$cluster" plugin "$BERTH_PLUGIN" dir=relative ports=1-2 colour=red
    in_job "${two[@]}" -- "SHOW='RANK BERTH_MAP MASTER_PORT' srun --berth=dp2 $show"
    "$cluster" plugin "$BERTH_PLUGIN"
    expect_status 0
    expect "$(column RANK)" "0 1"
    expect "$(grep -c 'BERTH_MAP=/run/berth/' <<<"$output")" 2
    expect "$(grep -c 'MASTER_PORT=2[0-9][0-9][0-9][0-9]' <<<"$output")" 2
    expect "$(said)" 0
}

@test "a site model that contradicts Slurm: the job runs, with one warning" {
    echo '{"berth_cluster": 1, "nodes": [{"names": "n00", "leaf": "leaf9"}], "switches": [{"name": "leaf9"}]}' >"$shared/model.json"
    "$cluster" plugin "$BERTH_PLUGIN" model="$shared/model.json"
    in_job "${two[@]}" -- "srun --berth=dp2 $show"
    "$cluster" plugin "$BERTH_PLUGIN"
    expect_status 0
    expect "$(column RANK)" "unset unset"
    expect "$(said)" 1
}

@test "scontrol that fails: the job runs, with one warning" {
    printf '#!/bin/sh\necho scontrol: broken >&2\nexit 1\n' >"$shared/broken"
    chmod 755 "$shared/broken"
    in_job "${two[@]}" -- "export BERTH_SCONTROL=\$BERTH_CLUSTER/shared/broken; srun --berth=dp2 $show"
    expect_status 0
    expect "$(column RANK)" "unset unset"
    expect "$(said)" 1
}

@test "a topology that does not name the job's nodes" {
    echo "SwitchName=leaf0 Nodes=n02" >"$shared/short.conf"
    "$cluster" plugin "$BERTH_PLUGIN" topology="$shared/short.conf"
    in_job "${two[@]}" -- "srun --berth=dp2 $show"
    "$cluster" plugin "$BERTH_PLUGIN"
    expect_status 0
}

# A step that srun leaves before its launch would keep the job's CPUs: seen on 22.05 when the plugin stopped
# in srun itself, and every later srun of the job waited until the job ended.
@test "after a strict stop the job's next step starts at once" {
    in_job -w "n[00,01]" -n2 -- 'for value in map=/nonexistent,strict dp7,strict; do
            srun --berth=$value true && echo "strict $value did not stop"
            timeout 20 srun hostname | sort | xargs
            squeue -h -s -j $SLURM_JOB_ID | grep -v extern | wc -l
        done'
    expect_status 0
    expect "$(grep -c '^n00 n01$' <<<"$output")" 2
    expect "$(grep -c '^0$' <<<"$output")" 2
    [[ $output != *"did not stop"* ]]
}

@test "map=FIFO that nobody writes to: one line, and the job runs" {
    mkfifo "$shared/fifo"
    chmod 666 "$shared/fifo"
    in_job "${two[@]}" -- 'timeout 20 srun --berth=map=$BERTH_CLUSTER/shared/fifo hostname | sort | xargs'
    expect "$(grep -c '^n00 n01$' <<<"$output")" 1
    expect_has "berth:"
}
