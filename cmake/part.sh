#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a part of a long run and notes in build/log/parts.txt how long it took: seconds, CPU seconds, name.
#   usage: cmake/part.sh name command [argument]...
set -u
name=$1
shift
mkdir -p build/log
times_file=$(mktemp)
trap 'rm -f "$times_file"' EXIT
TIMEFORMAT='%0R %0U %0S'
{ time "$@" 2>&3; } 3>&2 2>"$times_file"
code=$?
read -r seconds user system < <(tail -n 1 "$times_file")
printf '%5d s %6d CPU s  %s\n' "$seconds" "$((user + system))" "$name" >>build/log/parts.txt
[ "$code" -eq 0 ] || echo "$name: failed after $seconds s" >&2
exit "$code"
