#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the Debian packages for arm64, install them in clean Debian systems, use them, remove them.
#
#   check-packages.sh [SUITE...]        default: bookworm trixie
#
# The systems are small arm64 ones, run by qemu-user. DKMS builds the driver there against the
# suite's own kernel headers. RKNPU_RESULTS names a file for "pass|fail|skip packages: NAME" lines.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

failed=0
suite=packages # for verdict

# links: build a program for arm64 with what is in the packages; the systems get it as /packages/try
links() {
    local dir=$RKNPU_BUILD/packages/unpacked deb
    mkdir -p "$dir"
    for deb in "$RKNPU_BUILD"/packages/librknnrt*.deb; do dpkg-deb -x "$deb" "$dir"; done
    cat >"$dir/try.c" <<'C'
#include <rknn_api.h>
#include <rknpu/rknpu_drm.h>
int main(void)
{
	rknn_context context = 0;
	return rknn_init(&context, (void *)"none", 0, 0, 0) < 0 ? 0 : 1;
}
C
    PKG_CONFIG_LIBDIR=$dir/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config --libs rknnrt | grep -q -- -lrknnrt ||
        return 1
    aarch64-linux-gnu-gcc -o "$RKNPU_BUILD/packages/try" "$dir/try.c" -I"$dir/usr/include" \
        -isystem /usr/aarch64-linux-gnu/include/drm -L"$dir/usr/lib/aarch64-linux-gnu/rknpu" -lrknnrt \
        -Wl,--allow-shlib-undefined
}

# try_release NAME: packages-guest.sh in a fresh copy of the system; it prints TAP
try_release() {
    local release=$1 root=$RKNPU_BUILD/roots/$1 log=$RKNPU_BUILD/check/packages-$1.log line status=0
    build_folder
    mkdir -p "$RKNPU_BUILD/check"
    # shellcheck disable=SC2016 # expanded by the inner shell
    "$RKNPU_ROOT/scripts/arm64-ns.sh" sh -ec '
        root=$1 tar=$2 packages=$3 script=$4
        rm -rf "$root" && mkdir -p "$root"
        tar -C "$root" --exclude="./dev/*" -xf "$tar"
        mkdir "$root/packages"
        cp "$packages"/*.deb "$packages/try" "$root/packages/"
        cp "$script" "$root/packages/guest.sh"
        mount --rbind /proc "$root/proc"
        mount --rbind /dev "$root/dev"
        chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
            DEBIAN_FRONTEND=noninteractive sh /packages/guest.sh
    ' sh "$root" "$(fetched "$release")/root.tar" "$RKNPU_BUILD/packages" \
        "$RKNPU_ROOT/scripts/packages-guest.sh" >"$log" 2>&1 || status=$?
    while read -r line; do
        case $line in
        'ok '*'# SKIP'*) verdict skip "$release: ${line#ok * }" ;;
        'ok '*) verdict pass "$release: ${line#ok * }" ;;
        'not ok '*) verdict fail "$release: ${line#not ok * }" ;;
        esac
    done < <(grep -E '^(not )?ok [0-9]' "$log")
    if grep -q '^1\.\.' "$log"; then
        [ "$status" -eq 0 ] || tail -n 30 "$log" >&2
    elif [ "$status" = 125 ]; then
        verdict skip "$release: $(tail -n 1 "$log")"
    else
        tail -n 30 "$log" >&2
        verdict fail "$release: the run ended early with status $status"
    fi
    "$RKNPU_ROOT/scripts/arm64-ns.sh" rm -rf "$root" || true
}

fetched() { "$RKNPU_ROOT/scripts/fetch.sh" --path "root-$1"; }

[ $# -gt 0 ] || set -- bookworm trixie
if "$RKNPU_ROOT/scripts/build-packages.sh" arm64; then
    verdict pass "the packages build (arm64)"
else
    verdict fail "the packages build (arm64)"
    exit 1
fi
if links; then verdict pass "a program links with the packages' headers"; else
    verdict fail "a program links with the packages' headers"
fi
status=0
"$RKNPU_ROOT/scripts/arm64-ns.sh" true || status=$?
if [ $status = 125 ]; then
    verdict skip "installing them: arm64 programs do not run here (see above)"
    exit "$failed"
fi
for release in "$@"; do
    "$RKNPU_ROOT/scripts/fetch.sh" "root-$release"
    try_release "$release"
done
exit "$failed"
