#!/usr/bin/env bats
# needs: cluster
# The decision table (spec 4): each row on a real cluster, as an ordinary user. Cluster T: leaf0 = n00 n03
# n06, leaf1 = n01 n04 n07 n08 n09, leaf2 = n02 n05; a ring over all ten visits each leaf once (case T1).

load plugin

setup_file() { plugin_up; }
teardown_file() { plugin_down; }
teardown() { plugin_settled; }

@test "layout: RANK is SLURM_PROCID, and the ring visits each leaf once" {
    in_job "${ten[@]}" -- 'srun --berth=dp10 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" "0 1 2 3 4 5 6 7 8 9"
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" layout
    expect "$(leaf_changes "$(column H)")" 2
    expect "$(said)" 0
}

@test "layout: the same inherited from salloc and from sbatch" {
    in_job "${ten[@]}" --berth=dp10 -- 'srun $BERTH_CLUSTER/shared/show'
    expect "$(column RANK)" "0 1 2 3 4 5 6 7 8 9"
    expect "$(leaf_changes "$(column H)")" 2
    printf '#!/bin/bash\n#SBATCH --berth=dp10\n#SBATCH -N10 -n10\nsrun %s/show\n' "$shared" >"$shared/batch"
    run "$cluster" exec --as nobody sbatch -W -Q -o "$shared/out" "$shared/batch"
    output=$(cat "$shared/out")
    expect "$(column RANK)" "0 1 2 3 4 5 6 7 8 9"
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" layout
    expect "$(leaf_changes "$(column H)")" 2
}

@test "layout: two tasks per node, a tp pair shares a node" {
    in_job -N10 -n20 --ntasks-per-node=2 --gres=gpu:8 -- 'srun --berth=tp2,dp10 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" "$(seq -s' ' 0 19)"
    expect "$(column LOCAL_RANK)" "$(for i in $(seq 10); do echo 0 1; done | xargs)"
    expect "$(column H | tr ' ' '\n' | uniq | wc -l)" 10
}

@test "layout: all GPUs of the job make it the whole job" {
    in_job -N10 -c8 --gpus-per-node=2 -- 'export SHOW="RANK BERTH_MODE"; srun -c1 -n20 --berth=tp2,dp10 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" "$(seq -s' ' 0 19)"
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" layout
}

@test "layout: nothing of it is left for the tasks, and a nested srun works" {
    in_job "${ten[@]}" -- 'export SHOW="SLURM_HOSTFILE SLURM_DISTRIBUTION SLURM_BERTH_STEP SLURM_BERTH_MAP_0"
        srun --berth=dp10 $BERTH_CLUSTER/shared/show
        srun --berth=dp10 bash -c "[ \$RANK != 3 ] || srun --overlap -N2 -n2 echo nested"'
    expect_status 0
    expect "$(shown | sed 's/^[^ ]* [^ ]* //' | sort -u)" \
        "SLURM_HOSTFILE=unset SLURM_DISTRIBUTION=unset SLURM_BERTH_STEP=unset SLURM_BERTH_MAP_0=unset"
    expect "$(grep -c '^nested$' <<<"$output")" 2
}

@test "remap: -w, -x, -r, -m, --exact and SLURM_HOSTFILE rule layout out" {
    in_job "${ten[@]}" -- 'show=$BERTH_CLUSTER/shared/show
        for option in -wn[00-09] "-m block" "-m cyclic" --exact -E; do
            echo "== $option"; srun $option --berth=dp10 $show || exit 1
        done
        scontrol show hostnames n[00-09] | tac >$BERTH_CLUSTER/shared/hosts
        echo "== SLURM_HOSTFILE"; SLURM_HOSTFILE=$BERTH_CLUSTER/shared/hosts srun --berth=dp10 $show'
    expect_status 0
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort | uniq -c | xargs)" "60 remap"
    expect_lacks error
    output=$(sed '1,/== SLURM_HOSTFILE/d' <<<"$output")
    expect "$(column H)" "n09 n08 n07 n06 n05 n04 n03 n02 n01 n00" # the user's own order stays Slurm's
    expect "$(leaf_changes "$(by_rank H)")" 2
}

@test "remap: ranks follow the leaves, SLURM_PROCID stays Slurm's" {
    in_job "${ten[@]}" -- 'srun --berth=dp10,mode=remap $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column H)" "n00 n01 n02 n03 n04 n05 n06 n07 n08 n09"
    expect "$(leaf_changes "$(by_rank H)")" 2
    expect "$(column RANK | tr ' ' '\n' | sort -n | xargs)" "0 1 2 3 4 5 6 7 8 9"
}

