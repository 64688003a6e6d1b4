#!/usr/bin/env bats
# needs: cluster
# The variable table (spec 5) on a real cluster, for tp2,dp3 on three nodes with two tasks each: tp stays in the
# node, so local rank = tp coordinate, node rank = dp coordinate, and rank = 2 * node rank + local rank.

load plugin

setup_file() { plugin_up; }
teardown_file() { plugin_down; }
teardown() { plugin_settled; }

three=(-w "n[00,01,03]" -n6 --ntasks-per-node=2 --gres=gpu:2)
all="RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK MASTER_ADDR BERTH_MODE BERTH_RANK BERTH_LOCAL_RANK
    BERTH_NODE_RANK BERTH_TP_RANK BERTH_TP_SIZE BERTH_DP_RANK BERTH_DP_SIZE SLURM_PROCID SLURM_NODEID SLURM_LOCALID"

@test "layout: every variable of the table" {
    in_job "${three[@]}" -- "SHOW='$all' srun --berth=tp2,dp3 \$BERTH_CLUSTER/shared/show"
    expect_status 0
    expect "$(column RANK)" "0 1 2 3 4 5"
    expect "$(column WORLD_SIZE)" "6 6 6 6 6 6"
    expect "$(column LOCAL_RANK)" "0 1 0 1 0 1"
    expect "$(column LOCAL_WORLD_SIZE)" "2 2 2 2 2 2"
    expect "$(column NODE_RANK)" "0 0 1 1 2 2"
    expect "$(column GROUP_RANK)" "0 0 1 1 2 2"
    expect "$(column MASTER_ADDR | tr ' ' '\n' | sort -u)" "$(shown | head -n1 | sed 's/.*H=\([^ ]*\).*/\1/')"
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" layout
    expect "$(column BERTH_RANK)" "0 1 2 3 4 5"
    expect "$(column BERTH_LOCAL_RANK)" "0 1 0 1 0 1"
    expect "$(column BERTH_NODE_RANK)" "0 0 1 1 2 2"
    expect "$(column BERTH_TP_RANK)" "0 1 0 1 0 1"
    expect "$(column BERTH_TP_SIZE)" "2 2 2 2 2 2"
    expect "$(column BERTH_DP_RANK)" "0 0 1 1 2 2"
    expect "$(column BERTH_DP_SIZE)" "3 3 3 3 3 3"
    expect "$(column H | tr ' ' '\n' | uniq | sort | xargs)" "n00 n01 n03" # each node once
}

@test "remap: the same by RANK, and Slurm's own variables untouched" {
    in_job "${three[@]}" -- "SHOW='$all' srun --berth=tp2,dp3,mode=remap \$BERTH_CLUSTER/shared/show"
    expect_status 0
    expect "$(column SLURM_NODEID)" "0 0 1 1 2 2"
    expect "$(column H)" "n00 n00 n01 n01 n03 n03"
    expect "$(by_rank LOCAL_RANK)" "0 1 0 1 0 1"
    expect "$(by_rank NODE_RANK)" "0 0 1 1 2 2"
    expect "$(by_rank BERTH_DP_RANK)" "0 0 1 1 2 2"
    expect "$(column BERTH_MODE | tr ' ' '\n' | sort -u)" remap
    expect "$(by_rank MASTER_ADDR | cut -d' ' -f1)" "$(by_rank H | cut -d' ' -f1)"
}

@test "one launcher per node: PET_*, and nothing per rank" {
    in_job "${three[@]}" -- 'export SHOW="NODE_RANK GROUP_RANK PET_NODE_RANK PET_NNODES PET_NPROC_PER_NODE PET_MASTER_ADDR MASTER_ADDR PET_MASTER_PORT MASTER_PORT
            RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE BERTH_RANK BERTH_LOCAL_RANK BERTH_TP_RANK BERTH_TP_SIZE BERTH_NODE_RANK"
        srun -n3 --ntasks-per-node=1 --berth=tp2,dp3 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column PET_NNODES)" "3 3 3"
    expect "$(column PET_NPROC_PER_NODE)" "2 2 2"
    expect "$(column PET_NODE_RANK)" "$(column NODE_RANK)"
    expect "$(column PET_NODE_RANK)" "$(column GROUP_RANK)"
    expect "$(column PET_NODE_RANK)" "$(column BERTH_NODE_RANK)"
    expect "$(column PET_NODE_RANK | tr ' ' '\n' | sort | xargs)" "0 1 2"
    expect "$(column PET_MASTER_ADDR)" "$(column MASTER_ADDR)"
    expect "$(column PET_MASTER_PORT)" "$(column MASTER_PORT)"
    expect "$(column PET_MASTER_ADDR | cut -d' ' -f1)" "$(grep 'PET_NODE_RANK=0' <<<"$output" | sed 's/.*H=\(n..\).*/\1/')"
    for name in RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE BERTH_RANK BERTH_LOCAL_RANK BERTH_TP_RANK; do
        expect "$(shown | grep -c " $name=unset")" 3
    done
    expect "$(column BERTH_TP_SIZE)" "2 2 2"
}

