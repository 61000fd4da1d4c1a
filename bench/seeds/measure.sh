# SPDX-License-Identifier: BSD-3-Clause
# What the run.sh of each paper shares; sourced, with $seed set: finds the programs ($bin), makes the folder of results ($folder), and
# defines `job` and `show`.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=${1:-$root/build/release/bin}
[ $# -eq 0 ] || shift
options=("$@")
if [ ! -x "$bin/acpbench" ]; then
    echo "run.sh: no acpbench in $bin; build it with: make" >&2
    exit 1
fi
folder=$root/build/report/seed-$seed
mkdir -p "$folder"
rm -f "$folder"/*.json

# job ranks nodes experiment [options]: one experiment as a job of its own, into a file of its own.
job() {
    local ranks=$1 nodes=$2
    shift 2
    "$bin/acprun" -n "$ranks" --nodes "$nodes" --starter-size 4M "$bin/acpbench" "$@" "${options[@]}" \
        --json "$folder/$1-$ranks-$nodes.json"
}

# Prints the paper's table beside ours.
show() { "$bin/acpbench" report --in "$folder" --papers; }