@test "-N: layout before 23.11, remap from there on" {
    in_job "${ten[@]}" -- 'srun -N10 -n10 --berth=dp10 $BERTH_CLUSTER/shared/show'
    expect_status 0
    if printf '%s\n' 23.11 "$(srun --version | cut -d' ' -f2)" | sort -VC; then mode=remap; else mode=layout; fi
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" $mode
}

@test "mode=layout takes the risk of a doubt, and says so where it cannot" {
    in_job "${ten[@]}" -- 'srun --exact --berth=dp10,mode=layout $BERTH_CLUSTER/shared/show'
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" layout
    in_job "${ten[@]}" -- 'srun -m cyclic --berth=dp10,mode=layout $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" remap
    expect_has "berth: mode=layout is not possible here (one of -w, -x, -r, -m, -Z is given): remap"
    in_job "${ten[@]}" -- 'srun -m cyclic --berth=dp10,mode=layout,strict $BERTH_CLUSTER/shared/show'
    [ "$status" != 0 ]
    expect "$(shown)" ""
}

@test "stand-alone srun: remap" {
    run "$cluster" exec --as nobody srun -N10 -n10 --berth=dp10 "$shared/show"
    expect_status 0
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" remap
    expect "$(leaf_changes "$(by_rank H)")" 2
}

@test "two steps at once, each on a part of the job, do not wait for each other" {
    in_job "${ten[@]}" -- 'step() { srun -N5 -n5 --exact --berth=dp5 bash -c "$BERTH_CLUSTER/shared/show; sleep 2; date +end=%s"; }
        step & step & wait'
    expect_status 0
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort | uniq -c | xargs)" "10 remap"
    ends=$(grep -o '^end=.*' <<<"$output" | cut -d= -f2 | sort -n)
    [ $(($(tail -n1 <<<"$ends") - $(head -n1 <<<"$ends"))) -le 1 ] || { echo "$output"; false; }
    in_job -N10 -n20 --ntasks-per-node=2 -- 'step() { srun -n10 --overlap --berth=dp10 $BERTH_CLUSTER/shared/show; }
        step & step & wait'
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort | uniq -c | xargs)" "20 remap"
}

@test "one launcher per node: consecutive blocks of ranks, nodes in ring order" {
    in_job "${ten[@]}" -- 'export SHOW="NODE_RANK RANK PET_NODE_RANK PET_NNODES PET_NPROC_PER_NODE BERTH_MODE"
        srun --berth=tp8,dp10 $BERTH_CLUSTER/shared/show; echo ==; srun --berth=tp8,dp $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(grep '^P=' <<<"$output" | grep -c 'RANK=unset PET_NODE_RANK=[0-9] PET_NNODES=10 PET_NPROC_PER_NODE=8 BERTH_MODE=remap')" 20
    first=$(sed '/==/,$d' <<<"$output")
    output=$first
    expect "$(leaf_changes "$(grep '^P=' <<<"$output" | sed 's/.*H=\(n..\) NODE_RANK=\(.\).*/\2 \1/' | sort | cut -d' ' -f2 | xargs)")" 2
}

@test "a helper step of one task: inherited nothing, given one line, strict stops" {
    in_job "${ten[@]}" --berth=dp10,strict -- 'srun -N1 -n1 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" unset
    expect "$(said)" 0
    in_job "${ten[@]}" -- 'srun -N1 -n1 --berth=dp10 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" unset
    expect "$(said)" 1
    expect_has "berth: the mesh has 10 ranks, this step has 8 GPUs on 1 node; it runs as Slurm would"
    in_job "${ten[@]}" -- 'srun -N1 -n1 --berth=dp10,strict $BERTH_CLUSTER/shared/show'
    [ "$status" != 0 ]
    expect "$(shown)" ""
}

@test "a helper beside an unreadable map= that is inherited: nothing, also under strict" {
    in_job "${ten[@]}" --berth=map=/nowhere.json,strict -- 'srun -N1 -n1 $BERTH_CLUSTER/shared/show
        timeout 60 mpirun -np 10 bash -c "echo rank \$OMPI_COMM_WORLD_RANK"'
    expect_status 0
    expect "$(column RANK)" unset
    expect "$(grep -c '^rank' <<<"$output")" 10
    expect "$(said)" 0
    in_job "${ten[@]}" -- 'srun -N1 -n1 --berth=map=/nowhere.json,strict $BERTH_CLUSTER/shared/show'
    [ "$status" != 0 ]
    expect_has "/nowhere.json"
}

@test "SLURM_NNODES that is not the job's: srun takes it as -N, and layout is not tried" {
    in_job -w "n[00,01]" -n2 --gres=gpu:1 -- 'export SHOW="RANK BERTH_MODE SLURM_STEP_NUM_NODES"
        SLURM_NNODES=1 srun -n2 -O --berth=dp2 $BERTH_CLUSTER/shared/show
        SLURM_NNODES=1 SLURM_JOB_NUM_NODES=1 srun -n2 -O --berth=dp2 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column BERTH_MODE)" "remap remap remap remap"
    expect_lacks error
}

