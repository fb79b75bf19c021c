#!/bin/bash
# SPDX-License-Identifier: MIT
# Run a command as root of a user namespace in which arm64 programs run on this machine.
#
#   arm64-ns.sh COMMAND [ARGUMENT...]     exit status 125: not possible here, with the reason
#
# The kernel keeps a private table of foreign binaries for each user namespace (since 6.7): the
# machine itself is not changed, and nothing is left when the command ends. On older kernels the
# machine's own table is used when qemu-aarch64 is in it. Needs root, for files of many owners.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

no() { say "${0##*/}: $1" && exit 125; }

qemu=$(command -v qemu-aarch64-static) || no "qemu-aarch64-static is missing (package qemu-user-static)"
[ "$(id -u)" -eq 0 ] || no "this needs root"

# The first 20 bytes of an arm64 program, and which of their bits count.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
# shellcheck disable=SC2016 # expanded by the inner shell
inside='read -r _ <"$1"; shift
table=/proc/sys/fs/binfmt_misc
if mount -t binfmt_misc binfmt_misc $table 2>/dev/null && [ -w $table/register ]; then
    [ -e $table/qemu-aarch64 ] || printf "%s" "$1" >$table/register || exit 125
elif ! grep -qs enabled $table/qemu-aarch64; then
    echo "this kernel has no private binfmt_misc and qemu-aarch64 is not registered" >&2
    exit 125
fi
shift
exec setpriv --reuid 0 --regid 0 --clear-groups "$@"'

go=$(mktemp -u "${TMPDIR:-/tmp}/rknpu-ns.XXXXXX")
mkfifo "$go"
trap 'rm -f "$go"' EXIT
unshare --user --mount bash -c "$inside" bash "$go" ":qemu-aarch64:M::$magic:$mask:$qemu:F" "$@" &
pid=$!
own=$(readlink /proc/self/ns/user)
for _ in $(seq 100); do
    [ "$(readlink "/proc/$pid/ns/user")" = "$own" ] || break
    sleep 0.05
done
{ echo "0 0 65536" >"/proc/$pid/uid_map" && echo "0 0 65536" >"/proc/$pid/gid_map"; } ||
    { kill "$pid" && no "user namespaces are not allowed here"; }
echo >"$go"
wait "$pid"
