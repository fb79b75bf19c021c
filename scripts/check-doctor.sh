#!/bin/bash
# SPDX-License-Identifier: MIT
# Unit tests of rknpu-doctor: boards made of files, one thing wrong at a time.
# RKNPU_RESULTS names a file that gets "pass|fail doctor: NAME" lines.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_arguments "$@"

need python3
doctor=$RKNPU_ROOT/scripts/rknpu-doctor
work=$(mktemp -d "${TMPDIR:-/tmp}/rknpu-doctor.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
suite=doctor # for verdict

write() { # write FILE TEXT: below the board's root, with the folders that it needs
    mkdir -p "$board/$(dirname "$1")"
    printf '%b' "$2" >"$board/$1"
}

node=npu@fdab0000 device=fdab0000.npu

# good_board: an RK3588 on which all is well
good_board() {
    local tree=sys/firmware/devicetree/base property
    board=$work/board
    rm -rf "$board"
    write proc/sys/kernel/osrelease '6.12.1\n'
    write $tree/compatible 'radxa,rock-5b\0rockchip,rk3588\0'
    write $tree/model 'Radxa ROCK 5B\0'
    write $tree/$node/compatible 'rockchip,rk3588-rknpu\0'
    write $tree/$node/status 'okay\0'
    for property in reg interrupts clocks resets iommus rknpu-supply rockchip,sram; do
        write "$tree/$node/$property" 'x'
    done
    write sys/module/rknpu/version '0.9.8\n'
    write sys/module/rknpu/initstate 'live\n'
    mkdir -p "$board/sys/bus/platform/devices/$device" "$board/sys/bus/platform/drivers/RKNPU" \
        "$board/sys/class/drm/card1" "$board/sys/class/drm/renderD129" "$board/sys/class/drm/card1-HDMI"
    ln -s "../../../../firmware/devicetree/base/$node" "$board/sys/bus/platform/devices/$device/of_node"
    ln -s ../../drivers/RKNPU "$board/sys/bus/platform/devices/$device/driver"
    mkdir "$board/sys/bus/platform/devices/$device/iommu_group"
    ln -s "../../../bus/platform/devices/$device" "$board/sys/class/drm/card1/device"
    ln -s "../../../bus/platform/devices/$device" "$board/sys/class/drm/renderD129/device"
    write dev/dri/card1 '' && write dev/dri/renderD129 ''
    chgrp 44 "$board"/dev/dri/* 2>/dev/null || true
    write sys/kernel/debug/rknpu/version 'RKNPU driver: v0.9.8\n'
    write sys/kernel/debug/rknpu/load 'NPU load:  Core0:  0%, Core1:  7%, Core2: 100%,\n'
    write sys/kernel/debug/rknpu/freq '1000000000\n'
    write sys/kernel/debug/rknpu/mm 'SRAM total size: 978944, used: 0, free: 978944\n'
    write proc/interrupts ' 30:  4  0 GICv3 142 Level fdab0000.npu-core0\n 31:  5  1 GICv3 143 Level fdab0000.npu-core1\n'
    write proc/meminfo 'MemTotal: 8000000 kB\nCmaTotal: 65536 kB\n'
    write usr/lib/aarch64-linux-gnu/librknnrt.so 'x\0librknnrt version: 2.3.2 (rknpu 0.1.0@open)\0y'
}

# examine NAME STATUS PATTERN...: run the doctor; each PATTERN must match a line of its text, each
# !PATTERN none. The JSON must hold the same states.
examine() {
    local name=$1 wanted=$2 text status=0 pattern word=pass
    shift 2
    text=$(RKNPU_DOCTOR_ROOT=$board "$doctor" 2>&1) || status=$?
    [ "$status" = "$wanted" ] || { say "    status $status, not $wanted" && word=fail; }
    for pattern in "$@"; do
        case $pattern in
        !*) ! grep -qE -- "${pattern#!}" <<<"$text" || { say "    unwanted: $pattern" && word=fail; } ;;
        *) grep -qE -- "$pattern" <<<"$text" || { say "    missing: $pattern" && word=fail; } ;;
        esac
    done
    { RKNPU_DOCTOR_ROOT=$board "$doctor" --json || true; } | python3 -c '
import json, sys
lines = [l.split() for l in sys.argv[1].splitlines() if l[:5] in ("ok   ", "info ", "warn ", "fail ")]
doc = json.load(sys.stdin)
states = [(c["state"], c["id"] + ":") for c in doc["checks"]]
assert states == [(l[0], l[1]) for l in lines], (states, lines)
assert doc["failed"] == sum(s == "fail" for s, _ in states)
' "$text" || word=fail
    [ $word = pass ] || say "$text"
    verdict "$word" "$name"
}

base=sys/firmware/devicetree/base
good_board
examine "a good board" 0 '^ok +soc: Radxa ROCK 5B with rk3588' '^ok +irq: 2 interrupt line\(s\), 10 int' \
    '^ok +render: /dev/dri/renderD129' '^ok +card: /dev/dri/card1 ' 'librknnrt.so: 2.3.2 \(rknpu 0.1.0@open\)' \
    '^info +clock: clock 1000000000 Hz' '^ok +iommu:' '!^(fail|warn)' 'all is well'

good_board && rm -r "$board/sys/firmware"
examine "a kernel without a device tree" 1 '^fail +soc: this kernel has no device tree'

good_board && rm -r "${board:?}/$base/$node"
examine "no NPU node" 1 '^fail +tree: the device tree has no NPU node' 'rknpu-dtb'

good_board && write $base/$node/status 'disabled\0'
examine "a disabled node" 1 '^fail +tree: the NPU node is disabled: npu@fdab0000'

good_board && rm "$board/$base/$node/clocks" "$board/$base/$node/resets" "$board/$base/$node/rknpu-supply"
examine "a node that lacks properties" 1 '^fail +node.npu@fdab0000: .* lacks clocks$' \
    '^warn +reset.npu@fdab0000' '^info +supply.npu@fdab0000'

good_board && rm -r "$board/sys/module/rknpu" "$board/sys/bus/platform/devices/$device/driver"
examine "no module for this kernel" 1 '^fail +module: no driver rknpu for kernel 6.12.1' 'rknpu-dkms'

write lib/modules/6.12.1/updates/dkms/rknpu.ko.xz ''
examine "a module that is not loaded" 1 '^fail +module: the driver is installed but not loaded' 'modprobe'

good_board && rm "$board/sys/module/rknpu/initstate"
examine "a driver built into the kernel" 0 '^ok +module: the driver is built into the kernel'

good_board && mkdir "$board/sys/bus/platform/drivers/rocket"
ln -sfn ../../drivers/rocket "$board/sys/bus/platform/devices/$device/driver"
examine "mainline's driver was first" 1 '^fail +stranger: .*fdab0000.npu=rocket' 'blacklist rocket'

good_board && rm "$board/sys/bus/platform/devices/$device/driver"
write sys/kernel/debug/devices_deferred 'fdab0000.npu\tplatform: supplier regulator not ready\n'
examine "a probe that waits" 1 '^fail +bound: waits for something else: fdab0000.npu.*regulator'

good_board && rm "$board/sys/bus/platform/devices/$device/driver"
write dmesg 'RKNPU fdab0000.npu: error -22: interrupt of core 1\n'
examine "a probe that failed" 1 '^fail +bound: the driver refused: fdab0000.npu.*interrupt of core 1'

good_board && rm "$board/dev/dri/renderD129"
examine "no render node" 1 '^fail +render: no render node' '^ok +card:'

good_board && write dev/rknpu ''
examine "a node that misleads the closed runtime" 0 '^warn +devnode: /dev/rknpu exists'

good_board && chgrp 0 "$board"/dev/dri/*
examine "nodes for root only" 0 '^warn +render.group' '^warn +card.group' '60-rknpu.rules'

good_board && rm -r "$board/sys/bus/platform/devices/$device/iommu_group" "$board/$base/$node/iommus"
examine "no IOMMU and little contiguous memory" 0 '^warn +iommu.npu@fdab0000' \
    '^warn +cma: no IOMMU and only 64 MiB' 'cma=256M'

good_board && write $base/compatible 'pine64,quartz64-a\0rockchip,rk3566\0'
examine "RK3566 with more memory than its IOMMU's tables reach" 0 '^warn +iommu.low: rk3566' 'mem=3840M'

good_board && write proc/interrupts ' 9: 1 GICv3 11 Level timer\n'
examine "no interrupt line" 1 '^fail +irq: no interrupt line'

good_board && rm -r "$board/sys/kernel/debug"
write proc/rknpu/version 'RKNPU driver: v0.9.8\n' && write proc/rknpu/load 'NPU load:  0%\n'
examine "no debugfs, but procfs" 0 '^ok +files: RKNPU driver: v0.9.8, NPU load:  0%'

good_board && rm -r "${board:?}/usr"
examine "no runtime" 0 '^warn +runtime: no librknnrt.so'

good_board && write usr/lib/librknnrt.so 'x librknnrt version: 2.3.0 (c949ad889d@2024-11-07T11:35:33)\0'
examine "two runtimes" 0 '2.3.2 \(rknpu' '2.3.0 \(c949' '^warn +runtime.many: there are 2 runtimes'

board=$work/empty && mkdir "$board"
examine "an empty system" 1 '^fail +soc'

status=0
"$doctor" --unknown >/dev/null 2>&1 || status=$?
[ $status = 2 ] || { say "  fail: a wrong option gives status $status" && failed=1; }
exit $failed
