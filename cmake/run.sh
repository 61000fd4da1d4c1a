#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What `make run` does after the build: counts the k-mers of real reads on 4 ranks of one node and on 4 ranks over two
# emulated nodes, compares both spectra, measures ACP beside the machine's own speed, makes the report page, and says
# in a few lines what came out. What the programs print goes to a log file; of a step that fails its end is shown.
#   usage: cmake/run.sh folder-of-programs report-folder
set -euo pipefail
set -m # each step is a process group of its own, which can be ended as a whole
bin=$1
report=$2
"$(dirname "$0")/need.sh" "$bin"/{acprun,acp-agent,acpbench,kmer_count}

package=bowtie2-examples
mapfile -t reads < <(dpkg -L "$package" 2>/dev/null | grep -E '/reads/[^/]*\.fq\.gz$')
if [ "${#reads[@]}" -eq 0 ] || [ ! -r "${reads[0]}" ]; then
    echo "run: Debian's package $package has no readable reads/*.fq.gz here (a machine set up to leave out" >&2
    echo "     /usr/share/doc drops them); try: apt-get install --reinstall \\" >&2
    echo "     -o 'Dpkg::Options::=--path-include=/usr/share/doc/bowtie2/*' $package" >&2
    exit 1
fi

mkdir -p "$report"
report=$(cd "$report" && pwd)
log=$report/run.log
part=$report/run.part # what the step under way has printed
: >"$log"

steps=9
seconds_expected=32 # of all steps; the bar's scale
step=0
seconds_done=0
words=
child=
is_terminal=
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then is_terminal=yes; fi

# draw elapsed expected: the bar of the whole run, in place. A step that takes longer than expected stops the bar.
draw() {
    local here=$(($1 < $2 ? $1 : $2)) columns=24
    local filled=$(((seconds_done + here) * columns / seconds_expected))
    local bar
    printf -v bar '%*s' "$columns" ''
    bar=${bar// /.}
    local full=${bar:0:filled < columns ? filled : columns}
    printf '\r[%s%s] %d/%d %s, %d s\033[K' "${full//./#}" "${bar:${#full}}" "$step" "$steps" "$words" "$1"
}

# Called when the run is interrupted: ends the step's programs, which takes their jobs down.
interrupted() {
    trap '' INT TERM
    local looks=0
    if [ -n "$child" ]; then
        kill -TERM -- "-$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
        # Its group lives on until each of its programs has ended; acprun takes its ranks down first.
        while kill -0 -- "-$child" 2>/dev/null && [ "$((looks += 1))" -le 50 ]; do sleep 0.1; done
        kill -KILL -- "-$child" 2>/dev/null || true
    fi
    rm -f "$part"
    printf '\nrun: interrupted in step %d of %d; the log so far: %s\n' "$step" "$steps" "$log" >&2
    exit 130
}
trap interrupted INT TERM

# run_step expected-seconds words command...: runs the command with its output in $part, which is added to the log.
run_step() {
    local expected=$1 code=0 start=$SECONDS
    words=$2
    shift 2
    step=$((step + 1))
    if [ -z "$is_terminal" ]; then printf 'run %d/%d: %s ...' "$step" "$steps" "$words"; fi
    "$@" </dev/null >"$part" 2>&1 &
    child=$!
    if [ -n "$is_terminal" ]; then
        while kill -0 "$child" 2>/dev/null; do
            draw $((SECONDS - start)) "$expected"
            sleep 0.1
        done
    fi
    wait "$child" || code=$?
    child=
    { printf '\n== step %d: %s\n' "$step" "$words"; cat "$part"; } >>"$log"
    if [ "$code" -ne 0 ]; then
        printf '\nrun: step %d of %d (%s) failed with exit code %d. The end of what it printed:\n' \
            "$step" "$steps" "$words" "$code" >&2
        tail -n 15 "$part" | cut -c -160 >&2
        printf 'run: all of it is in %s\n' "$log" >&2
        rm -f "$part"
        exit 1
    fi
    seconds_done=$((seconds_done + expected))
    if [ -z "$is_terminal" ]; then printf ' %d s\n' $((SECONDS - start)); fi
}

count_on() { # nodes spectrum
    "$bin/acprun" -n 4 --nodes "$1" "$bin/kmer_count" -o "$2" "${reads[@]}"
}
# bench ranks nodes file experiment [options]
bench() {
    "$bin/acprun" -n "$1" --nodes "$2" --starter-size 16M "$bin/acpbench" "${@:4}" --json "$report/$3.json"
}
barriers_and_atomics() {
    bench 2 1 sync-2 sync --slices 12
    bench 2 1 atomic-2 atomic --slices 6
}
between_nodes() { bench 2 2 net net --quick --slices 6; }
between_more_nodes() {
    bench 3 3 net-3 net --quick
    bench 4 2 net-4 net --quick
}
flags() {
    bench 2 1 flag flag --quick --slices 6
    bench 2 2 flag-nodes flag --quick --slices 6
}
papers_implementations() {
    "$bin/acpbench" copy --all-modes --modes old,new,new+bypass --sizes 4,8,1k,32k,512k,4M --no-streams --quick \
        --json "$report/copy-paper.json"
}

one=$report/spectrum-1-node.txt
two=$report/spectrum-2-nodes.txt
run_step 1 "k-mers of real reads on 4 ranks of one node" count_on 1 "$one"
counted_on_one=$(grep ' distinct: ' "$part")
run_step 1 "k-mers of the same reads on 4 ranks over two nodes" count_on 2 "$two"
counted_on_two=$(grep ' distinct: ' "$part")
if ! cmp -s "$one" "$two"; then
    printf '\nrun: the spectra of one node and of two nodes differ: diff %s %s\n' "$one" "$two" >&2
    exit 1
fi
run_step 6 "copies between processes" bench 3 1 copy copy --no-streams --slices 1
run_step 2 "barriers and atomics" barriers_and_atomics
run_step 5 "copies between two nodes" between_nodes
run_step 6 "copies between three nodes, and with two ranks on each" between_more_nodes
run_step 3 "flags that a receiver waits for" flags
run_step 8 "the implementations that paper 000 compares" papers_implementations
run_step 1 "report page" "$bin/acpbench" report --in "$report"
[ -z "$is_terminal" ] || printf '\r\033[K'

cat <<END

ACP runs here. Its example kmer_count counted the 21-mers of ${#reads[@]} files of reads (package $package) in a map that
4 processes share on one node, and on two emulated nodes, which exchange encrypted UDP datagrams. The results are equal.
  one node:  $counted_on_one
  two nodes: $counted_on_two

END
cat "$part"
cat <<END
spectra (how many k-mers occur how often): $one
                                           $two
log: $log
END
rm -f "$part"
