#!/usr/bin/env bash
# `skyline launch slurm` on a real Slurm: munged, slurmctld and slurmd of Debian's packages on this machine, with a
# configuration of their own in a folder that is gone afterwards. Four workers run as an array against one mock, the merge
# follows as a dependent job, and the merged run is compared with a single run of the same plan. Then a worker fails, and the
# merge must not begin. Wants root.
#
#   tests/interop/cluster/slurm.sh [SKYLINE]        by default target/debug/skyline
set -euo pipefail
cd "$(dirname "$0")/../../.."
export SKYLINE; SKYLINE=$(realpath "${1:-target/debug/skyline}")
for program in munged slurmctld slurmd sbatch; do
  command -v $program >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends munge slurm-wlm
done
work=$(mktemp -d); chmod 755 "$work"; cd "$work"
started=()
stop() { for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done; wait; rm -rf "$work"; }
trap stop EXIT
host=$(hostname -s)
mkdir state spool
head -c 1024 /dev/urandom > munge.key; chmod 400 munge.key
cat > slurm.conf <<CONF
ClusterName=skyline
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=16 RealMemory=65536
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
munged --force --foreground --key-file=munge.key --socket=munge.socket --pid-file=munged.pid --seed-file=munged.seed \
  --log-file=munged.log > munged.out 2>&1 & started+=($!)
until munge -S munge.socket -n >/dev/null 2>&1; do sleep 0.2; done
slurmctld -D > slurmctld.log 2>&1 & started+=($!)
slurmd -D -N "$host" > slurmd.log 2>&1 & started+=($!)
until sinfo -h -o %T 2>/dev/null | grep -q idle; do sleep 0.5; done
"$SKYLINE" mock --port 18765 --hardware h100 > mock.log 2>&1 & started+=($!)

bench=(bench short_chat 20 --rate 20 --seed 3 --allow-invalid --url http://127.0.0.1:18765 --engine vllm)
ended() { while squeue -h -o %T | grep -qE 'PENDING|RUNNING|COMPLETING|CONFIGURING'; do sleep 1; done; }

"$SKYLINE" launch slurm --shards 4 --name peak -- "${bench[@]}" --salt 7 > peak.sh
sh peak.sh; ended
cat results/peak/7/merge.log
echo "--- jobs"; scontrol -o show job | grep -oE '^JobId=[^ ]+|JobName=[^ ]+|JobState=[^ ]+|ExitCode=[^ ]+' | paste - - - -
test "$(scontrol -o show job | grep -c JobState=COMPLETED)" = 5
merged=$(echo results/peak/7/*-merged-*)
"$SKYLINE" "${bench[@]}" --salt 8 --quiet --out single > single.txt
single=$(echo single/*)
echo "--- one plan"; for run in "$merged" "$single"; do grep -oE '"plan_hash": *"[0-9a-f]+"' "$run/summary.json" | head -1; done | uniq | tee plans
test "$(wc -l < plans)" = 1
echo "--- merged beside single"; "$SKYLINE" compare "$single" "$merged" --allow-invalid

# A worker that cannot run: the merge leaves the queue.
"$SKYLINE" launch slurm --shards 2 --name lost -- bench short_chat 20 --salt 7 --wait 1s --url http://127.0.0.1:9 > lost.sh
sh lost.sh; ended
test ! -e results/lost/7/merge.log
echo "a worker fails ($(grep -m1 error: results/lost/7/worker-0.log)), and there is no merge"
