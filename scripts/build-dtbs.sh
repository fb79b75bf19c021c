#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the overlays for real boards: dts/*.dtso -> build/dts/*.dtbo. Warnings are errors.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_arguments "$@"

need dtc
build_folder
mkdir -p "$RKNPU_BUILD/dts"
for source in "$RKNPU_ROOT"/dts/*.dtso; do
    target=$RKNPU_BUILD/dts/$(basename "$source" .dtso).dtbo
    # A fragment does not see the cell counts of the tree that it extends.
    warnings=$(dtc -@ -I dts -O dtb -o "$target" -W no-avoid_default_addr_size -W no-reg_format \
        -W no-interrupts_property "$source" 2>&1) || die "${source##*/}: $warnings"
    [ -z "$warnings" ] || die "${source##*/}: $warnings"
    say "  ${target#"$RKNPU_ROOT"/}"
done
