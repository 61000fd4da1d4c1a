#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Plans paper 003's exchanges on the paper's network, prints the times it states beside those of our planner, and measures the
# exchange of all eight directions on this machine.
#   usage: bench/seeds/003/run.sh [folder-of-programs] [acpbench options...]
set -euo pipefail
seed=003
. "$(dirname "$0")/../measure.sh"
"$bin/acpbench" halo-plan "${options[@]}" --json "$folder/halo-plan.json"
job 2 1 halo
job 2 2 halo
show
