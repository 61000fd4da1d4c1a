#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What `make run` does after the build: counts the k-mers of real reads on 4 ranks, measures copies on 3 ranks, by
# the implementations that paper 000 compares and by the default one, and between two and three emulated nodes, makes
# the report page, and counts the k-mers again on 4 ranks over 2 nodes.
#   usage: cmake/run.sh folder-of-programs report-folder
set -euo pipefail
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
step() {
    echo
    echo "\$ $*"
    "$@"
}
step "$bin/acprun" -n 4 "$bin/kmer_count" "${reads[@]}"
# The paper's implementations at the sizes its figures are read at and a few between, then what is used here.
step "$bin/acpbench" copy --all-modes --modes old,new,new+bypass --sizes 4,8,1k,32k,512k,4M --no-streams \
    --json "$report/copy-paper.json"
step "$bin/acprun" -n 3 --starter-size 16M "$bin/acpbench" copy --json "$report/copy.json"
# Between emulated nodes: over datagrams, encrypted; with a rank each, and with two that share their cores.
step "$bin/acprun" -n 2 --nodes 2 --starter-size 16M "$bin/acpbench" net --quick --json "$report/net.json"
step "$bin/acprun" -n 3 --nodes 3 --starter-size 16M "$bin/acpbench" net --quick --json "$report/net-3.json"
step "$bin/acprun" -n 4 --nodes 2 --starter-size 16M "$bin/acpbench" net --quick --json "$report/net-4.json"
step "$bin/acpbench" report --in "$report"
step "$bin/acprun" -n 4 --nodes 2 "$bin/kmer_count" "${reads[@]}"
