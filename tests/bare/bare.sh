#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The first commands of a user, on a system that has nothing: makes a minimal Debian in a folder with the package
# sources of this machine, clones the committed sources into it, and there runs `make` as a user (who is told what to
# install), `make` and `make run` as root, and the program of README.md on 3 ranks and on 3 nodes, as root and as the
# user. Mounts live in a namespace of their own, so nothing stays behind but the folder's removal. Skipped, loudly, where
# such a system cannot be made.
#   usage: tests/bare/bare.sh
# BARE_CCACHE=FOLDER is ccache's folder in it, too: what this machine has compiled from the same sources with the same WERROR is not
# compiled again, as long as compiler and headers there are the same, byte by byte.
# BARE_CACHE=FILE keeps the minimal system in that archive, and takes it from there when it is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
source_tree=$PWD

skip() {
    echo "bare: SKIPPED, not tested: $*" >&2
    echo "bare: 0 passed, 0 failed, 1 skipped"
    exit 0
}
fail() {
    echo "bare: FAILED: $*" >&2
    exit 1
}
if [ "${ACP_BARE_INSIDE:-}" != yes ]; then
    [ "$(id -u)" -eq 0 ] || skip "it takes root to make a system in a folder"
    for tool in debootstrap unshare chroot git apt-get; do
        command -v "$tool" >/dev/null || skip "there is no $tool here"
    done
    unshare --mount true 2>/dev/null || skip "this root may not make a mount namespace"
    exec env ACP_BARE_INSIDE=yes unshare --mount --propagation private "$0"
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/acp-bare.XXXXXX")
ccache=/root/.cache/ccache # there
# Everything mounted below goes with this namespace; rm must not reach what is mounted, hence the lazy unmounts first.
clean_up() {
    umount -l "$root/proc" "$root/dev/shm" "$root/dev" "$root$ccache" 2>/dev/null || true
    mountpoint -q "$root/dev" || mountpoint -q "$root$ccache" || rm -rf --one-file-system "$root"
}
trap clean_up EXIT
chmod 755 "$root"

# Where this machine takes its packages from, and how: all of it stands in apt's settings.
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v codename="$codename" '$1 == codename && $2 == "main" { print $3; exit }')
[ -n "$mirror" ] || skip "apt knows no source for \"$codename\" (apt-get update was not run?)"
proxy=$(apt-config shell value Acquire::http::Proxy | sed "s/^value='\(.*\)'$/\1/")
[ -z "$proxy" ] || export http_proxy=${http_proxy:-$proxy}

echo "bare: making a minimal $codename in $root"
started=$SECONDS
if [ -s "${BARE_CACHE:-}" ]; then
    tar -xpf "$BARE_CACHE" -C "$root"
elif ! debootstrap --variant=minbase --include=make,git "$codename" "$root" "$mirror" >"$root.log" 2>&1; then
    tail -n 20 "$root.log" >&2
    rm -f "$root.log"
    skip "debootstrap could not make one (its last lines are above)"
fi
rm -f "$root.log"
[ -z "${BARE_CACHE:-}" ] || [ -s "$BARE_CACHE" ] || tar -cpf "$BARE_CACHE" -C "$root" .
for settings in /etc/apt /etc/hosts /etc/resolv.conf /usr/share/keyrings /etc/ssl/certs /usr/share/ca-certificates \
    /usr/local/share/ca-certificates; do
    [ ! -e "$settings" ] || { mkdir -p "$root$(dirname "$settings")" && cp -aL "$settings" "$root$(dirname "$settings")/"; }
