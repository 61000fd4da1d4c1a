#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Removes what cmake/install.sh has installed: the files that its list names, and the folders that are empty then. What others
# have put there stays. DESTDIR is honoured.
#   usage: cmake/uninstall.sh prefix
set -euo pipefail
prefix=$1
root=${DESTDIR:-}$prefix
list=$root/share/doc/acp/installed.txt
[ -f "$list" ] || { echo "uninstall: there is no $list: make install has put nothing into $prefix" >&2; exit 1; }
if grep -qE '^/|(^|/)\.\.(/|$)' "$list"; then
    echo "uninstall: $list names files outside of $prefix; nothing was removed" >&2
    exit 1
fi
mapfile -t entries <"$list"
folders=()
removed=0
for entry in "${entries[@]}"; do
    [ -n "$entry" ] || continue
    if [ -d "$root/$entry" ] && [ ! -L "$root/$entry" ]; then
        folders+=("$entry")
    elif [ -e "$root/$entry" ] || [ -L "$root/$entry" ]; then
        rm -f "$root/$entry"
        removed=$((removed + 1))
    fi
    while [[ $entry == */* ]]; do
        entry=${entry%/*}
        folders+=("$entry")
    done
done
# The deepest first; those that hold something of others stay.
printf '%s\n' "${folders[@]}" | sort -ur | while read -r folder; do
    rmdir --ignore-fail-on-non-empty "$root/$folder" 2>/dev/null || true
done
echo "uninstall: $removed files removed from $root"
