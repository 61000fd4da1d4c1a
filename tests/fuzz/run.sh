#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs every fuzz target for a while, from the corpus that is kept and what earlier runs found; one line each. Stops
# at the first finding and says how to look at it. With "keep" instead of seconds: adds what reaches something new
# to the corpus that is kept, and leaves out what no longer does, but for the findings that once were.
#   usage: tests/fuzz/run.sh BUILD SECONDS|keep [TARGET]...
set -eu
build=$1
seconds=$2
shift 2
here=$(dirname "$0")
# A small quarantine: fresh memory costs more than all else that a run does.
export ASAN_OPTIONS=quarantine_size_mb=8:handle_abort=1:detect_leaks=1
mkdir -p "$build/findings"

targets=$*
[ -n "$targets" ] || targets=$(cd "$here" && sed -n 's/^acp_fuzz_target(\([a-z]*\).*/\1/p' CMakeLists.txt)

for target in $targets; do
    program=$build/tests/fuzz_$target
    found=$build/corpus/$target
    kept=$here/corpus/$target
    mkdir -p "$found" "$kept"
    if [ "$seconds" = keep ]; then
        smaller=$build/corpus/$target.kept
        rm -rf "$smaller"
        mkdir "$smaller"
        "$program" -merge=1 -set_cover_merge=1 -use_counters=0 "$smaller" "$kept" "$found" 2>/dev/null
        find "$kept" -type f ! -name 'finding-*' -delete
        cp "$smaller"/* "$kept"
        echo "fuzz: $target: $(find "$kept" -type f | wc -l) inputs are kept"
        continue
    fi
    log=$build/$target.log
    dictionary=
    [ -f "$here/$target.dict" ] && dictionary=-dict=$here/$target.dict
    if ! "$program" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 -max_len=2048 -len_control=20 \
            -print_final_stats=1 -artifact_prefix="$build/findings/$target-" ${dictionary:+"$dictionary"} \
            "$found" "$kept" >"$log" 2>&1; then
        tail -40 "$log"
        echo "fuzz: $target: a finding; the whole log is $log; again: $program FILE (the last line says which)"
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    reached=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    printf 'fuzz: %-10s %9s runs, %6s edges, no finding\n' "$target" "$runs" "$reached"
done
