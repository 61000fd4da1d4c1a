#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs a built tree, and removes what an earlier installation put into the same prefix and this one does not have. The list
# of what was installed goes with it, into share/doc/acp, for cmake/uninstall.sh. Each file is replaced by a new one under its
# name, so that processes which run the old one keep it. DESTDIR is honoured.
#   usage: cmake/install.sh build-tree prefix
set -euo pipefail
build=$1
prefix=$2
[[ $prefix == /* ]] || { echo "install: PREFIX=$prefix is no absolute path" >&2; exit 2; }

root=${DESTDIR:-}$prefix
list=share/doc/acp/installed.txt
log=$build/install.log

cmake --install "$build" --prefix "$prefix" >"$log" || { cat "$log" >&2; exit 1; }
# A line of the log is "-- Installing: /path" or "-- Up-to-date: /path".
mapfile -t now < <(sed -n 's/^-- \(Installing\|Up-to-date\): //p' "$log" | sed "s|^$root/*||" | sort -u)
if [ -f "$root/$list" ]; then
    grep -vxFf <(printf '%s\n' "${now[@]}" "$list") "$root/$list" | while read -r gone; do
        [ -d "$root/$gone" ] && [ ! -L "$root/$gone" ] || rm -f "$root/$gone"
    done || true
fi
printf '%s\n' "${now[@]}" "$list" >"$root/$list.new"
mv "$root/$list.new" "$root/$list"
files=0
for entry in "${now[@]}"; do [ -d "$root/$entry" ] || files=$((files + 1)); done
echo "install: $files files are in $root; see share/man and share/doc/acp there"
