#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the library twice, in two folders, from the files that git knows, and compares: nothing of a folder, of the time or
# of the order of work is in it. Without optimisation, which takes the place of nothing that could differ, and without a compiler
# cache, which would hide a difference.
#   usage: two_builds.sh source-tree empty-folder
set -euo pipefail
source_tree=$1
work=$2
rm -rf "$work"
export SOURCE_DATE_EPOCH=1 CCACHE_DISABLE=1
for side in one/acp another/folder/of/acp; do
    mkdir -p "$work/$side"
    git -C "$source_tree" ls-files -z CMakeLists.txt CMakePresets.json cmake docs include src LICENSE LICENSES examples |
        tar -C "$source_tree" --null -T - -cf - | tar -C "$work/$side" -xf -
    cmake -S "$work/$side" -B "$work/$side/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O0 -g -DNDEBUG" \
        -DACP_PROGRAMS=OFF >"$work/configure.log" 2>&1 || { cat "$work/configure.log" >&2; exit 1; }
    cmake --build "$work/$side/build" -j 2 --target acp acp_static >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; exit 1; }
done
cd "$work"
for file in lib/libacp.so.4 lib/libacp.a; do
    cmp "one/acp/build/$file" "another/folder/of/acp/build/$file" ||
        { echo "two_builds: $file differs between two folders" >&2; exit 1; }
done
echo "two_builds: libacp.so and libacp.a are equal"
