#!/bin/bash
# SPDX-License-Identifier: MIT
# exports.sh LIBRARY MAP HEADERS: the library exports the functions of the headers under the version
# of the map, and nothing else; its name is the one that programs ask for.
set -euo pipefail
library=$1 map=$2 headers=$3
status=0
fail() { echo "not ok: $*" && status=1; }

soname=$(objdump -p "$library" | sed -n 's/^ *SONAME *//p')
[ "$soname" = librknnrt.so ] || fail "SONAME is '$soname'"

exported=$(nm -D --defined-only "$library" | sed -n 's/.* [TRD] \([^@]*\)@@RKNNRT_2$/\1/p' | sort)
others=$(nm -D --defined-only "$library" | grep -v -e '@@RKNNRT_2$' -e ' A RKNNRT_2$' || true)
[ -z "$others" ] || fail "without the version, or too many: $others"
mapped=$(sed -n 's/^ *\([A-Za-z_0-9]*\);$/\1/p' "$map" | sort)
[ "$exported" = "$mapped" ] || fail "exports and map differ:
$(diff <(echo "$exported") <(echo "$mapped"))"

declared=$(cat "$headers"/*.h | tr '\n' ' ' | sed 's#/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/##g' |
    grep -o 'rknn_[A-Za-z_0-9]* *([^;{]*);' | sed 's/ *(.*//' | sort -u)
count=$(echo "$declared" | wc -l)
[ "$count" -eq 35 ] || fail "the headers declare $count functions, 35 are known:
$declared"
for name in $declared; do
    grep -qx "$name" <<<"$exported" || fail "$name is declared and not exported"
done
grep -q 'librknnrt version: [0-9.]* (' <(strings "$library") || fail "no version text"
[ "$status" -ne 0 ] || echo "ok: $count functions"
exit "$status"
