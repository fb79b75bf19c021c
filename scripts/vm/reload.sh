#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest side: load and unload the driver 50 times; memory of the kernel must not grow.
# Five rounds first, so that caches which fill once do not count.
kernel_memory() { # KiB that only the kernel can give back
    awk '/^(SUnreclaim|VmallocUsed|PageTables|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
}
rounds() {
    i=0
    while [ $i -lt "$1" ]; do
        insmod /lib/modules/rknpu.ko || { echo "insmod failed in round $i" && exit 1; }
        [ -c /dev/dri/renderD128 ] || { echo "no render node in round $i" && exit 1; }
        rmmod rknpu || { echo "rmmod failed in round $i" && exit 1; }
        [ ! -e /dev/dri/renderD128 ] || { echo "the render node stayed in round $i" && exit 1; }
        i=$((i + 1))
    done
}
# Another driver may need the IOMMUs next: they must be left asleep, but able to wake up.
check_iommus() {
    for iommu in /sys/bus/platform/drivers/rk_iommu/*.iommu; do
        status=$(cat "$iommu/power/runtime_status") || exit 1
        [ "$status" = suspended ] || { echo "without a driver $iommu is $status" && exit 1; }
    done
}
rounds 5
check_iommus
sleep 1
before=$(kernel_memory)
rounds 50
sleep 1
after=$(kernel_memory)
echo "kernel memory: $before KiB before, $after KiB after 50 rounds"
# The busybox shell and the page allocator account for some hundred KiB of noise.
[ $((after - before)) -lt 512 ]
