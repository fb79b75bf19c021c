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

failed=0
verdict() { # verdict WORD NAME
    [ -z "${RKNPU_RESULTS:-}" ] || echo "$1 packages: $2" >>"$RKNPU_RESULTS"
    say "  $1: $2"
    [ "$1" != fail ] || failed=1
}

# try_suite SUITE: packages-guest.sh in a fresh copy of the system; it prints TAP
try_suite() {
    local suite=$1 root=$RKNPU_BUILD/roots/$1 log=$RKNPU_BUILD/check/packages-$1.log line status=0
    mkdir -p "$RKNPU_BUILD/check"
    # shellcheck disable=SC2016 # expanded by the inner shell
    "$RKNPU_ROOT/scripts/arm64-ns.sh" sh -ec '
        root=$1 tar=$2 packages=$3 script=$4
        rm -rf "$root" && mkdir -p "$root"
        tar -C "$root" --exclude="./dev/*" -xf "$tar"
        mkdir "$root/packages"
        cp "$packages"/*.deb "$root/packages/"
        cp "$script" "$root/packages/guest.sh"
        mount --rbind /proc "$root/proc"
        mount --rbind /dev "$root/dev"
        chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
            DEBIAN_FRONTEND=noninteractive sh /packages/guest.sh
    ' sh "$root" "$(fetched "$suite")/root.tar" "$RKNPU_BUILD/packages" \
        "$RKNPU_ROOT/scripts/packages-guest.sh" >"$log" 2>&1 || status=$?
    while read -r line; do
        case $line in
        'ok '*'# SKIP'*) verdict skip "$suite: ${line#ok * }" ;;
        'ok '*) verdict pass "$suite: ${line#ok * }" ;;
        'not ok '*) verdict fail "$suite: ${line#not ok * }" ;;
        esac
    done < <(grep -E '^(not )?ok [0-9]' "$log")
    if grep -q '^1\.\.' "$log"; then
        [ "$status" -eq 0 ] || tail -n 30 "$log" >&2
    elif [ "$status" = 125 ]; then
        verdict skip "$suite: $(tail -n 1 "$log")"
    else
        tail -n 30 "$log" >&2
        verdict fail "$suite: the run ended early with status $status"
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
status=0
"$RKNPU_ROOT/scripts/arm64-ns.sh" true || status=$?
if [ $status = 125 ]; then
    verdict skip "installing them: arm64 programs do not run here (see above)"
    exit "$failed"
fi
for suite in "$@"; do
    "$RKNPU_ROOT/scripts/fetch.sh" "root-$suite"
    try_suite "$suite"
done
exit "$failed"
