#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures paper 002's maps and its allocator on the own rank, on another node and on four nodes, and prints its figures beside ours.
#   usage: bench/seeds/002/run.sh [folder-of-programs] [acpbench options...]
set -euo pipefail
seed=002
. "$(dirname "$0")/../measure.sh"
job 4 4 map
job 1 1 heap
job 2 2 heap
show
