#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command, and another one beside it that gets the processors only while the first one leaves them idle (SCHED_IDLE):
# tests wait much of their time, compilers never do. Then shows what the other one printed. Fails when either fails; when the
# first one fails or is interrupted, the other one is ended.
#   usage: cmake/beside.sh "other command" command [argument]...
set -u
other=$1
shift
log=$(mktemp)
set -m # a process group of its own, which can be ended as a whole; of the same session, for the kernel may share out by session
chrt --idle 0 bash -euc "$other" >"$log" 2>&1 </dev/null &
pid=$!
set +m
trap 'kill -- -"$pid" 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

"$@" || exit
tail -n +1 --pid="$pid" -f "$log"
wait "$pid"
