#!/bin/bash
# Submit both jobs. For a run that was submitted before, they go on with it: each host on the node that has its directory.
set -euo pipefail
cd "$(dirname "$0")"
source settings.sh
rm -f "$SHARED/over" "$SHARED/redis-url"
sbatch --nodelist="$NODE" coordinator.sbatch

new=()
for ((task = 0; task < HOSTS; task++)); do
    if [ -s "$SHARED/node-$task" ]; then
        sbatch --nodelist="$(<"$SHARED/node-$task")" --array="$task" hosts.sbatch
    else
        new+=("$task")
    fi
done
if [ "${#new[@]}" -gt 0 ]; then
    sbatch --array="$(IFS=,; echo "${new[*]}")" hosts.sbatch
fi
