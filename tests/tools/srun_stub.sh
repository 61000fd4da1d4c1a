#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Stands for srun and blaunch in the tests, by the name under which it is called: runs the command here, as a process of a
# batch job on the named host would run, writes down its arguments and, where the test wants that, what it carries.
echo "${0##*/} $*" >>"$STUB_CALLS"
case ${0##*/} in
srun)
    while [ "${1#--}" != "$1" ]; do
        case $1 in --nodelist=*) host=${1#*=} ;; esac
        shift
    done
    ;;
blaunch)
    host=$1
    shift
    set -- /bin/sh -c "$*"
    ;;
esac
export SLURMD_NODENAME="$host" SLURM_STEP_NUM_TASKS=1
if [ -n "$STUB_TAP" ]; then tee "$STUB_TAP.$host" | "$@"; else exec "$@"; fi
