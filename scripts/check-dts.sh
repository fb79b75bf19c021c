#!/bin/bash
# SPDX-License-Identifier: MIT
# Put the NPU into the board trees of Debian's kernels with rknpu-dtb and validate each result.
#
#   check-dts.sh [SERIES...]        default: the series that are in the cache
#
# RKNPU_FEW_BOARDS=N takes N boards of each SoC only. A result must hold the NPU's node, must apply without an error, must bring no warning of dtc that
# the board's tree did not have, and must satisfy dts/bindings/ where dt-schema is installed.
# RKNPU_RESULTS names a file that gets "pass|fail|skip dts: NAME" lines.
# shellcheck disable=SC2016,SC2317 # functions are exported and called in the shells of xargs
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

work=$(mktemp -d "${TMPDIR:-/tmp}/rknpu-dts.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
suite=dts # for verdict

# The variants for a family; the words are options of rknpu-dtb.
variants() { # variants BOARD
    case $1 in
    rk3588*) printf '%s\n' '' --single --sram '--single --sram' --sram-split '--opp' ;;
    rk3576*) printf '%s\n' '' --single --sram '--single --sram' '--opp' ;;
    rk356[68]*) printf '%s\n' '' --no-iommu '--opp' ;;
    *) printf '%s\n' '' '--opp' ;;
    esac
}

# Two children may have one address when one of them is off: as in the kernel's own builds.
warnings() { dtc -W no-unique_unit_address -W unique_unit_address_if_enabled -I dtb -O dtb -o /dev/null "$1" 2>&1 | sed "s#^[^ ]*: Warning#Warning#" | sort -u; }

# one BOARD.dtb OPTIONS: prints what is wrong
one() {
    local base=$1 options=$2 out node
    out=$work/out-$BASHPID.dtb
    # shellcheck disable=SC2086 # a list of options
    "$RKNPU_ROOT/scripts/rknpu-dtb" --overlays "$RKNPU_BUILD/dts" $options "$base" "$out" >"$out.log" 2>&1 || {
        # Not every combination fits every tree; the program has to say so in these words.
        case $(cat "$out.log") in
        *'a node for each core: --single'* | *'no regulator of this tree'*) ;;
        *) echo "${base##*/} $options: $(cat "$out.log")" ;;
        esac
        return
    }
    echo "$base" >>"$work/applied"
    warnings "$base" >"$out.before"
    warnings "$out" | comm -13 "$out.before" - >"$out.new"
    [ ! -s "$out.new" ] || echo "${base##*/} $options: new: $(head -n 3 "$out.new")"
    node=$({ fdtget -l "$out" / && fdtget -l "$out" /soc 2>/dev/null | sed 's#^#soc/#'; } |
        grep -E '^(soc/)?npu@' | sort | head -n 1)
    [ "$(fdtget "$out" "/$node" status)" = okay ] || echo "${base##*/} $options: no NPU node that is on"
    case $options in *sram*) fdtget "$out" "/$node" rockchip,sram >/dev/null || echo "${base##*/} $options: no SRAM" ;; esac
    if [ -e "$work/schema.json" ]; then
        dt-validate -s "$work/schema.json" -l rockchip,rk "$out" 2>&1 | head -n 4 | sed "s#^#${base##*/} $options: #"
    fi
    rm -f "$out" "$out".*
}

all_variants() { # all_variants BOARD.dtb
    while read -r options; do one "$1" "$options"; done < <(variants "$(basename "$1")")
}

boards() { # boards SERIES: the trees that its package carries
    { find "$RKNPU_CACHE/kernel-$1/usr/lib" -path '*/rockchip/*' -name 'rk35[678]*.dtb' || true; } |
        grep -E '/rk(3588s?|3576|3568|3566|3562)-[^/]*$' | sort -u |
        awk -F'/' -v few="${RKNPU_FEW_BOARDS:-0}" '{
            kind = $NF; sub(/-.*/, "", kind)
            if (!few || seen[kind]++ < few) print }'
}

# B-26: a tree whose interrupt controller has another number of cells
other_cells() {
    local base=$1 gic wrong=$work/cells.dtb
    gic=$(dtc -q -I dtb -O dts "$base" | sed -n 's/^\t\(interrupt-controller@[0-9a-f]*\) {/\/\1/p' | head -n 1)
    cp "$base" "$wrong"
    fdtput -t i "$wrong" "$gic" '#interrupt-cells' "$2"
    "$RKNPU_ROOT/scripts/rknpu-dtb" --overlays "$RKNPU_BUILD/dts" --single "$wrong" "$work/cells-out.dtb" >/dev/null &&
        [ "$(fdtget -t i "$work/cells-out.dtb" "$3" interrupts)" = "$4" ]
}

