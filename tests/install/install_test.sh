#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the built tree into an empty folder and uses it there in one way, as a job of one rank.
#   usage: install_test.sh way source-tree build-tree empty-folder
set -euo pipefail
way=$1
source_tree=$2
build_tree=$3
work=$4
consumer=$source_tree/tests/install/consumer
prefix=$work/prefix

fail() {
    echo "install.$way: $*" >&2
    exit 1
}

install_acp() {
    rm -rf "$work"
    mkdir -p "$work"
    cmake --install "$build_tree" --prefix "$prefix" >"$work/install.log" || fail "install failed: $(cat "$work/install.log")"
}

# The program says which version it runs with; it must find the library without help.
run_consumer() {
    local output
    output=$(env -u LD_LIBRARY_PATH "$1") || fail "$1 failed"
    [[ $output == "rank 0 of 1: copied 42 with ACP 4."* ]] || fail "unexpected output: $output"
}

by_acpcc() {
    "$1/bin/acpcc" -O1 -Wall -Werror "$consumer/consumer.c" -o "$work/by_acpcc"
    run_consumer "$work/by_acpcc"
    "$1/bin/acpc++" -std=c++20 -Wall -Werror -x c++ "$consumer/consumer.c" -x none -o "$work/by_acpcxx"
    run_consumer "$work/by_acpcxx"
    for example in "$1"/share/doc/acp/examples/*.c; do
        "$1/bin/acpcc" -Wall -Werror "$example" -lm -o "$work/example" || fail "$example is not compiled"
        "$1/bin/acprun" -n 3 "$work/example" >"$work/example.log" 2>&1 || fail "$example: $(cat "$work/example.log")"
    done
    for example in "$1"/share/doc/acp/examples/*.cpp; do # they want files
        "$1/bin/acpc++" -std=c++20 -Wall -Werror "$example" -o "$work/example" || fail "$example is not compiled"
    done
}

# Where the compiler can, a program's object file has the library called through the loader's pointer: acp/export.h.
check_calls_by_pointer() {
    [[ $(echo '__has_attribute(noplt)' | cc -E -P -x c - 2>/dev/null) == 1 ]] || return 0
    readelf -rW "$1" | grep -q ' acp_copy ' || fail "no call of acp_copy in $1"
    if readelf -rW "$1" | grep -E '(PLT32|CALL26) .* acp_'; then fail "calls through the linkage table in $1"; fi
}

install_acp
case $way in
    acpcc)
        by_acpcc "$prefix"
        [[ $("$prefix/bin/acpcc" -show -c x.c) == "cc -I$prefix/include -c x.c" ]] || fail "-show -c"
        [[ $(ACP_CC=clang "$prefix/bin/acpcc" -show x.c) == "clang -I$prefix/include x.c -L"*" -lacp" ]] || fail "-show"
        [[ $("$prefix/bin/acpcc" -compat3 -show -c x.c) == "cc -I$prefix/include -DACP_COMPAT3 -c x.c" ]] || fail "-compat3 -show"
        [[ $("$prefix/bin/acpcc" -compat3 --showme:compile) == "-I$prefix/include -DACP_COMPAT3" ]] || fail "-compat3 --showme:compile"
        [[ $("$prefix/bin/acpcc" --showme:compile) == "-I$prefix/include" ]] || fail "--showme:compile"
        [[ $("$prefix/bin/acpc++" --showme:link) == "-L$prefix/lib"*" -lacp" ]] || fail "--showme:link"
        "$prefix/bin/acpcc" -c "$consumer/consumer.c" -o "$work/space in name.o" || fail "a file name with spaces"
        check_calls_by_pointer "$work/space in name.o"
        "$prefix/bin/acpcc" --version >/dev/null || fail "--version"
        ;;
    pkg_config)
        export PKG_CONFIG_PATH
        PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name acp.pc)")
        read -ra flags < <(pkg-config --cflags --libs acp)
        cc "$consumer/consumer.c" "${flags[@]}" -o "$work/by_pkg_config"
        run_consumer "$work/by_pkg_config"
        [[ $(pkg-config --modversion acp) == 4.* ]] || fail "version of acp.pc"
        ;;
    static)
        export PKG_CONFIG_PATH
        PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name acp.pc)")
        read -ra flags < <(pkg-config --static --cflags --libs acp)
        cc -static "$consumer/consumer.c" "${flags[@]}" -o "$work/static" 2>"$work/static.log" ||
            fail "a static program does not link: $(cat "$work/static.log")"
        run_consumer "$work/static"
        "$prefix/bin/acpcc" -static "$consumer/consumer.c" -o "$work/by_acpcc" 2>>"$work/static.log" ||
            fail "acpcc -static: $(cat "$work/static.log")"
        run_consumer "$work/by_acpcc"
        output=$("$prefix/bin/acprun" -n 2 --nodes 2 "$work/static" 2>"$work/static.err") || fail "the static program fails on 2 nodes"
        [[ $(grep -c "is linked statically and cannot load libcrypto" "$work/static.err") == 1 ]] ||
            fail "nothing was said of the slower way: $(cat "$work/static.err")"
        output=$(ACP_SECURITY=off "$prefix/bin/acprun" -n 2 --nodes 2 "$work/static" 2>"$work/static.err") ||
            fail "the static program fails on 2 nodes without security"
        grep -q "linked statically" "$work/static.err" && fail "it needs no libcrypto: $(cat "$work/static.err")"
        [[ $output == *"rank 1 of 2: copied 42"* ]] || fail "unexpected output on 2 nodes: $output"
        ;;
    html)
        pages=$prefix/share/doc/acp/html
        for page in index.html man/acp_copy.3.html guide/first-steps.html guide/exchange.html; do
            [[ -s $pages/$page ]] || fail "no page $page in $pages"
        done
        while read -r cited; do # by man pages, as a file below ACP's folder
            [[ -s $prefix/$cited ]] || fail "a man page cites $cited, which is not there"
        done < <(grep -rhoE 'share/doc/acp/[a-z_/-]+\.html' "$prefix/share/man" | sort -u)
        while IFS=: read -r page link; do
            link=${link#href=\"}
            link=${link%%[#\"]*}
            [[ -z $link || $link == *:* || -e $(dirname "$page")/$link ]] || fail "$page links to $link, which is not there"
        done < <(grep -roE 'href="[^"]*"' "$pages")
        ;;
    find_package)
        cmake -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log"
        cmake --build "$work/build" >"$work/build.log"
        run_consumer "$work/build/consumer"
        ;;
    subdirectory)
        cmake -S "$consumer" -B "$work/build" -DACP_SOURCE="$source_tree" \
            -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON >"$work/configure.log"
        cmake --build "$work/build" -j 2 >"$work/build.log"
        run_consumer "$work/build/consumer"
        ;;
    moved_tree)
        mv "$prefix" "$work/elsewhere"
        by_acpcc "$work/elsewhere"
        [[ $(env -u LD_LIBRARY_PATH "$work/elsewhere/bin/acprun" -n 2 true; echo $?) == 0 ]] || fail "acprun after the move"
        ;;
    man_pages)
        while read -r function; do
            [[ -s $prefix/share/man/man3/$function.3 ]] || fail "no man page $function.3"
        done < <(grep -v '^#' "$source_tree/lint/exports.txt")
        command -v groff >/dev/null || exit 0
        while read -r page; do # at 80 columns, of which man fills 78
            said=$(groff -man -t -Tutf8 -rLL=78n "$page" 2>&1 >/dev/null)
            [[ -z $said ]] || fail "${page##*/}: $said"
        done < <(grep -rL '^\.so ' "$prefix/share/man")
        ;;
    *) fail "unknown way" ;;
esac
