#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes sure that the Debian packages for the given purposes (see packages.txt) are there: installs them when
# run by root, else names them and the command, and fails. Quick and silent when nothing is missing.
#   usage: cmake/setup.sh build [run|test|fuzz|bench|peers|aarch64]...
set -eu
list=$(dirname "$0")/packages.txt

architecture=$(dpkg --print-architecture 2>/dev/null || true)
wanted=
for purpose in "$@"; do
    found=$(awk -v purpose="$purpose" -v architecture="$architecture" '
        $1 == purpose {
            count = split($2, parts, /[][]/)
            if (count == 1 || parts[2] == architecture) print parts[1]
        }' "$list")
    if [ -z "$found" ]; then
        echo "setup: no purpose \"$purpose\" in $list" >&2
        exit 2
    fi
    wanted="$wanted $found"
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: not a Debian system; needed are what Debian calls:$(echo " $wanted" | tr '\n' ' ')" >&2
    exit 0
fi

missing=$(
    # shellcheck disable=SC2086  # a list of names
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
        awk -v wanted="$(echo "$wanted" | tr '\n' ' ')" '
            $1 == "installed" { have[$2] = 1 }
            END {
                count = split(wanted, names, " ")
                for (i = 1; i <= count; ++i)
                    if (!(names[i] in have)) { have[names[i]] = 1; printf " %s", names[i] }
            }'
)
[ -z "$missing" ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "setup: these Debian packages are missing:$missing" >&2
    echo "       install them with: sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

echo "setup: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# Slim images leave /usr/share/doc out, where Debian keeps the example reads.
# shellcheck disable=SC2086  # a list of names
if ! { apt-get update && apt-get install -y --no-install-recommends \
        -o 'Dpkg::Options::=--path-include=/usr/share/doc/bowtie2/*' $missing; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "setup: apt-get failed (its output is above); by hand: apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
