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
need aarch64-linux-gnu-gcc make
tree=$("$RKNPU_ROOT/scripts/fetch.sh" --path "kernel-$series")
out=$RKNPU_BUILD/modules/$series
work=$out/tree/${source##*/}

# Kbuild writes beside the sources, so it gets a tree of links to them.
mkdir -p "$work" "$out/tree"
find "$out/tree" -type l -delete
cp -rsT "$source" "$work"
ln -sfnT "$RKNPU_ROOT/uapi" "$out/tree/uapi"

# Without BTF: the headers ship a vmlinux and kbuild would call pahole for it. Kbuild itself adds an
# include folder that does not exist when the headers are split in two, as Debian's are.
make -C "$tree/headers/" M="$work" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
    CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS=-Wno-missing-include-dirs "$@" modules
for module in "$work"/*.ko; do
    [ -e "$module" ] && cp "$module" "$out/"
done
