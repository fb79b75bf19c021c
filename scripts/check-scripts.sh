#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests of the scripts and of the Makefile: what they refuse, and what they leave behind. Builds
# nothing. RKNPU_RESULTS names a file for "pass|fail|skip scripts: NAME" lines.
# shellcheck disable=SC2317 # the functions are called by name through try()
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_arguments "$@"

need git make dtc python3
cache=$RKNPU_CACHE
work=$(mktemp -d "${TMPDIR:-/tmp}/rknpu-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
suite=scripts # for verdict
# try NAME FUNCTION: it runs in a shell that stops at the first thing that fails; 4 = skipped
try() {
    local status=0
    (set -x && "$2") >"$work/log" 2>&1 &
    wait $! || status=$?
    case $status in
    0) verdict pass "$1" ;;
    4) verdict skip "$1: $(tail -n 1 "$work/log" | sed 's/^+ //')" ;;
    *)
        tail -n "${STYLE_LINES:-20}" "$work/log" >&2
        verdict fail "$1"
        ;;
    esac
}

# Commands of the tests stand alone, so that the shell stops at each one: not behind "&&" or "!".
not() { ! "$@"; }
# refused COMMAND...: it fails, says something, and nothing that only its author understands
refused() {
    local said status=0
    said=$("$@" 2>&1 </dev/null) || status=$?
    [ "$status" -ne 0 ]
    [ "$status" -ne 124 ] # that of timeout
    [ -n "$said" ]
    not grep -E 'unbound variable|unexpected operator|: line [0-9]+:|syntax error' <<<"$said"
    said_last=$said
}
says() { grep -qF -- "$1" <<<"$said_last"; }

# A copy of the tree in a folder with a blank in its name; $work/a must not be taken for it.
tree="$work/a tree"
mkdir "$tree" && echo keep >"$work/a"
(cd "$RKNPU_ROOT" && git ls-files -z Makefile scripts kernel dts uapi LICENSES userspace/CMakeLists.txt |
    while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
    xargs -0 cp -P --parents -t "$tree")
cp -P "$RKNPU_ROOT"/scripts/*.sh "$tree/scripts/"
unset MAKEFLAGS MAKELEVEL RKNPU_BUILD DESTDIR
remake() { make --no-print-directory -C "$tree" "$@"; }
export RKNPU_CACHE=$work/cache

# What kbuild leaves beside the sources
products=(rknpu.ko rknpu.o rknpu_drv.o .rknpu_drv.o.cmd .rknpu_drv.o.d rknpu.mod rknpu.mod.c rknpu.mod.o
    Module.symvers modules.order compat/compat_config.h compat/compat_config.log
    compat/.compat_config.h.cmd)
litter() {
    local file
    for file in "${products[@]}"; do echo old >"$tree/kernel/$file"; done
}
in_kernel() { (cd "$tree/kernel" && find . ! -type d | sort); }
stub() { # stub NAME...: programs that do nothing but print how they were called
    local name
    mkdir -p "$work/stubs"
    for name in "$@"; do
        # shellcheck disable=SC2016 # expanded by the stub
        printf '#!/bin/sh\necho "${0##*/}" "$@"\n' >"$work/stubs/$name"
        chmod +x "$work/stubs/$name"
    done
}

explained() {
    local script
    for script in "$tree"/scripts/*.sh; do
        case ${script##*/} in lib.sh | packages-guest.sh) continue ;; esac
        "$script" --help >"$work/help"
        [ "$(wc -w <"$work/help")" -gt 8 ]
        [ ! -e "$tree/build" ]
        [ ! -e "$RKNPU_CACHE" ]
    done
}
wrong_arguments() {
    local script
    for script in "$tree"/scripts/*.sh; do
        case ${script##*/} in lib.sh | packages-guest.sh | arm64-ns.sh) continue ;; esac
        refused timeout 20 env -i PATH="$PATH" RKNPU_CACHE="$RKNPU_CACHE" "$script" --no-such-option
    done
    refused "$tree/scripts/setup.sh" demos
    refused "$tree/scripts/fetch.sh" --path
    refused "$tree/scripts/fetch.sh"
    refused "$tree/scripts/fetch.sh" nothing
    refused "$tree/scripts/stage-dkms.sh"
    refused "$tree/scripts/stage-bsp.sh"
    refused "$tree/scripts/build-module.sh"
    refused "$tree/scripts/build-userspace.sh"
}
vm_arguments() {
    local option
    refused "$tree/scripts/run-vm.sh"
    says "usage: run-vm.sh"
    while read -r option; do
        refused "$tree/scripts/run-vm.sh" --run true "$option"
        says "usage: run-vm.sh"
        says "'$option'"
    done < <("$tree/scripts/run-vm.sh" --help | sed -n 's/^  \(--[a-z-]*\) [A-Z].*/\1/p')
    says "'--results'" # the last one of them
}
homeless() {
    local passwd
    passwd=$(env -u HOME -u XDG_CACHE_HOME -u RKNPU_CACHE bash -uc ". '$tree/scripts/lib.sh'; echo \$RKNPU_CACHE")
    [ "$passwd" = "$(getent passwd "$(id -u)" | cut -d: -f6)/.cache/rknpu" ]
}
unwritable() {
    refused env RKNPU_CACHE=/dev/null/x "$tree/scripts/fetch.sh" busybox
    says "cure:  set RKNPU_CACHE"
    refused env RKNPU_BUILD=/dev/null/x "$tree/scripts/build-dtbs.sh"
    says "cure:  set RKNPU_BUILD"
    refused env TMPDIR=/dev/null/x bash -c ". '$tree/scripts/lib.sh'; step text true"
    says "cure:  set TMPDIR"
}

