#!/bin/bash
# SPDX-License-Identifier: MIT
# Cross-build the driver for one of the emulated board's kernels, outside the source tree.
#
#   build-module.sh SERIES [MAKE ARGUMENT...]     for example: build-module.sh 6.12 W=1 C=1
#
# The result is build/modules/SERIES/rknpu.ko. KERNEL_SRC=DIR builds another folder than kernel/.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || die "no kernel series named" "build-module.sh 6.12"
series=$1
shift
source=$(cd "${KERNEL_SRC:-$RKNPU_ROOT/kernel}" && pwd)
tree=$("$RKNPU_ROOT/scripts/fetch.sh" --path "kernel-$series")
out=$RKNPU_BUILD/modules/$series
work=$out/tree/${source##*/}

# Without BTF: the headers ship a vmlinux and kbuild would call pahole for it. Kbuild itself adds an
# include folder that does not exist when the headers are split in two, as Debian's are.
arguments=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CONFIG_DEBUG_INFO_BTF_MODULES=
    KCFLAGS=-Wno-missing-include-dirs "$@" modules)

# Kbuild writes beside the sources, so it gets a tree of links to them.
build_here() {
    need aarch64-linux-gnu-gcc make
    find "$out/tree" -type l -delete
    cp -rsT "$source" "$work"
    ln -sfnT "$RKNPU_ROOT/uapi" "$out/tree/uapi"
    make -C "$tree/headers/" M="$work" CC=aarch64-linux-gnu-gcc "${arguments[@]}"
}

# Kernels of Debian 13 need its compiler and C library: build with the root changed to a tree that
# holds them. The mounts live in a namespace of their own and end with the build.
build_in_trixie() {
    local root namespace=(unshare -m)
    root=$("$RKNPU_ROOT/scripts/fetch.sh" --path trixie)
    [ "$(id -u)" -eq 0 ] || namespace=(unshare -rm)
    find "$out/tree" -name '*.[ch]' -delete
    cp -rpT "$source" "$work"
    cp -rpT "$RKNPU_ROOT/uapi" "$out/tree/uapi"
    # shellcheck disable=SC2016 # expanded by the inner shell
    "${namespace[@]}" sh -ec '
        root=$1 tree=$2 build=$3 headers=$4 module=$5
        shift 5
        mount --bind "$tree" "$root/kernel"
        mount --bind "$build" "$root/build"
        mount --rbind /dev "$root/dev"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/bin HOME=/tmp \
            make -C "/kernel/usr/src/$headers" M="/build/$module" "$@"
    ' sh "$root" "$tree" "$out/tree" "$(basename "$(readlink "$tree/headers")")" \
        "${source##*/}" "${arguments[@]}"
}

mkdir -p "$work"
case $(cat "$tree/suite") in
trixie*) build_in_trixie ;;
*) build_here ;;
esac
for module in "$work"/*.ko; do
    [ ! -e "$module" ] || cp "$module" "$out/"
done