# The commands of Documentation/device-tree.rst
rknpu-dtb() { "$RKNPU_ROOT/scripts/rknpu-dtb" --overlays "$RKNPU_BUILD/dts" "$@"; }
documented() {
    rknpu-dtb "$1" "$work/documented.dtb" && rknpu-dtb --sram "$1" "$work/documented.dtb" &&
        [ "$(rknpu-dtb --show "$1")" = "rk3588: rk3588-rknpu-enable" ] &&
        rknpu-dtb --opp "$1" "$work/documented.dtb" &&
        fdtget "$work/documented.dtb" /npu@fdab0000 operating-points-v2 >/dev/null
}
# What does not fit is refused, in words.
refused() { # refused PATTERN ARGUMENT...
    local pattern=$1 said
    shift
    ! said=$(rknpu-dtb "$@" 2>&1) && grep -q "$pattern" <<<"$said"
}

need dtc fdtget fdtput fdtoverlay comm
"$RKNPU_ROOT/scripts/build-dtbs.sh"
if command -v dt-mk-schema >/dev/null; then
    mkdir -p "$work/npu"
    cp "$RKNPU_ROOT"/dts/bindings/*.yaml "$work/npu/"
    found=$(cd "$work" && dt-doc-validate -u "$work" npu/*.yaml 2>&1) || true
    if [ -n "$found" ]; then say "$found" && verdict fail "the bindings are valid schemas"; else
        verdict pass "the bindings are valid schemas"
    fi
    (cd "$work" && dt-mk-schema -j npu >"$work/schema.json")
else
    verdict skip "results against dts/bindings (package dt-schema is not installed)"
fi

[ $# -gt 0 ] || for series in 6.1 6.12 7.3; do
    [ ! -e "$RKNPU_CACHE/kernel-$series/stamp" ] || set -- "$@" $series
done
[ $# -gt 0 ] || verdict skip "board trees (no kernel is in the cache)"
export -f one all_variants variants warnings
export work RKNPU_ROOT RKNPU_BUILD
for series in "$@"; do
    : >"$work/applied"
    boards "$series" >"$work/boards"
    xargs -r -P "$(nproc)" -n 1 bash -c 'all_variants "$1"' bash <"$work/boards" >"$work/wrong" 2>&1
    [ ! -s "$work/wrong" ] || head -n 20 "$work/wrong" >&2
    name="$series: $(wc -l <"$work/boards") boards, $(wc -l <"$work/applied") results"
    if [ -s "$work/wrong" ] || [ ! -s "$work/applied" ]; then verdict fail "$name"; else verdict pass "$name"; fi
done

try() { # try NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then verdict pass "$name"; else
        cat "$work/log" >&2
        verdict fail "$name"
    fi
}
board() { { find "$RKNPU_CACHE/kernel-$1/usr/lib" -name "$2.dtb" || true; } 2>/dev/null | head -n 1; }
old=$(board 6.12 rk3588-rock-5b) new=$(board 7.3 rk3588-rock-5b)
if [ -n "$old" ]; then
    try "b26: interrupts get three cells where the tree wants three" \
        other_cells "$old" 3 /npu@fdab0000 "0 110 4 0 111 4 0 112 4"
    try "b26: interrupts get five cells where the tree wants five" \
        other_cells "$old" 5 /npu@fdab0000 "0 110 4 0 0 0 111 4 0 0 0 112 4 0 0"
    try "a board without an NPU regulator" refused "no regulator of this tree" --supply "$old" "$work/x"
    printf 'no tree' >"$work/none"
    try "a file that is no device tree" refused "is no device tree" "$work/none" "$work/x"
    rknpu-dtb --single "$old" "$work/vendor.dtb"
    try "a tree that has the vendor's node" refused "vendor's NPU node already" "$work/vendor.dtb" "$work/x"
fi
if [ -n "$new" ]; then
    try "the documented commands work" documented "$new"
    try "one node where there is one for each core" refused "a node for each core" --single "$new" "$work/x"
fi
exit "$failed"