@test "fewer and more tasks than fit: inherited nothing, given one line" {
    in_job "${ten[@]}" --berth=dp10,strict -- 'srun -n4 $BERTH_CLUSTER/shared/show; srun -n20 -O $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(shown | grep -c RANK=unset)" 24
    expect "$(said)" 0
    in_job "${ten[@]}" -- 'srun -n4 --berth=dp10 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(said)" 1
}

@test "mpirun inside a job with the option inherited" {
    in_job "${ten[@]}" --berth=dp10 -- '. '"$top"'/tests/cluster/mpi.env; unset SLURM_MPI_TYPE
        export OMPI_MCA_oob_tcp_if_include=10.87.0.0/16 OMPI_MCA_btl_tcp_if_include=10.87.0.0/16
        timeout 60 mpirun -np 10 bash -c "echo rank \$OMPI_COMM_WORLD_RANK \${BERTH_RANK-unset}"'
    expect_status 0
    expect "$(grep -c '^rank [0-9] unset$' <<<"$output")" 10
    expect "$(said)" 0
}

@test "--gpus-per-task: LOCAL_RANK is left to Slurm, and that is said" {
    in_job -N10 -n10 --gres=gpu:8 -- 'export SHOW="RANK LOCAL_RANK BERTH_LOCAL_RANK BERTH_MODE"
        srun --gpus-per-task=1 --berth=dp10 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column LOCAL_RANK)" "$untouched"
    expect "$(column BERTH_LOCAL_RANK)" "0 0 0 0 0 0 0 0 0 0"
    expect_has "berth: each task sees only its own GPUs, so LOCAL_RANK is left alone (BERTH_LOCAL_RANK is set)"
}

@test "het job: one line, runs as Slurm would" {
    run timeout 60 "$cluster" exec --as nobody srun -N1 -n2 --berth=dp2 "$shared/show" : -N1 -n1 "$shared/show"
    expect_status 0
    expect_has "berth: heterogeneous jobs are not placed"
    expect "$(column RANK)" "unset unset unset"
}

@test "torus3d: one line, runs as Slurm would; strict stops" {
    echo '{"berth_cluster": 1, "refused": "torus3d"}' >"$shared/torus.json"
    "$cluster" plugin "$BERTH_PLUGIN" model="$shared/torus.json"
    in_job "${ten[@]}" -- 'srun --berth=dp10 $BERTH_CLUSTER/shared/show'
    loose=$output loose_status=$status
    in_job "${ten[@]}" -- 'srun --berth=dp10,strict $BERTH_CLUSTER/shared/show'
    "$cluster" plugin "$BERTH_PLUGIN"
    [ "$status" != 0 ]
    output=$loose status=$loose_status
    expect_status 0
    expect_has "berth: topology torus3d is not placed; it runs as Slurm would"
    expect "$(column RANK)" "$untouched"
}

@test "off: on the option, in the environment, over what is inherited" {
    in_job "${ten[@]}" --berth=dp10 -- 'srun --berth=off $BERTH_CLUSTER/shared/show; BERTH=off srun $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(shown | grep -c RANK=unset)" 20
    expect "$(said)" 0
}

@test "BERTH= is the option; the nearest wins" {
    in_job "${ten[@]}" -- 'BERTH=dp10 srun $BERTH_CLUSTER/shared/show'
    expect "$(column RANK)" "0 1 2 3 4 5 6 7 8 9"
    expect "$(leaf_changes "$(column H)")" 2
    in_job "${ten[@]}" -- 'BERTH=off srun --berth=dp10 $BERTH_CLUSTER/shared/show' # the command line over the environment
    expect "$(column RANK)" "0 1 2 3 4 5 6 7 8 9"
    in_job "${ten[@]}" --berth=dp10 -- 'SHOW=BERTH_PP_SIZE BERTH=dp5,pp2 srun $BERTH_CLUSTER/shared/show'
    expect "$(column BERTH_PP_SIZE)" "2 2 2 2 2 2 2 2 2 2"
    in_job "${ten[@]}" --berth=dp10 -- 'SHOW=BERTH_PP_SIZE srun --berth=dp5,pp2 $BERTH_CLUSTER/shared/show'
    expect "$(column BERTH_PP_SIZE)" "2 2 2 2 2 2 2 2 2 2"
    # BERTH= from before the submission gives way to salloc's own option
    echo 'SHOW="BERTH BERTH_PP_SIZE" srun $BERTH_CLUSTER/shared/show' >"$shared/script"
    run "$cluster" exec --as nobody env BERTH=dp10 salloc -Q "${ten[@]}" --berth=dp5,pp2 bash "$shared/script"
    expect "$(column BERTH_PP_SIZE)" "2 2 2 2 2 2 2 2 2 2"
}

