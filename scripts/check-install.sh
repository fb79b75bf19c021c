#!/bin/bash
# SPDX-License-Identifier: MIT
# The make targets that put files somewhere: install, uninstall, dkms. RKNPU_RESULTS names a file for
# "pass|fail install: NAME" lines. The commands of Documentation/install.rst are run here:
# make install, make uninstall, make dkms, and the build that DKMS does (make modules).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_arguments "$@"

work=$(mktemp -d "${TMPDIR:-/tmp}/rknpu-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
suite=install # for verdict
try() { # try NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then verdict pass "$name"; else
        tail -n 20 "$work/log" >&2
        verdict fail "$name"
    fi
}
# shellcheck disable=SC2317 # called by name
{
    remake() { make --no-print-directory -C "$RKNPU_ROOT" "$@"; }
    installed() {
        local file
        remake install DESTDIR="$work/root" PREFIX=/usr/local
        for file in lib/librknnrt.so include/rknn_api.h include/rknn_matmul_api.h bin/rknn-run \
            include/rknpu/rknpu_drm.h lib/pkgconfig/rknnrt.pc; do
            find "$work/root/usr/local" -path "*${file%/*}*/${file##*/}" | grep -q . ||
                { echo "no $file" && return 1; }
        done
    }
    uninstalled() {
        remake uninstall DESTDIR="$work/root"
        ! find "$work/root" -type f -o -type l | grep .
    }
    staged() {
        local version tree
        version=$(sed -n 's/^project.rknpu.* VERSION \([0-9.]*\).*/\1/p' "$RKNPU_ROOT/userspace/CMakeLists.txt")
        remake dkms DESTDIR="$work/dkms"
        tree=$work/dkms/usr/src/rknpu-$version
        grep -qx "PACKAGE_VERSION=\"$version\"" "$tree/dkms.conf" && ! find "$tree" -type l | grep . &&
            [ -e "$tree/kernel/rknpu_drv.c" ] && [ -e "$tree/uapi/rknpu_drm.h" ] &&
            dpkg-parsechangelog -l "$RKNPU_ROOT/debian/changelog" -S Version | grep -qx "$version"
    }
    # Kbuild writes beside the sources: build in a copy. The headers are those of the emulated board.
    modules() {
        mkdir "$work/tree"
        (cd "$RKNPU_ROOT" && git ls-files -z Makefile kernel uapi userspace/CMakeLists.txt |
            xargs -0 cp -P --parents -t "$work/tree")
        make modules -C "$work/tree" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
            KDIR="$("$RKNPU_ROOT/scripts/fetch.sh" --path kernel-6.12)/headers/"
        [ -e "$work/tree/kernel/rknpu.ko" ]
    }
}

"$RKNPU_ROOT/scripts/fetch.sh" kernel-6.12
try "make install puts the runtime, its headers and the tools in place" installed
try "make uninstall removes them all" uninstalled
try "make dkms stages the sources, in the version of the packages" staged
try "make modules builds the driver for other headers" modules
exit "$failed"
