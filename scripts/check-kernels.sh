#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the driver for every kernel of kernels.txt and print the table that README.md shows.
#
#   check-kernels.sh [--quick] [SERIES...]        default: all; --quick: no options switched off
#
# Each kernel: with W=1 and sparse, then with options of the kernel switched off that a user's
# kernel may lack. A warning fails. Every undefined symbol of the module must be one that the kernel
# exports to GPL modules. RKNPU_RESULTS names a file that gets "pass|fail kernels: NAME" lines.
# shellcheck disable=SC2317 # the functions are called by name through mark()
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

list=$RKNPU_ROOT/scripts/kernels.txt
logs=$RKNPU_BUILD/check/kernels
# Each line: options that are off. IOMMU_API is what remains of IOMMU_SUPPORT in a header.
variants=("PM_DEVFREQ DEVFREQ_THERMAL" "SRAM" "IOMMU_SUPPORT IOMMU_API ROCKCHIP_IOMMU"
    "PM_DEVFREQ DEVFREQ_THERMAL SRAM IOMMU_SUPPORT IOMMU_API ROCKCHIP_IOMMU DEBUG_FS")
failed=0

suite=kernels # for verdict

# Findings in the kernel's own headers are not ours to mend, and 7.3's headers name a pahole that
# is not wanted here.
findings() { # findings LOG
    grep -E '(warning|error|WARNING|ERROR)[: ]' "$1" | grep -vE '(^|/)(include|arch)/|pahole version' || true
}

build() { # build SERIES NAME [MAKE ARGUMENT...]: 0 when it builds without a finding
    local series=$1 log=$logs/$1-$2.log found
    shift 2
    if ! "$RKNPU_ROOT/scripts/build-module.sh" "$series" W=1 "$@" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        return 1
    fi
    found=$(findings "$log")
    [ -z "$found" ] || { head -n 10 <<<"$found" >&2 && return 1; }
}

# symbols SERIES: undefined symbols that the kernel does not give to GPL modules, or only in a
# namespace that the module does not import
symbols() {
    local ko=$RKNPU_BUILD/modules/$1/rknpu.ko
    local symvers=$RKNPU_CACHE/kernel-$1/headers/Module.symvers
    [ -e "$ko" ] || { echo "no $ko" && return; }
    {
        aarch64-linux-gnu-objcopy -O binary -j .modinfo "$ko" /dev/stdout | tr '\0' '\n' |
            sed -n 's/^import_ns=/N\t/p'
        awk -F'\t' '{ print "E\t" $2 "\t" $4 "\t" $5 }' "$symvers"
        aarch64-linux-gnu-nm -u "$ko" | awk '{ print "U\t" $NF }'
    } | awk -F'\t' '
        $1 == "N" { imported[$2] = 1 }
        $1 == "E" { exported[$2] = $3; space[$2] = $4 }
        $1 == "U" && !($2 in exported) { print $2 " is not exported"; next }
        $1 == "U" && exported[$2] !~ /^EXPORT_SYMBOL(_GPL)?$/ { print $2 " is " exported[$2] }
        $1 == "U" && space[$2] != "" && !(space[$2] in imported) { print $2 " is in namespace " space[$2] }
        $1 == "U" { seen++ }
        END { if (!seen) print "the module uses no symbol at all" }'
}

declare -A cell
mark() { # mark SERIES COLUMN NAME COMMAND...
    local series=$1 column=$2 name=$3
    shift 3
    if "$@"; then
        verdict pass "$series: $name"
        : "${cell[$series $column]:=yes}"
    else
        verdict fail "$series: $name"
        cell[$series $column]=no
    fi
}

without() { KERNEL_WITHOUT=$2 build "$1" "without-${2// /-}"; }
clean_symbols() {
    local found
    found=$(symbols "$1")
    [ -z "$found" ] || { say "$found" && return 1; }
}

table() {
    echo '| kernel | builds (W=1, sparse) | without devfreq, SRAM, IOMMU | symbols | tests on the emulated board |'
    echo '| --- | --- | --- | --- | --- |'
    local series name board
    while IFS='|' read -r series name board; do
        read -r series <<<"$series" && read -r name <<<"$name" && read -r board <<<"$board"
        echo "| $name | ${cell[$series builds]:-not built} | ${cell[$series options]:-not built} |" \
            "${cell[$series symbols]:-not built} | $board |"
    done < <(grep -v '^#' "$list")
}

need aarch64-linux-gnu-nm sparse
build_folder
mkdir -p "$logs"
if [ "${1:-}" = --quick ]; then variants=() && shift; fi
no_options "$@"
all=$(sed -n 's/^\([0-9.]*\) *|.*/\1/p' "$list")
wanted=("$@")
# shellcheck disable=SC2206 # one word each
[ $# -gt 0 ] || wanted=($all)
for series in "${wanted[@]}"; do
    "$RKNPU_ROOT/scripts/fetch.sh" "kernel-$series"
    case $(cat "$RKNPU_CACHE/kernel-$series/suite") in trixie*) "$RKNPU_ROOT/scripts/fetch.sh" trixie ;; esac
    mark "$series" builds "the driver builds without findings (W=1 C=2)" build "$series" full C=2
    mark "$series" symbols "every symbol is exported to GPL modules" clean_symbols "$series"
    for variant in "${variants[@]}"; do
        mark "$series" options "builds without $variant" without "$series" "$variant"
    done
done
table | tee "$logs/table.md"
if [ $# -eq 0 ]; then
    shown=$(grep -cxFf "$logs/table.md" "$RKNPU_ROOT/README.md" || true)
    if [ "$shown" -eq "$(wc -l <"$logs/table.md")" ]; then
        verdict pass "README.md shows this table"
    else
        verdict fail "README.md shows another table"
    fi
fi
exit "$failed"
