#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Configures a preset where that has not been done, or where packages were installed since, builds targets of it, and shows how
# far the build is. What CMake did not find it would not look for again.
#   usage: cmake/build.sh preset jobs warnings-are-errors(ON|OFF) [target]...
set -euo pipefail
preset=$1
jobs=$2
werror=$3
shift 3
targets=()
for target in "$@"; do targets+=(--target "$target"); done

folder=build/$preset
[ "$preset" != test ] || folder=build/release
has() { grep -q "^$1:[A-Z]*=$2\$" "$folder/CMakeCache.txt" 2>/dev/null; }
started=$SECONDS
options=()
[ "$werror" != ON ] || options=(-DACP_WERROR=ON)
stamp=$folder/configured.stamp
packages=${ACP_PACKAGES_CHANGED:-/var/lib/dpkg/status}  # changes with each package that is installed
if [ ! -f "$folder/CMakeCache.txt" ] || [ ! -f "$stamp" ] || [ "$packages" -nt "$stamp" ] || { [ "$preset" = test ] && ! has ACP_TESTS ON; } ||
    { [ "$werror" = ON ] && ! has ACP_WERROR ON; }; then
    echo "build: configuring $folder"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! cmake --preset "$preset" --log-level=WARNING "${options[@]}" >"$log" 2>&1; then
        cat "$log" >&2
        echo "build: CMake cannot configure $folder (its output is above); cmake/setup.sh build installs or names" \
            "what is missing on Debian" >&2
        exit 1
    fi
    touch "$stamp"
fi
if [ -t 1 ] && [ "${CMAKE_GENERATOR:-}" = Ninja ]; then
    cmake --build "$folder" -j "$jobs" "${targets[@]}"  # has a counter on one line
else
    cmake --build "$folder" -j "$jobs" "${targets[@]}" | cmake/progress.sh
fi
echo "build: ${*:-all} of $folder built in $((SECONDS - started)) s"