@test "torchrun takes its place from PET_*" {
    # Debian's own: another python3 that stands first in PATH does not have its torch
    /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || skip "python3-torch is not installed"
    cat >"$shared/ranks.py" <<'END'
import os, socket, torch, torch.distributed as dist
dist.init_process_group("gloo")
one = torch.ones(1)
dist.all_reduce(one)
line = f"torch {dist.get_rank()} {os.environ['SLURMD_NODENAME']} {os.environ['MASTER_ADDR']} {os.environ['LOCAL_RANK']} {int(one.item())}\n"
os.write(1, line.encode()) # in one piece: several workers share the pipe
END
    # Debian's torch 1.13 cannot read its own default of --redirects and --tee under Python 3.11
    in_job "${three[@]}" -- 'export GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1
        srun -n3 --ntasks-per-node=1 --berth=tp2,dp3 /usr/bin/torchrun --redirects 2 --tee 2 $BERTH_CLUSTER/shared/ranks.py'
    expect_status 0
    expect "$(grep -o '^torch [0-9]' <<<"$output" | sort | cut -d' ' -f2 | xargs)" "0 1 2 3 4 5"
    read -r _ _ node master _ sum < <(grep '^torch 0 ' <<<"$output")
    expect "$node" "$master"
    expect "$sum" 6
}

@test "MASTER_PORT: in the range, another one for another step, the same on all nodes" {
    "$cluster" plugin "$BERTH_PLUGIN" ports=21000-21999
    in_job "${three[@]}" -- 'export SHOW=MASTER_PORT; for i in 1 2 3; do srun --berth=tp2,dp3 $BERTH_CLUSTER/shared/show; done'
    "$cluster" plugin "$BERTH_PLUGIN"
    expect_status 0
    [ "$(grep -o 'MASTER_PORT=.*' <<<"$output" | sort -u | wc -l)" = 3 ]
    expect "$(grep -c 'MASTER_PORT=21[0-9][0-9][0-9]' <<<"$output")" 18
}

@test "MASTER_ADDR: NodeAddr where the name does not resolve" {
    cp /etc/hosts "$shared/hosts.kept"
    sed '/^# berth-cluster begin$/,/^# berth-cluster end$/d' "$shared/hosts.kept" >"$shared/hosts.without"
    cat "$shared/hosts.without" >/etc/hosts
    in_job "${three[@]}" -- 'SHOW=MASTER_ADDR srun --berth=tp2,dp3 $BERTH_CLUSTER/shared/show'
    cat "$shared/hosts.kept" >/etc/hosts
    expect_status 0
    expect "$(column MASTER_ADDR | tr ' ' '\n' | sort -u)" "$(scontrol show node "$(column H | cut -d' ' -f1)" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p')"
}

@test "BERTH_MAP: the same readable private map on every node, with the hash" {
    in_job "${three[@]}" -- 'srun --berth=tp2,dp3 bash -c "sha256sum <\$BERTH_MAP; stat -c %a:%U \$BERTH_MAP; grep -c \$BERTH_MAP_HASH \$BERTH_MAP"'
    expect_status 0
    expect "$(grep -c '^600:nobody$' <<<"$output")" 6
    expect "$(grep -c '^1$' <<<"$output")" 6
    expect "$(grep -- ' -$' <<<"$output" | sort -u | wc -l)" 1
}