done
rm -f "$root"/etc/apt/apt.conf.d/*{packagekit,appstream}  # they call what a minimal system does not have
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
echo "bare: made in $((SECONDS - started)) s"

tree=/root/acp # of root, there
if [ -d "${BARE_CCACHE:-}" ]; then
    tree=$source_tree # compilations are told apart by their paths
    mkdir -p "$root$ccache"
    mount --bind "$BARE_CCACHE" "$root$ccache"
    echo "bare: compilations are taken from $BARE_CCACHE"
fi
git clone -q --no-hardlinks "$source_tree" "$root$tree"
chroot "$root" useradd --create-home user
cp -a "$root$tree" "$root/home/user/acp"
chroot "$root" chown -R user: /home/user/acp

# inside(user, command): runs it in the clone of that user, with nothing of this machine's environment.
inside() {
    local user=$1 home=/home/$1 where=/home/$1/acp
    [ "$user" != root ] || { home=/root where=$tree; }
    chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME="$home" LANG=C.UTF-8 WERROR="${WERROR:-OFF}" ${BARE_CCACHE:+CCACHE_DIR=$ccache} \
        http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
        setpriv --reuid="$user" --regid="$user" --init-groups bash -euc "cd $where; $2" </dev/null
}
passed=0
ok() {
    echo "bare: ok: $*"
    passed=$((passed + 1))
}

# For a user without rights make prints the missing packages and the command that installs them.
if told=$(inside user "make run" 2>&1); then fail "make run as a user without packages succeeded: $told"; fi
[[ $told == *"packages are missing:"*g++* && $told == *"sudo apt-get install"*g++* ]] ||
    fail "a user without packages is told: $told"
ok "a user is told what to install"

started=$SECONDS
inside root "cmake/setup.sh build run" || fail "the packages cannot be installed"
ok "packages installed in $((SECONDS - started)) s"
# timed(name, command): runs it as root and says how long it took.
TIMEFORMAT='%0R s, %U + %S CPU s'
timed() {
    local name=$1
    { time inside root "$2" 2>&3; } 3>&2 2>"$root/time" || fail "$name"
    ok "$name: $(tail -n 1 "$root/time")"
}
timed "make" "make"
timed "make run" "make run >/tmp/run.txt 2>&1 || { cat /tmp/run.txt >&2; exit 1; }"
tail -n 45 "$root/tmp/run.txt"
[ -s "$root$tree/build/report/index.html" ] || fail "make run wrote no report page"
ok "make run wrote the report page, and $(wc -l <"$root/tmp/run.txt") lines"

# hello(user, folder with bin/): the program of README.md with what stands in the folder.
hello() {
    awk '/^```c$/ { is_code = 1; next } /^```$/ { is_code = 0 } is_code' README.md >"$root/tmp/hello.c"
    chmod a+r "$root/tmp/hello.c"
    inside "$1" "cd; export PATH=$2/bin:\$PATH; acpcc /tmp/hello.c -o hello; acprun -n 3 ./hello >on_ranks
        acprun -n 3 --nodes 3 ./hello >on_nodes" || fail "hello as $1"
    local home=$root/home/$1
    [ "$1" != root ] || home=$root/root
    for output in on_ranks on_nodes; do
        [ "$(sort "$home/$output")" = "rank 0 of 3: 0
rank 1 of 3: 0
rank 2 of 3: 1101" ] || fail "hello as $1, $output, says: $(cat "$home/$output")"
    done
    ok "hello on 3 ranks and on 3 nodes as $1"
}
hello root "$tree/build/release"
# Every user may use what root installs by the commands of README.md. The first make did not want pandoc; this one does.
timed "make install" "make install PREFIX=/usr/local"
for page in share/man/man3/acp_put.3 share/man/man1/acprun.1 share/man/man7/acp.7 share/doc/acp/html/index.html; do
    [ -s "$root/usr/local/$page" ] || fail "make install has made no $page"
done
hello user /usr/local
echo "bare: libacp.so.4 installed has $(stat -Lc %s "$root/usr/local/lib/libacp.so.4") bytes"
inside root "make uninstall PREFIX=/usr/local" || fail "make uninstall"
left=$(find "$root/usr/local" -name '*acp*' | head -n 5)
[ -z "$left" ] || fail "make uninstall leaves $left"
ok "make uninstall leaves nothing"
echo "bare: $passed passed, 0 failed"
