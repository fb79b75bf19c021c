#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest side: device trees that lack something, or have it wrong. Each must be answered by one line
# that names the property and the cure. The board is rk3588-broken or rk3588-bare.
failed=0
check() { # check TEXT COMMAND...
    text=$1
    shift
    if "$@"; then echo "  $text"; else echo "  FAILED: $text" && failed=1; fi
}
lines() { dmesg | grep "RKNPU.*$1" | grep -c "$2"; } # lines NODE TEXT
once() { [ "$(lines "$1" "$2")" -eq 1 ]; }
never() { [ "$(lines "$1" "$2")" -eq 0 ]; }
at_least_once() { [ "$(lines "$1" "$2")" -ge 1 ]; }
bound() { [ -e "/sys/bus/platform/drivers/RKNPU/$1" ]; }
unbound() { ! bound "$1"; }
waits() { grep "$1" /sys/kernel/debug/devices_deferred | grep -q "$2"; }
loud() { dmesg -r | grep -c '^<[0-4]>.*RKNPU'; } # lines of the driver at warning or worse

broken() {
    insmod /lib/modules/rknpu.ko
    check "without its clocks nothing is probed" unbound 10100000.npu
    check "and nothing is said" [ "$(loud)" -eq "$(lines npu-noclocks .)" ]
    insmod /lib/modules/rknpu_board.ko
    sleep 1
    check "deferred probe is retried" bound 10100000.npu
    check "b27 the right node has no loud line" [ "$(dmesg -r | grep -c '^<[0-4]>.*RKNPU 10100000.npu:')" -eq 0 ]
    check "clocks" once npu-noclocks "clocks: none: add those of the chip"
    check "interrupts" once npu-noirq "interrupts: none for core 0"
    check "b26 wrong number of cells" once npu-fourcells "interrupts: 12 cells are not 3 lines: .* wants 3 cells"
    check "windows" once npu-tworegs "reg: no window for core 2"
    check "names of power domains" once npu-domainnames "power-domain-names: cannot get npu0 of 3"
    check "disabled IOMMU" once npu-mmuoff "iommus names a node that is disabled"
    check "shared on-chip memory" once npu-sramtwice "overlaps .*video-sram.* and is not used"
    check "names of windows" once npu-regnames "reg-names: no window pc"
    check "supply that never comes" waits npu-supplyoff "rknpu-supply: cannot get it"
    check "reset line that never comes" waits npu-resetoff "resets: cannot get srst_a0"
    for node in noclocks noirq fourcells tworegs domainnames mmuoff sramtwice regnames supplyoff resetoff; do
        check "$node is not bound" unbound "10100000.npu-$node"
    done
    # A driver that was faster.
    rmmod rknpu
    insmod /lib/modules/rknpu_rival.ko
    insmod /lib/modules/rknpu.ko
    check "another driver has the node" at_least_once "" "driver rknpu-rival has this node: remove its module"
    check "the right node is still bound" bound 10100000.npu
}

bare() {
    insmod /lib/modules/rknpu.ko
    check "it works all the same" bound 10100000.npu
    check "power domains" once 10100000.npu "power-domains: none"
    check "supply" once 10100000.npu "rknpu-supply: none"
    check "resets" once 10100000.npu "resets: none named srst_aN of core 0"
    check "on-chip memory" once 10100000.npu "could not find sram resource!.*rockchip,sram"
    check "IOMMU" once 10100000.npu "iommu device-tree entry not found!, using non-iommu mode"
    check "two of these are warnings" [ "$(loud)" -eq 2 ]
}

if [ -e /sys/firmware/devicetree/base/npu-noclocks@10100000 ]; then broken; else bare; fi
# Left loaded on purpose: switching off must not make the kernel complain either.
[ $failed -eq 0 ]
