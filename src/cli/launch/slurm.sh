#!/bin/sh
# Submits @shards@ workers that run one plan together, as an array, and the merge of their runs as a job that depends on it.
# Printed by skyline @version@; run it with sh where sbatch is. Explained by `skyline guide cluster`.
set -eu
mkdir -p @folder@
# A worker that is lost spoils the run, so none is tried again. Those that begin first wait for the others.
workers=$(sbatch --parsable --job-name=@name@ --array=0-@last@ --no-requeue@options@ \
  --ntasks=1 --cpus-per-task=@cpus@ --mem=@memory@M --time=@minutes@ --output=@folder@/worker-%a.log <<'SKYLINE_WORKER'
#!/bin/sh
exec "${SKYLINE:-skyline}" bench --out @folder@/shard-"$SLURM_ARRAY_TASK_ID" @bench@
SKYLINE_WORKER
)
# Its exit code is the verdict. It leaves the queue if a worker fails.
merge=$(sbatch --parsable --job-name=@name@-merge --dependency=afterok:"${workers%%;*}" --kill-on-invalid-dep=yes@options@ \
  --ntasks=1 --mem=@memory@M --time=@merge_minutes@ --output=@folder@/merge.log <<'SKYLINE_MERGE'
#!/bin/sh
exec "${SKYLINE:-skyline}" @merge@
SKYLINE_MERGE
)
echo "workers: job $workers; merge: job $merge, whose report will be in" @folder@/merge.log
