#!/bin/bash
# SPDX-License-Identifier: MIT
# Cross-build the driver for one of the emulated board's kernels, outside the source tree.
#
#   build-module.sh SERIES [MAKE ARGUMENT...]     for example: build-module.sh 6.12 W=1 C=1
#
# The result is build/modules/SERIES/rknpu.ko, and beside it rknpu_board.ko, the power of the
# emulated board. KERNEL_SRC=DIR builds another folder only.
# KERNEL_WITHOUT="PM_DEVFREQ SRAM" builds against a copy of the headers in which these options of
# the kernel are off; such a module cannot be loaded and goes to build/modules/SERIES-without.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

[ $# -gt 0 ] || die "no kernel series named" "build-module.sh 6.12"
series=$1
shift
if [ -z "${KERNEL_SRC:-}${KERNEL_WITHOUT:-}" ]; then
    KERNEL_SRC=$RKNPU_ROOT/selftests/board "$0" "$series" "$@"
fi
without=${KERNEL_WITHOUT:-}
source=$(cd "${KERNEL_SRC:-$RKNPU_ROOT/kernel}" && pwd)
tree=$("$RKNPU_ROOT/scripts/fetch.sh" --path "kernel-$series")
headers=usr/src/$(basename "$(readlink "$tree/headers")")
build_folder
case $RKNPU_BUILD in
*[[:space:]]*) die "kernels cannot build in a folder with blanks in its name: $RKNPU_BUILD" \
    "set RKNPU_BUILD to another one" ;;
esac
out=$RKNPU_BUILD/modules/$series${without:+-without}
work=$out/tree/${source##*/}

# Without BTF: the headers ship a vmlinux and kbuild would call pahole for it. Kbuild itself adds an
# include folder that does not exist when the headers are split in two, as Debian's are.
arguments=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CONFIG_DEBUG_INFO_BTF_MODULES=
    KCFLAGS=-Wno-missing-include-dirs "$@" modules)

# headers_without PREFIX OWN: a copy of the headers with options switched off, in $out/tree/headers.
# PREFIX is where the build sees the unpacked packages, OWN where it sees the copy.
headers_without() {
    local prefix=$1 own=$2 copy=$out/tree/headers option name generated=include/generated/autoconf.h
    rm -rf "$copy"
    mkdir -p "$copy"
    for name in scripts tools arch Module.symvers vmlinux .kernelvariables .config; do
        [ ! -e "$tree/$headers/$name" ] || ln -s "$prefix/$headers/$name" "$copy/$name"
    done
    cp -r "$tree/$headers/include" "$copy/include"
    sed "s#^KBUILD_OUTPUT=.*#KBUILD_OUTPUT=$own#
        s#\$(dir \$(lastword \$(MAKEFILE_LIST)))\.\./#$prefix/usr/src/#" \
        "$tree/$headers/Makefile" >"$copy/Makefile"
    for option in $without; do
        grep -q "^CONFIG_$option=" "$copy/include/config/auto.conf" ||
            die "kernel $series has no option $option"
        sed -i "/^CONFIG_$option=/d" "$copy/include/config/auto.conf"
        sed -i "/^#define CONFIG_$option\(_MODULE\)\? /d" "$copy/$generated"
    done
}

# Kbuild writes beside the sources, so it gets a tree of links to them.
build_here() {
    local kdir=$tree/headers/
    need aarch64-linux-gnu-gcc make
    find "$out/tree" -path "$out/tree/headers" -prune -o -type l -exec rm -f {} +
    (cd "$source" && driver_sources . | while IFS= read -r -d '' file; do
        mkdir -p "$work/${file%/*}"
        ln -sfn "$source/$file" "$work/$file"
    done)
    ln -sfnT "$RKNPU_ROOT/uapi" "$out/tree/uapi"
    if [ -n "$without" ]; then
        kdir=$out/tree/headers
        headers_without "$tree" "$kdir"
    fi
    make -C "$kdir" M="$work" CC=aarch64-linux-gnu-gcc "${arguments[@]}"
}

# Kernels of Debian 13 need its compiler and C library: build with the root changed to a tree that
# holds them. The mounts live in a namespace of their own and end with the build.
build_in_trixie() {
    local root namespace=(unshare -m) kdir=/kernel/$headers
    root=$("$RKNPU_ROOT/scripts/fetch.sh" --path trixie)
    [ "$(id -u)" -eq 0 ] || namespace=(unshare -rm)
    find "$out/tree" -path "$out/tree/headers" -prune -o -name '*.[ch]' -exec rm -f {} +
    (cd "$source" && driver_sources . | xargs -0 cp -pP --parents -t "$work")
    cp -rpT "$RKNPU_ROOT/uapi" "$out/tree/uapi"
    if [ -n "$without" ]; then
        kdir=/build/headers
        headers_without /kernel "$kdir"
    fi
    # shellcheck disable=SC2016 # expanded by the inner shell
    "${namespace[@]}" sh -ec '
        root=$1 tree=$2 build=$3 kdir=$4 module=$5
        shift 5
        mount --bind "$tree" "$root/kernel"
        mount --bind "$build" "$root/build"
        mount --rbind /dev "$root/dev"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/bin HOME=/tmp \
            make -C "$kdir" M="/build/$module" "$@"
    ' sh "$root" "$tree" "$out/tree" "$kdir" "${source##*/}" "${arguments[@]}"
}

[ -z "$without" ] || rm -rf "$out"
mkdir -p "$work"
case $(cat "$tree/suite") in
trixie*) build_in_trixie ;;
*) build_here ;;
esac
for module in "$work"/*.ko; do
    [ ! -e "$module" ] || cp "$module" "$out/"
done
