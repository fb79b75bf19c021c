#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest side: rknpu-doctor in good and broken states of the emulated board. Prints TAP.
number=0 failed=0
examine() { # examine NAME STATUS PATTERN...
    number=$((number + 1)) name=$1 wanted=$2 word=ok
    shift 2
    rknpu-doctor >/tmp/doctor.log 2>&1
    status=$?
    [ $status = "$wanted" ] || { echo "# status $status, not $wanted" && word='not ok'; }
    for pattern in "$@"; do
        grep -qE -- "$pattern" /tmp/doctor.log || { echo "# missing: $pattern" && word='not ok'; }
    done
    [ "$word" = ok ] || { sed 's/^/# /' /tmp/doctor.log && failed=1; }
    echo "$word $number $name"
}

examine "the driver is not there" 1 '^fail +module: no driver rknpu for kernel'
release=$(uname -r)
mkdir -p "/lib/modules/$release"
cp /lib/modules/rknpu.ko "/lib/modules/$release/"
examine "the driver is installed, but not loaded" 1 '^fail +module: the driver is installed'
insmod /lib/modules/rknpu.ko
examine "all is well" 0 '^ok +tree: NPU nodes: npu@' '^ok +module: the driver is loaded, interface 0.9.8' \
    '^ok +bound: the driver runs: 10100000.npu' '^ok +render: /dev/dri/renderD' '^ok +card: /dev/dri/card' \
    '^ok +files: RKNPU driver: v0.9.8, NPU load:' '^ok +irq: 3 interrupt line' '^ok +iommu:' \
    '^info +sram: SRAM total size: 978944'
umount /sys/kernel/debug
examine "without debugfs there is procfs" 0 '^ok +files: RKNPU driver: v0.9.8, NPU load:'
mount -t debugfs debug /sys/kernel/debug
render=$(echo /dev/dri/renderD*)
mv "$render" /tmp/
examine "the node is missing" 1 '^fail +render: no render node'
mv /tmp/renderD* /dev/dri/
device=10100000.npu
echo "$device" >/sys/bus/platform/drivers/RKNPU/unbind
examine "the driver is not bound" 1 '^fail +bound: the driver refused: 10100000.npu'
echo "$device" >/sys/bus/platform/drivers/RKNPU/bind
examine "bound again" 0 '^ok +bound:'
rmmod rknpu
rm -r "/lib/modules/${release:?}"
exit $failed
