#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures paper 001's messages, copies and page fetches on one node and between two, and LAPLACE on up to four, and prints its
# figures beside ours.
#   usage: bench/seeds/001/run.sh [folder-of-programs] [acpbench options...]
set -euo pipefail
seed=001
. "$(dirname "$0")/../measure.sh"
for nodes in 1 2; do
    job 2 "$nodes" message --sizes 8,8k
    job 2 "$nodes" rma --sizes 4k,1M
    job 2 "$nodes" dsm
done
"$bin/acpbench" laplace "${options[@]}" --json "$folder/laplace.json"
show
