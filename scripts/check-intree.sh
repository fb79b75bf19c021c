#!/bin/bash
# SPDX-License-Identifier: MIT
# Put the driver into Debian's kernel sources as drivers/rknpu and build it there as y and as m.
#
#   check-intree.sh [SERIES...]        default: 6.1 6.12
#
# Only what this folder needs of the kernel is prepared and built. Besides y and m with all options,
# each option is switched off once. RKNPU_RESULTS names a file for "pass|fail in-tree: NAME" lines.
# shellcheck disable=SC2317 # the functions are called by name through try()
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

failed=0
suite=in-tree # for verdict

kmake() { make -s -C "$tree" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "$@"; }

# configure VALUE [OPTION=VALUE...]: a small kernel with the driver
configure() {
    local value=$1
    shift
    {
        printf 'CONFIG_%s=y\n' MODULES OF DEBUG_FS PROC_FS SYSFS ARCH_ROCKCHIP IOMMU_SUPPORT \
            ROCKCHIP_IOMMU PM RESET_CONTROLLER REGULATOR COMMON_CLK PM_DEVFREQ SRAM DRM \
            BLOCK NET INET PRINTK FTRACE
        echo "CONFIG_ROCKCHIP_RKNPU=$value"
        printf 'CONFIG_ROCKCHIP_RKNPU_%s\n' DEBUG_FS=y PROC_FS=y SRAM=y "$@"
    } >"$tree/rknpu.config"
    kmake KCONFIG_ALLCONFIG=rknpu.config allnoconfig &&
        grep -qx "CONFIG_ROCKCHIP_RKNPU=$value" "$tree/.config" || return 1
}

# The options that a BSP's configuration may hold are all there.
options_exist() {
    local option
    for option in '' _SRAM _DEBUG_FS _PROC_FS _FENCE _DRM_GEM; do
        grep -q "^CONFIG_ROCKCHIP_RKNPU$option=[ym]" "$tree/.config" ||
            { say "no CONFIG_ROCKCHIP_RKNPU$option in .config" && return 1; }
    done
}

# compile TARGET FILE: kbuild's single target; FILE must come out of it, and no warning
compile() {
    local log=$tree/rknpu.log
    rm -f "$tree/drivers/rknpu/$2"
    # Modules are checked against symbols of a kernel that is not built here.
    kmake W=1 KBUILD_MODPOST_WARN=1 "$1" >"$log" 2>&1 || { tail -n 20 "$log" && return 1; }
    ! grep -E '(warning|error):' "$log" | grep -E 'drivers/rknpu/' || return 1
    [ -e "$tree/drivers/rknpu/$2" ] || { say "no drivers/rknpu/$2" && return 1; }
}

try() { # try NAME COMMAND...
    local name=$1
    shift
    if "$@"; then verdict pass "$name"; else verdict fail "$name"; fi
}

built_in() { configure y && options_exist && compile drivers/rknpu/ built-in.a; }
as_module() { configure m && compile drivers/rknpu/rknpu.ko rknpu.ko; }
# by_hand SERIES: the commands of Documentation/bsp.rst give the same tree as make bsp
by_hand() {
    local copy=$RKNPU_BUILD/intree/by-hand
    rm -rf "$copy"
    mkdir -p "$copy/drivers"
    cp "$("$RKNPU_ROOT/scripts/fetch.sh" --path "source-$1")"/drivers/{Kconfig,Makefile} "$copy/drivers/"
    cp -rL "$RKNPU_ROOT/kernel" "$copy/drivers/rknpu"
    # shellcheck disable=SC2016 # make expands it
    echo 'obj-$(CONFIG_ROCKCHIP_RKNPU) += rknpu/' >>"$copy/drivers/Makefile"
    sed -i '$s#^endmenu#source "drivers/rknpu/Kconfig"\nendmenu#' "$copy/drivers/Kconfig"
    diff -rwB --exclude=tests --exclude='*.o' --exclude='.*' "$copy/drivers/rknpu" "$tree/drivers/rknpu" &&
        diff -wB "$copy/drivers/Kconfig" "$tree/drivers/Kconfig" &&
        diff -wB "$copy/drivers/Makefile" "$tree/drivers/Makefile"
}

without() { configure y "$1=n" && ! grep -q "^CONFIG_ROCKCHIP_RKNPU_$1=y" "$tree/.config" &&
    compile drivers/rknpu/ built-in.a; }

need aarch64-linux-gnu-gcc make flex bison bc
[ $# -gt 0 ] || set -- 6.1 6.12
for series in "$@"; do
    "$RKNPU_ROOT/scripts/fetch.sh" "source-$series"
    tree=$RKNPU_BUILD/intree/$series
    rm -rf "$tree"
    build_folder
    mkdir -p "$RKNPU_BUILD/intree"
    cp -r "$("$RKNPU_ROOT/scripts/fetch.sh" --path "source-$series")" "$tree"
    make -s -C "$RKNPU_ROOT" bsp BSP="$tree"
    make -s -C "$RKNPU_ROOT" bsp BSP="$tree" # a second time changes nothing
    try "$series: make bsp, twice, does what bsp.rst does by hand" by_hand "$series"
    configure y
    step "preparing kernel $series" kmake -j "$(nproc)" prepare modules_prepare ||
        { verdict fail "$series: the tree can be prepared" && continue; }
    try "$series: built in (y)" built_in
    try "$series: as a module (m)" as_module
    try "$series: without SRAM" without SRAM
    try "$series: without files in procfs" without PROC_FS
    rm -rf "$tree"
done
exit "$failed"
