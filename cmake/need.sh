#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fails, naming them, when programs that the caller is about to run were not built.
#   usage: cmake/need.sh program...
set -eu
missing=
for program in "$@"; do
    [ -x "$program" ] || missing="$missing $program"
done
[ -z "$missing" ] && exit 0
echo "not built:$missing (is its folder in tools/ or examples/ complete? see the output of the build)" >&2
exit 1