@test "help prints the keys and ends with 0; a wrong value is refused at once" {
    for command in srun sbatch salloc; do
        program=true
        [ $command != sbatch ] || program=--wrap=true # it wants its script before it looks at plugins' options
        run "$cluster" exec --as nobody $command --berth=help $program
        expect_status 0
        expect_has "mode=auto"
        run "$cluster" exec --as nobody $command --berth=tp8,bind=gpu $program
        [ "$status" != 0 ]
        expect_has "berth: --berth: unknown key 'bind='; there are order="
    done
}

@test "a wrong value that is inherited: one line, runs as Slurm would" {
    in_job "${ten[@]}" -- 'BERTH=tp8,mode=fast srun $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" "$untouched"
    expect "$(said)" 1
    expect_has "(from BERTH=); the job runs as Slurm would"
}

@test "a job of one node" {
    in_job -N1 -n4 --gres=gpu:8 -- 'srun --berth=tp2,dp2 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" "0 1 2 3"
    expect "$(column LOCAL_RANK)" "0 1 2 3"
    in_job -N1 -n1 -- 'srun --berth=dp1 $BERTH_CLUSTER/shared/show'
    expect "$(column RANK)" 0
}

@test "the batch script itself gets nothing" {
    printf '#!/bin/bash\n#SBATCH --berth=dp10\n#SBATCH -N10 -n10\nenv\n' >"$shared/batch"
    run "$cluster" exec --as nobody sbatch -W -Q -o "$shared/out" "$shared/batch"
    expect_status 0
    output=$(cat "$shared/out")
    expect_lacks BERTH_RANK
    expect_lacks SLURM_BERTH
}

@test "--export=NONE" {
    in_job "${ten[@]}" -- 'srun --export=NONE --berth=dp10 $BERTH_CLUSTER/shared/show
        echo ==; srun --export=NONE --berth=dp10,mode=remap $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(grep -c ' RANK=[0-9] ' <<<"$output")" 20
    expect "$(grep -c BERTH_MODE=layout <<<"$output")" 10
}

@test "a requeued job gets the same map" {
    printf '#!/bin/bash\n#SBATCH --berth=dp5,pp2\n#SBATCH -N10 -n10 --requeue\nexport SHOW=BERTH_MAP_HASH\nsrun %s/show
[ "${SLURM_RESTART_COUNT:-0}" != 0 ] || { scontrol requeue $SLURM_JOB_ID; sleep 60; }\n' "$shared" >"$shared/batch"
    run "$cluster" exec --as nobody sbatch --parsable --open-mode=append -o "$shared/out.requeue" "$shared/batch"
    expect_status 0
    job=$output
    for ((i = 0; i < 60; i++)); do # a requeued job waits two minutes by itself
        [ "$(squeue -h -j "$job" -o %r)" != BeginTime ] || scontrol update jobid="$job" starttime=now
        [ "$(grep -c '^P=' "$shared/out.requeue")" != 20 ] || break
        sleep 1
    done
    output=$(cat "$shared/out.requeue")
    expect "$(grep -c 'BERTH_MAP_HASH=sha256:' <<<"$output")" 20
    expect "$(grep -o 'BERTH_MAP_HASH=.*' <<<"$output" | sort -u | wc -l)" 1
}

@test "a topology that cannot be read: the job runs, with one warning; strict stops" {
    "$cluster" plugin "$BERTH_PLUGIN" topology="$shared/nowhere.conf"
    in_job "${ten[@]}" -- 'srun --berth=dp10 $BERTH_CLUSTER/shared/show'
    loose=$output loose_status=$status
    in_job "${ten[@]}" -- 'srun --berth=dp10,strict $BERTH_CLUSTER/shared/show'
    "$cluster" plugin "$BERTH_PLUGIN"
    [ "$status" != 0 ]
    expect_has "the step stops (strict)"
    output=$loose status=$loose_status
    expect_status 0
    expect "$(column RANK)" "$untouched"
    expect "$(said)" 1
    expect_has "nowhere.conf"
}

@test "report says the mode, the map and three predicted times" {
    in_job "${ten[@]}" -- 'srun --berth=dp5,pp2,traffic=dp:allreduce:8MB+pp:p2p:64KB:4,report true'
    expect_status 0
    expect_has "berth: layout, 10 ranks on 10 nodes, order dp-pp (fastest first), map sha256:"
    expect_has "as planned,"
    expect_has "in name order,"
    expect_has "in topology order"
    [ "$(said)" -le 4 ]
}
