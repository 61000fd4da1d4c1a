#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures paper 000's evaluation in all modes and prints its table beside ours.
#   usage: bench/seeds/000/run.sh [folder-of-programs] [acpbench options...]
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
bin=${1:-$root/build/release/bin}
[ $# -eq 0 ] || shift
if [ ! -x "$bin/acpbench" ]; then
    echo "run.sh: no acpbench in $bin; build it with: make" >&2
    exit 1
fi
"$bin/acpbench" copy --all-modes --json "$root/build/report/copy.json" "$@"
"$bin/acpbench" report --in "$root/build/report"
