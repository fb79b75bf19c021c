#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Answer each question in probes/ by compiling it with the flags of the target
# kernel. probe_name.c becomes "#define HAVE_PROBE_NAME 1" if it compiles.
#
#   probe.sh OUTPUT PROBE.c... -- COMPILER FLAG...
set -e
out=$1
shift
probes=
while [ "$1" != "--" ]; do
	probes="$probes $1"
	shift
done
shift

log=${out%.h}.log
tmp=$out.tmp
obj=$out.o
mkdir -p "$(dirname "$out")"
: > "$log"
echo "/* Generated from compat/probes, see the log beside it. */" > "$tmp"
for probe in $probes; do
	name=$(basename "$probe" .c | tr '[:lower:]' '[:upper:]')
	echo "== $name" >> "$log"
	if $CC "$@" -Werror -c -o "$obj" "$probe" >> "$log" 2>&1; then
		echo "#define HAVE_$name 1" >> "$tmp"
	fi
done
rm -f "$obj"
# A broken set of flags answers every question with no: stop at once.
if ! grep -q '^#define HAVE_SANITY 1' "$tmp"; then
	cat "$log" >&2
	echo "rknpu: cannot compile against this kernel, see above" >&2
	exit 1
fi
mv "$tmp" "$out"
