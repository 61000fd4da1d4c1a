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
        "$1/bin/acprun" --timeout 60 -n 3 "$work/example" >"$work/example.log" 2>&1 || fail "$example: $(cat "$work/example.log")"
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
        ACP_CC=nocc "$prefix/bin/acpcc" --help | grep -q -e -showme:compile || fail "--help without a compiler"
        first=$(grep 'examples/hello.c' "$source_tree/docs/guide/first-steps.md") # as the guide compiles it
        output=$(cd "$work" && PATH=$prefix/bin:$PATH && eval "$first" && acprun -n 2 ./hello) || fail "$first"
        [[ $output == *"hello from rank 1 of 2"* ]] || fail "hello says: $output"
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
        for kind in acp acp_static; do # in a project in C alone
            cmake -S "$consumer" -B "$work/$kind" -DCMAKE_PREFIX_PATH="$prefix" -DACP_KIND=$kind >"$work/configure.log" 2>&1 ||
                fail "$kind: $(cat "$work/configure.log")"
            cmake --build "$work/$kind" >"$work/build.log" 2>&1 || fail "$kind: $(cat "$work/build.log")"
            run_consumer "$work/$kind/consumer"
        done
        ! readelf -d "$work/acp_static/consumer" | grep -q 'libacp' || fail "the static one needs libacp.so"
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
    system_prefix) # the loader finds /usr/lib by itself
        DESTDIR=$work/usr cmake --install "$build_tree" --prefix /usr >"$work/install.log" || fail "into /usr"
        pc=$(find "$work/usr" -name acp.pc)
        ! grep -q rpath "$pc" || fail "acp.pc of /usr says: $(cat "$pc")"
        [[ $(PKG_CONFIG_PATH='' PKG_CONFIG_SYSROOT_DIR='' pkg-config --libs "$pc") == *-lacp* ]] || fail "acp.pc of /usr is not read"
        sed 's|^prefix=$(readlink.*|prefix=/usr/bin/acpcc|' "$work/usr/usr/bin/acpcc" >"$work/acpcc"
        [[ $(sh "$work/acpcc" -show x.c) != *rpath* ]] || fail "acpcc in /usr: $(sh "$work/acpcc" -show x.c)"
        own=$(find "$prefix" -name acp.pc)
        ! grep -q '//' "$own" || fail "acp.pc says: $(cat "$own")"
        [[ $(pkg-config --libs "$own") == *-Wl,-rpath,*-lacp* ]] || fail "acp.pc: $(pkg-config --libs "$own")"
        ;;
    uninstall)
        for side in one other; do
            "$source_tree/cmake/install.sh" "$build_tree" "$work/$side" >"$work/install.log" || fail "install into $side"
            "$work/$side/bin/acpcc" "$consumer/consumer.c" -o "$work/by_$side" || fail "acpcc of $side"
        done
        mkdir -p "$work/one/share/man/man1" "$work/one/lib/theirs"
        echo theirs >"$work/one/share/man/man1/theirs.1"
        # What an earlier version had, and this one does not.
        echo old >"$work/one/lib/libacp_old.so" && echo lib/libacp_old.so >>"$work/one/share/doc/acp/installed.txt"
        "$source_tree/cmake/install.sh" "$build_tree" "$work/one" >"$work/install.log" || fail "install again"
        [[ ! -e $work/one/lib/libacp_old.so ]] || fail "a file of an earlier version stays"
        run_consumer "$work/by_one"
        "$source_tree/cmake/uninstall.sh" "$work/one" >"$work/uninstall.log" || fail "uninstall: $(cat "$work/uninstall.log")"
        left=$(cd "$work/one" && find . | sort | tr '\n' ' ')
        [[ $left == ". ./lib ./lib/theirs ./share ./share/man ./share/man/man1 ./share/man/man1/theirs.1 " ]] || fail "left: $left"
        ! "$work/by_one" 2>/dev/null || fail "a program runs without its library"
        run_consumer "$work/by_other" # the second version beside it is whole
        "$work/other/bin/acprun" -n 2 "$work/by_other" >"$work/run.log" || fail "acprun of the other one: $(cat "$work/run.log")"
        ! "$source_tree/cmake/uninstall.sh" "$work/one" 2>"$work/again.log" || fail "uninstalled twice"
        grep -q "make install has put nothing into" "$work/again.log" || fail "twice: $(cat "$work/again.log")"
        echo ../by_other >>"$work/other/share/doc/acp/installed.txt"
        ! "$source_tree/cmake/uninstall.sh" "$work/other" 2>/dev/null || fail "a list that names files outside is followed"
        [[ -e $work/by_other && -e $work/other/bin/acprun ]] || fail "something was removed by a bad list"
        ;;
    upgrade) # under a job that runs
        "$prefix/bin/acpcc" "$source_tree/tests/install/consumer/waits.c" -o "$work/waits" || fail "waits.c"
        mkfifo "$work/go"
        "$prefix/bin/acprun" -n 4 --nodes 2 "$work/waits" <"$work/go" >"$work/job.log" 2>&1 &
        job=$!
        exec 3>"$work/go"
        until grep -q ready "$work/job.log"; do kill -0 $job 2>/dev/null || fail "the job: $(cat "$work/job.log")"; done
        before=$(stat -Lc %i "$prefix"/lib*/libacp.so.4 "$prefix/bin/acp-agent")
        find "$prefix" -type f -exec touch -d '2 days ago' {} + # else CMake takes them for up to date
        "$source_tree/cmake/install.sh" "$build_tree" "$prefix" >"$work/install.log" || fail "the upgrade"
        [[ $before != $(stat -Lc %i "$prefix"/lib*/libacp.so.4 "$prefix/bin/acp-agent") ]] || fail "files were written in place"
        "$prefix/bin/acprun" -n 2 --nodes 2 "$work/waits" </dev/null >"$work/new.log" 2>&1 || fail "a new job: $(cat "$work/new.log")"
        echo >&3
        exec 3>&-
        wait $job || fail "the job that ran: $(cat "$work/job.log")"
        grep -q "rank 0 of 4: done" "$work/job.log" || fail "the job that ran says: $(cat "$work/job.log")"
        ;;
    new_packages) # CMake searches again for missing programs once packages were installed
        tree=$work/tree
        mkdir -p "$tree/cmake" "$tree/build/release" "$work/bin"
        cp "$source_tree/cmake/build.sh" "$source_tree/cmake/progress.sh" "$tree/cmake/"
        printf '#!/bin/sh\n[ "$1" != --preset ] || echo configured >>%q\n' "$work/calls" >"$work/bin/cmake"
        chmod +x "$work/bin/cmake"
        touch "$work/packages" "$tree/build/release/CMakeCache.txt"
        build() {
            (cd "$tree" && PATH=$work/bin:$PATH ACP_PACKAGES_CHANGED=$work/packages cmake/build.sh release 1 OFF docs >"$work/build.log" 2>&1) ||
                fail "build.sh: $(cat "$work/build.log")"
        }
        build # of a tree that an earlier version of this script has configured
        [[ $(wc -l <"$work/calls") == 1 ]] || fail "a tree of unknown age is not configured"
        touch -d '1 hour ago' "$work/packages"
        build
        [[ $(wc -l <"$work/calls") == 1 ]] || fail "configured without a reason"
        touch -d '1 hour' "$work/packages"
        build
        [[ $(wc -l <"$work/calls") == 2 ]] || fail "packages were installed, and nothing is configured"
        ;;
    no_paths) # of the machine that built it
        while read -r file; do
            ! grep -qaF -e "$source_tree/" -e "$build_tree/" "$file" || fail "$file names the folder it was built in:
$(strings "$file" | grep -F -e "$source_tree/" -e "$build_tree/" | head -n 5)"
        done < <(find "$prefix" -type f)
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
