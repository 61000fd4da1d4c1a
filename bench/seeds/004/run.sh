#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures paper 004's messages between host and device processes, and prints the bandwidth it states beside ours.
#   usage: bench/seeds/004/run.sh [folder-of-programs] [acpbench options...]
set -euo pipefail
seed=004
. "$(dirname "$0")/../measure.sh"
"$bin/acprun" -n 2 --heap-size 1G "$bin/acpbench" ipc "${options[@]}" --json "$folder/ipc.json"
show
