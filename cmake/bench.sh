#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What `make bench` does after the build: every experiment of acpbench, one JSON file each, then the report.
#   usage: cmake/bench.sh folder-of-programs report-folder
set -euo pipefail
bin=$1
report=$2
"$(dirname "$0")/need.sh" "$bin"/{acprun,acp-agent,acpbench}

mkdir -p "$report"
declare -A ranks=([copy]=3 [atomic]=2 [sync]=2)
for experiment in copy atomic sync; do
    "$bin/acprun" -n "${ranks[$experiment]}" "$bin/acpbench" "$experiment" --json "$report/$experiment.json"
done
for experiment in memory start poll; do  # these start jobs of their own
    "$bin/acpbench" "$experiment" --json "$report/$experiment.json"
done
"$bin/acpbench" report
