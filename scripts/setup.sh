#!/bin/bash
# SPDX-License-Identifier: MIT
# Install the Debian packages of packages.txt that are missing. Does nothing, and needs no root,
# when all are there.
#
#   setup.sh [demo]      demo: only what "make demo" needs
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

what=${1:-all}
case $what in all | demo) ;; *) die "unknown argument '$what'" "setup.sh --help" ;; esac
[ $# -lt 2 ] || die "unknown argument '$2'" "setup.sh --help"

command -v apt-get >/dev/null ||
    die "this is not a Debian system (no apt-get)" "install the equivalents of scripts/packages.txt by hand"

missing=()
while read -r package rest; do
    case "$package $rest" in
    '# --- only for'*) if [ "$what" = demo ]; then break; else continue; fi ;;
    '#'* | ' ') continue ;;
    esac
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
        missing+=("$package")
done <"$RKNPU_ROOT/scripts/packages.txt"
# An old keyring does not know the release that QEMU comes from.
ls /usr/share/keyrings/debian-archive-trixie-* >/dev/null 2>&1 || missing+=(debian-archive-keyring)
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
        die "packages are missing: ${missing[*]}" "run this as root, or install sudo"
    as_root=(sudo)
    [ -t 0 ] || as_root=(sudo -n)
    "${as_root[@]}" true || die "packages are missing and sudo asks for a password: ${missing[*]}" \
        "run scripts/setup.sh once in a terminal"
fi
say "installing ${#missing[@]} Debian packages: ${missing[*]}"
# A broken third-party source must not stop us: what matters is whether the install succeeds.
step "reading package lists" "${as_root[@]}" apt-get update ||
    say "  going on with the lists that are there"
step "installing packages" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -y --no-install-recommends install "${missing[@]}" ||
    die "apt could not install the packages" "see its message above"
