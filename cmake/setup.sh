#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes sure that the Debian packages for the given purposes (see packages.txt) are there: installs them when
# run by root, showing how far it is, else names them and the command, and fails. Quick and silent when nothing is
# missing.
#   usage: cmake/setup.sh build [run|docs|test|bare|fuzz|bench|peers|aarch64]...
set -euo pipefail
here=$(dirname "$0")
list=$here/packages.txt

# wanted_of(purpose): its packages for this architecture, those that can be done without with a "?" behind.
architecture=$(dpkg --print-architecture 2>/dev/null || true)
wanted_of() {
    awk -v purpose="$1" -v architecture="$architecture" '
        $1 == purpose {
            mark = sub(/\?$/, "", $2) ? "?" : ""
            count = split($2, parts, /[][]/)
            if (count == 1 || parts[2] == architecture) print parts[1] mark
        }' "$list"
}
needed=()
helpful=()
for purpose in "$@"; do
    found=$(wanted_of "$purpose")
    if ! grep -q "^$purpose " "$list"; then
        echo "setup: no purpose \"$purpose\" in $list" >&2
        exit 2
    fi
    for package in $found; do
        if [[ $package == *\? ]]; then helpful+=("${package%\?}"); else needed+=("$package"); fi
    done
done

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; needed is what Debian calls: ${needed[*]} (faster with: ${helpful[*]-})" >&2
    exit 0
fi

# missing_of(package...): those that are not installed, each once.
missing_of() {
    [ $# -gt 0 ] || return 0
    { dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } |
        awk -v wanted="$*" '
            $1 == "installed" { have[$2] = 1 }
            END {
                count = split(wanted, names, " ")
                for (i = 1; i <= count; ++i)
                    if (!(names[i] in have)) { have[names[i]] = 1; print names[i] }
            }'
}
# known_of(package...): those that this system's package lists have.
known_of() {
    for package in "$@"; do
        if apt-cache show "$package" >/dev/null 2>&1; then echo "$package"; fi
    done
}
mapfile -t missing < <(missing_of "${needed[@]}")
mapfile -t helpers < <(missing_of ${helpful[@]+"${helpful[@]}"})

if [ "$(id -u)" -ne 0 ]; then
    [ ${#missing[@]} -gt 0 ] || exit 0  # it works without the helpers
    mapfile -t helpers < <(known_of ${helpers[@]+"${helpers[@]}"})
    all="${missing[*]} ${helpers[*]-}"
    echo "setup: these Debian packages are missing: $all" >&2
    echo "       install them with: sudo apt-get install --no-install-recommends $all" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# Told apart where nothing is missing but what this system's lists do not have: that is no reason to ask the net.
if [ ${#missing[@]} -eq 0 ]; then
    mapfile -t helpers < <(known_of ${helpers[@]+"${helpers[@]}"})
    [ ${#helpers[@]} -gt 0 ] || exit 0
fi
fail() {
    cat "$log" >&2
    echo "setup: apt-get failed (its output is above); by hand: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
}
echo "setup: fetching the lists of packages"
apt-get update >"$log" 2>&1 </dev/null || fail
mapfile -t helpers < <(known_of ${helpers[@]+"${helpers[@]}"})
missing+=(${helpers[@]+"${helpers[@]}"})
echo "setup: installing ${missing[*]}"
started=$SECONDS
# apt tells how far it is on descriptor 3, as "pmstatus:package:percent:what" and "dlstatus:number:percent:what".
# Slim images leave /usr/share/doc out, where Debian keeps the example reads.
{ apt-get install -y --no-install-recommends -o APT::Status-Fd=3 \
    -o 'Dpkg::Options::=--path-include=/usr/share/doc/bowtie2/*' "${missing[@]}" 3>&1 >"$log" 2>&1 </dev/null |
    while IFS=: read -r _ _ percent what; do echo "[${percent%.*} %] $what"; done | "$here/progress.sh"; } || fail
echo "setup: packages installed in $((SECONDS - started)) s"
