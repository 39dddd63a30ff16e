#!/usr/bin/env bash
# A campaign in 16 shards as an array job of Slurm, and a job that merges them once the last has ended:
#     array=$(sbatch --parsable deploy/slurm.sh)
#     sbatch --dependency="afterany:$array" --wrap='crosscheck merge shards/* --output merged'
#SBATCH --job-name=crosscheck
#SBATCH --array=1-16
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=08:30:00
#SBATCH --output=crosscheck-%A_%a.log
set -euo pipefail

# A finding ends a shard with 1, which Slurm calls a failure; `afterany` merges all the same. A shard that was preempted
# begins anew.
srun crosscheck campaign --seed 7 --for 8h --threads "$SLURM_CPUS_PER_TASK" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --output "shards/$SLURM_ARRAY_TASK_ID" --restart
