#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Stands for ssh in the tests: HOST COMMAND, run here as the login shell of that host would. Some hosts behave as real
# ones do on a bad day; some let the test watch.
host=$1
command=$2
# The environment of a login, and of ours only the mark by which the tests find their processes.
log_in() {
    cd / && exec env -i PATH="$PATH" HOME=/ TOOLTEST_MARK="$TOOLTEST_MARK" sh -c "$command"
}
case $host in
refuses*) echo "$host: Permission denied (publickey)." >&2; exit 255 ;;
silent*) echo "Trying to reach $host" >&2; exec tail -f /dev/null ;;
lacks*) command="exec /no/such/acp-agent --relay" ;;
noisy*) echo "Welcome to $host!"; printf 'no newline' ;;
heard*) log_in | tee "$STUB_HEARD"; exit ;;
moved*) log_in | python3 -B "${0%/*}/moved_host.py" "$STUB_INTERFACES"; exit ;;
tapped*) tee "$STUB_TAP" | log_in; exit ;;
gated*) echo "$host" >"$STUB_STARTED"; read -r opened <"$STUB_GATE" ;;
esac
log_in