@test "map=FILE: the user's own, and one that does not fit" {
    "$top/tests/bats/handmade_map" n01 n00 n03 >"$shared/own.json"
    chmod 644 "$shared/own.json"
    in_job "${three[@]}" -- 'srun --berth=map=$BERTH_CLUSTER/shared/own.json,report $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(by_rank H)" "n01 n01 n00 n00 n03 n03"
    expect_has "berth: layout, 6 ranks on 3 nodes"
    "$top/tests/bats/handmade_map" n01 n00 n04 >"$shared/own.json"
    in_job "${three[@]}" -- 'srun --berth=map=$BERTH_CLUSTER/shared/own.json $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" "unset unset unset unset unset unset"
    expect_has "own.json: it does not name this step's node n03; the job runs as Slurm would"
    in_job "${three[@]}" -- 'srun --berth=map=/nowhere.json,strict $BERTH_CLUSTER/shared/show'
    [ "$status" != 0 ]
    expect_has "/nowhere.json"
}

@test "a variable of the user's stays and is reported; under strict a contradiction stops the step" {
    in_job "${three[@]}" -- 'export MASTER_PORT=29500 RANK=0; SHOW="RANK MASTER_PORT BERTH_RANK" srun --berth=tp2,dp3 $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column MASTER_PORT)" "29500 29500 29500 29500 29500 29500"
    expect "$(column RANK)" "0 0 0 0 0 0"
    expect "$(column BERTH_RANK)" "0 1 2 3 4 5"
    expect_has "berth: set already, so left alone: RANK, MASTER_PORT=29500 (the map says 2"
    expect "$(said)" 1
    in_job "${three[@]}" -- 'RANK=0 srun --berth=tp2,dp3,strict $BERTH_CLUSTER/shared/show'
    [ "$status" != 0 ]
    expect "$(shown)" ""
    expect_has "is set already and stays; the map says"
    in_job "${three[@]}" -- 'WORLD_SIZE=6 srun --berth=tp2,dp3,strict $BERTH_CLUSTER/shared/show'
    expect_status 0
}

@test "a Berth step inside a Berth task has its own values" {
    in_job "${three[@]}" -- 'export SHOW="RANK WORLD_SIZE BERTH_DP_SIZE"
        srun --berth=tp2,dp3 bash -c "[ \$RANK != 5 ] || srun --overlap -n3 -N3 --ntasks-per-node=1 --gres=none --berth=dp3,mode=remap \$BERTH_CLUSTER/shared/show"'
    expect_status 0
    expect "$(by_rank RANK)" "0 1 2"
    expect "$(column WORLD_SIZE)" "3 3 3"
    expect_lacks "set already"
}

@test "override=slurm rewrites SLURM_* in remap, and is refused under PMI" {
    in_job "${three[@]}" -- 'export SHOW="RANK SLURM_PROCID SLURM_NODEID NODE_RANK SLURM_LOCALID LOCAL_RANK"
        srun --berth=tp2,dp3,mode=remap,override=slurm $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column RANK)" "0 1 2 3 4 5" # shown sorts by SLURM_PROCID
    expect "$(column NODE_RANK)" "$(column SLURM_NODEID)"
    expect "$(column LOCAL_RANK)" "$(column SLURM_LOCALID)"
    in_job "${three[@]}" -- 'SHOW="RANK SLURM_PROCID" SLURM_PMIX_FENCE=tree srun --mpi=pmix --berth=tp2,dp3,mode=remap,override=slurm $BERTH_CLUSTER/shared/show'
    expect_status 0
    expect "$(column H)" "n00 n00 n01 n01 n03 n03"
    expect_has "berth: override=slurm is refused under PMI (PMI"
}

@test "an MPI job: its rank is RANK in layout" {
    cc -o "$shared/rank" -x c - $(pkg-config --cflags --libs ompi-c) <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("mpi %d %s\n", rank, getenv("RANK"));
    return MPI_Finalize();
}
END
    # one task per node: two on one node end now and then in a segmentation fault inside MPI_Init (mpi.env)
    in_job "${ten[@]}" -- '. '"$top"'/tests/cluster/mpi.env; srun --berth=dp10 $BERTH_CLUSTER/shared/rank'
    expect_status 0
    expect "$(grep '^mpi' <<<"$output" | sort | xargs)" "$(for i in {0..9}; do echo "mpi $i $i"; done | xargs)"
}
