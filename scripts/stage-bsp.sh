#!/bin/bash
# SPDX-License-Identifier: MIT
# Put the driver into a kernel's source tree as drivers/rknpu. A second run updates it.
#
#   stage-bsp.sh TREE
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

tree=${1:-}
[ -e "$tree/drivers/Kconfig" ] ||
    die "'$tree' is no kernel source tree" "name its folder: make bsp BSP=DIR"
target=$tree/drivers/rknpu
if [ -e "$target" ] && ! grep -qs 'config ROCKCHIP_RKNPU_PROC_FS' "$target/Kconfig"; then
    die "$target holds something else" "remove it first"
fi
if [ -e "$target/rknpu_drv.c" ] && [ ! -e "$target/compat/probe.sh" ]; then
    die "$target holds the vendor's driver" "remove it first: rm -r $target"
fi

rm -rf "$target"
mkdir -p "$target"
# Links to files outside of kernel/ become files. Tests stay behind.
(cd "$RKNPU_ROOT/kernel" && driver_sources . | xargs -0 cp -L --parents -t "$target")

grep -q 'drivers/rknpu/Kconfig' "$tree/drivers/Kconfig" ||
    sed -i '$s#^endmenu#source "drivers/rknpu/Kconfig"\n\nendmenu#' "$tree/drivers/Kconfig"
grep -q 'drivers/rknpu/Kconfig' "$tree/drivers/Kconfig" ||
    die "$tree/drivers/Kconfig does not end with endmenu" 'add: source "drivers/rknpu/Kconfig"'
# shellcheck disable=SC2016 # make expands it
grep -q 'CONFIG_ROCKCHIP_RKNPU)' "$tree/drivers/Makefile" ||
    echo 'obj-$(CONFIG_ROCKCHIP_RKNPU)	+= rknpu/' >>"$tree/drivers/Makefile"
say "  the driver is in $target: set CONFIG_ROCKCHIP_RKNPU=m or y"
