#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What `make bench` does after the build: every experiment of acpbench, one JSON file each, then the report.
#   usage: cmake/bench.sh folder-of-programs report-folder
set -euo pipefail
bin=$1
report=$2
"$(dirname "$0")/need.sh" "$bin"/{acprun,acp-agent,acpbench}

mkdir -p "$report"
# measure name ranks experiment [options]: one file of rows
measure() {
    local name=$1 ranks=$2
    shift 2
    echo "== $*, $ranks ranks"
    "$bin/acprun" -n "$ranks" --starter-size 16M "$bin/acpbench" "$@" --json "$report/$name.json"
}
"$bin/acpbench" copy --all-modes --json "$report/copy.json"
measure copy-fine 2 copy --fine
measure copy-fine-64 64 copy --fine --max 4k
measure attach 2 attach
ACP_INTRANODE=mailbox measure mailbox 4 mailbox
ACP_INTRANODE=mailbox measure mailbox-2 2 mailbox
for ranks in 2 4; do measure "atomic-$ranks" "$ranks" atomic; done
for ranks in 2 4 8 16 64; do measure "sync-$ranks" "$ranks" sync; done
measure sync-hogs 8 sync --hogs 2
measure sync-late 8 sync --late 1000
measure resolve 2 resolve
measure flag 2 flag
measure idle 4 idle
measure message 2 message
measure rma 2 rma
"$bin/acprun" -n 2 --nodes 2 "$bin/acpbench" rma --json "$report/rma-nodes.json"
"$bin/acprun" -n 2 --heap-size 1G "$bin/acpbench" ipc --json "$report/ipc.json"
"$bin/acprun" -n 2 --nodes 2 --starter-size 4M "$bin/acpbench" message --json "$report/message-nodes.json"
for ranks in 2 4; do measure "collective-$ranks" "$ranks" collective; done
"$bin/acprun" -n 4 --nodes 2 "$bin/acpbench" collective --json "$report/collective-nodes.json"
for ranks in 2 4; do measure "halo-$ranks" "$ranks" halo; done
"$bin/acprun" -n 2 --nodes 2 "$bin/acpbench" halo --json "$report/halo-nodes.json"
"$bin/acpbench" halo-plan --json "$report/halo-plan.json"
echo "== laplace"
"$bin/acpbench" laplace --json "$report/laplace.json"
for ranks in 1 2 4; do measure "dsm-$ranks" "$ranks" dsm; done
for ranks in 2 4; do
    echo "== dsm and dsm-programs, $ranks nodes"
    "$bin/acprun" -n "$ranks" --nodes "$ranks" "$bin/acpbench" dsm --json "$report/dsm-nodes-$ranks.json"
    "$bin/acprun" -n "$ranks" --nodes "$ranks" "$bin/acpbench" dsm-programs --json "$report/dsm-programs-nodes-$ranks.json"
    "$bin/acprun" -n "$ranks" --nodes "$ranks" "$bin/acpbench" dsm-cache --json "$report/dsm-cache-nodes-$ranks.json"
done
measure dsm-programs 2 dsm-programs
measure heap 2 heap
"$bin/acprun" -n 2 --nodes 2 "$bin/acpbench" heap --json "$report/heap-nodes.json"
measure map 4 map
"$bin/acprun" -n 4 --nodes 4 "$bin/acpbench" map --json "$report/map-nodes.json"
measure map-rate 2 map-rate
"$bin/acprun" -n 2 --nodes 2 "$bin/acpbench" map-rate --json "$report/map-rate-nodes.json"
for experiment in list vector; do
    measure "$experiment" 2 "$experiment"
    "$bin/acprun" -n 2 --nodes 2 "$bin/acpbench" "$experiment" --json "$report/$experiment-nodes.json"
done
for nodes in 2 3; do
    echo "== net, $nodes nodes"
    "$bin/acprun" -n "$nodes" --nodes "$nodes" --starter-size 16M "$bin/acpbench" net --json "$report/net-$nodes.json"
    "$bin/acprun" -n "$nodes" --nodes "$nodes" "$bin/acpbench" sync --json "$report/sync-nodes-$nodes.json"
done
for gateway in auto agent; do
    echo "== flag, 2 nodes, ACP_GATEWAY=$gateway"
    ACP_GATEWAY=$gateway "$bin/acprun" -n 2 --nodes 2 "$bin/acpbench" flag --json "$report/flag-$gateway.json"
done
"$bin/acprun" -n 4 --nodes 2 --starter-size 16M "$bin/acpbench" net --json "$report/net-crowd.json"
"$bin/acprun" -n 3 --nodes 3 --starter-size 16M "$bin/acpbench" copy --json "$report/copy-nodes.json"
for experiment in memory start poll; do  # these start jobs of their own
    echo "== $experiment"
    "$bin/acpbench" "$experiment" --json "$report/$experiment.json"
done
"$bin/acpbench" report --in "$report"