cleaned() {
    local before
    before=$(in_kernel)
    litter
    RKNPU_BUILD="$tree/bl ank" remake dtbs clean
    [ ! -e "$tree/bl ank" ]
    [ "$(in_kernel)" = "$before" ]
    remake dtbs
    [ -e "$tree/build/dts" ]
    remake clean
    [ ! -e "$tree/build" ]
    [ -e "$work/a" ]
}
not_cleaned() {
    mkdir -p "$work/precious" && echo x >"$work/precious/file"
    refused env RKNPU_BUILD="$work/precious" make -C "$tree" clean
    RKNPU_BUILD="$work/precious" remake dtbs
    refused env RKNPU_BUILD="$work/precious" make -C "$tree" clean
    [ -e "$work/precious/file" ]
}
ignored() {
    local file
    for file in "${products[@]}"; do
        git -C "$RKNPU_ROOT" check-ignore -q "kernel/$file"
    done
}
uninstalled() {
    local root="$work/x & y" file
    mkdir -p "$tree/build/userspace" "$root/usr/lib"
    for file in "$work/x" "$work/y" "$root/usr/lib/a b" "$root/usr/lib/c" "$root/usr/lib/other"; do
        echo x >"$file"
    done
    printf '/usr/lib/a b\n/usr/lib/c' >"$tree/build/userspace/install_manifest.txt"
    remake uninstall DESTDIR="$root"
    [ -e "$work/x" ]
    [ -e "$work/y" ]
    [ "$(ls "$root/usr/lib")" = other ]
    rm -r "$tree/build"
    refused make -C "$tree" uninstall DESTDIR="$root"
}
headers_with_blanks() {
    refused make -C "$tree" modules KDIR="$work/no headers"
    says "No kernel headers in $work/no headers"
    mkdir "$work/some headers" && : >"$work/some headers/Makefile"
    refused make -C "$tree" modules KDIR="$work/some headers"
    says "blanks in its name"
}
# A build with in-tree products beside the sources, twice: only links to sources are made.
only_sources() {
    local kernel=$cache/kernel-6.12 tree_of_links wanted
    [ -e "$kernel/stamp" ] || { : "kernel 6.12 is not in the cache" && exit 4; }
    stub make aarch64-linux-gnu-gcc
    mkdir -p "$work/src" && cp -rP "$tree/kernel" "$tree/uapi" "$work/src/"
    rm -rf "$work/src/kernel/tests"
    wanted=$(cd "$work/src/kernel" && find . ! -type d | sort)
    for _ in 1 2; do
        PATH=$work/stubs:$PATH RKNPU_CACHE=$cache RKNPU_BUILD=$work/modules KERNEL_SRC=$work/src/kernel \
            "$RKNPU_ROOT/scripts/build-module.sh" 6.12
        tree_of_links=$work/modules/modules/6.12/tree/kernel
        [ "$(cd "$tree_of_links" && find . ! -type d | sort)" = "$wanted" ]
        litter
        cp -rPT "$tree/kernel/compat" "$work/src/kernel/compat"
        cp "$tree"/kernel/*.mod.c "$tree"/kernel/*.o "$work/src/kernel/"
    done
    # What an earlier build of its own left there does no harm either.
    echo old >"$tree_of_links/compat/compat_config.h"
    PATH=$work/stubs:$PATH RKNPU_CACHE=$cache RKNPU_BUILD=$work/modules KERNEL_SRC=$work/src/kernel \
        "$RKNPU_ROOT/scripts/build-module.sh" 6.12
    remake clean
}
dkms_make() { # the build that DKMS does, with a stub for make
    # shellcheck disable=SC2034 # dkms.conf names them
    local dkms_tree=/d kernel_source_dir=/k
    # shellcheck disable=SC1091 # it is made by the test
    . "$work/dkms/dkms.conf"
    eval "${MAKE[0]/#make/$work/stubs/make}"
}
# Kbuild wants pahole when the headers hold a vmlinux: it is told not to where there is none.
no_pahole() {
    local without=CONFIG_DEBUG_INFO_BTF_MODULES= headers=$work/headers clean=$work/path name path=$PATH
    mkdir -p "$headers" "$clean"
    echo 'modules:' >"$headers/Makefile"
    for name in sh bash sed dirname mkdir find xargs cp cat uname test getent cut id; do
        ln -sf "$(command -v "$name")" "$clean/$name"
    done
    ln -sf "$(command -v make)" "$clean/make"
    cp -rP "$tree" "$work/tree" # kbuild could not work in the other one
    PATH=$clean make -n -C "$work/tree" modules KDIR="$headers" >"$work/plain"
    PATH=$clean "$work/tree/scripts/stage-dkms.sh" "$work/dkms" 1.0
    stub pahole make
    PATH=$clean:$work/stubs make -n -C "$work/tree" modules KDIR="$headers" >"$work/with"
    grep -q -- "$without" "$work/plain"
    not grep -q -- "$without" "$work/with"
    PATH=$clean
    dkms_make >"$work/dkms-plain"
    PATH=$clean:$work/stubs
    dkms_make >"$work/dkms-with"
    PATH=$path
    grep -qx -- "make -C /k M=/d/rknpu/1.0/build/kernel $without modules" "$work/dkms-plain"
    grep -qx -- "make -C /k M=/d/rknpu/1.0/build/kernel modules" "$work/dkms-with"
}

# A signal to a script ends what a step of it has started, grandchildren too, and leaves no file; the
# script dies of the signal, so that its caller stops, too.
interrupted() {
    local signal number tmp=$work/tmp pid pids status
    cat >"$work/long.sh" <<SCRIPT
set -euo pipefail
. "$tree/scripts/lib.sh"
step "a step" bash -c 'sleep 1000 & echo \$\$ \$! >"$work/pids"; wait' || true
echo went on
SCRIPT
    for signal in INT:130 TERM:143 HUP:129; do
        number=${signal#*:} signal=${signal%:*}
        rm -rf "$tmp" "$work/pids" && mkdir "$tmp"
        TMPDIR=$tmp env --default-signal bash "$work/long.sh" >"$work/long.log" 2>&1 &
        pid=$!
        for _ in $(seq 200); do [ ! -s "$work/pids" ] || break; sleep 0.1; done
        kill -s "$signal" "$pid"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq "$number" ]
        [ -z "$(ls -A "$tmp")" ]
        not grep 'went on' "$work/long.log"
        read -r -a pids <"$work/pids"
        for pid in "${pids[@]}"; do
            for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || continue 2; sleep 0.1; done
            return 1
        done
    done
}
# Each file says its licence, itself or in REUSE.toml.
licences() {
    local repository=$work/licences
    mkdir -p "$repository/data"
    cd "$repository"
    printf '[[annotations]]\npath = ["data/*.json", "**.bin"]\nSPDX-License-Identifier = "MIT"\n' >body
    { printf '# SPDX-License-Identifier: MIT\n' && cat body; } >REUSE.toml
    rm body
    printf '{}' >data/good.json
    printf 'x' >data/good.bin
    git init -q
    git add -A
    python3 "$RKNPU_ROOT/scripts/style/style.py" spdx
    mkdir data/deep
    printf '{}' | tee bad.json data/deep/bad.json data/bad.rknn >data/bad.txt
    git add -A
    not python3 "$RKNPU_ROOT/scripts/style/style.py" spdx >found
    [ "$(cut -d: -f1 found | tr '\n' ' ')" = "bad.json data/bad.rknn data/bad.txt data/deep/bad.json " ]
}
# Progress lines say what there is to say: nothing, the log's last line, or that of a file.
progress() {
    local name=$work/watched
    step "silent" sleep 6 2>"$name.1"
    step "talking" bash -c 'echo hello; sleep 6' 2>"$name.2"
    echo there >"$name"
    STEP_WATCH=$name step "watched" sleep 6 2>"$name.3"
    grep -E '^    \.\.\. [0-9]+ s$' "$name.1"
    grep -E '^    \.\.\. [0-9]+ s: hello$' "$name.2"
    grep -E '^    \.\.\. [0-9]+ s: there$' "$name.3"
}

try "each script explains itself, and does nothing else, with --help" explained
try "wrong arguments are refused in words" wrong_arguments
try "options of run-vm.sh without their value are refused with its usage" vm_arguments
try "no HOME is needed" homeless
try "folders that cannot be written are named, with the variable that sets them" unwritable
try "make clean removes what builds leave, in folders with blanks" cleaned
try "make clean removes no folder that others made" not_cleaned
try "git ignores what kbuild leaves" ignored
try "make uninstall removes its files only, with blanks in DESTDIR" uninstalled
try "blanks in KDIR are no syntax error" headers_with_blanks
try "build-module.sh takes sources only" only_sources
try "modules are built where there is no pahole" no_pahole
try "a signal ends a step with all its children" interrupted
try "each file must say its licence" licences
try "progress of a step is shown" progress
exit "$failed"
