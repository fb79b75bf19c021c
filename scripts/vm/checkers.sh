#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest side of a run on the debug kernel.
#
#   checkers.sh on     before the tests: make each checker report all that it sees, load the driver
#   checkers.sh off    after them: look for leaked memory, and prove that no checker has given up
#
# "off" unloads the driver, so that what is left of it counts as leaked, and loads it anew: the machine
# is to go down with it. (While it is away, the IOMMU's runtime PM is off, see rknpu_supply_hush().
# DEBUG_SHIRQ then calls the interrupt handler of an IOMMU that goes down, which is astonished.)
debugfs=/sys/kernel/debug
failed=0

fail() {
    echo "$*"
    failed=1
}

# kmemleak looks at objects that are older than five seconds, and believes what it sees twice.
look_for_leaks() {
    sleep 6
    echo scan >$debugfs/kmemleak || fail "kmemleak does not work"
    sleep 1
    echo scan >$debugfs/kmemleak
    cat $debugfs/kmemleak >/tmp/leaks
    [ ! -s /tmp/leaks ] || fail "leaked memory: $(head -n 60 /tmp/leaks)"
    # A line of the kernel log makes the run fail whatever becomes of this script's status.
    [ ! -s /tmp/leaks ] || echo "rknpu-vm: unreferenced object found by kmemleak" >/dev/kmsg
}

case $1 in
on)
    for file in $debugfs/kmemleak $debugfs/dma-api $debugfs/failslab $debugfs/sync/sw_sync \
        /proc/lockdep_stats; do
        [ -e "$file" ] || fail "the kernel does not offer $file"
    done
    echo 1 >$debugfs/dma-api/all_errors
    echo clear >$debugfs/kmemleak
    insmod /lib/modules/rknpu.ko || fail "the driver cannot be loaded"
    ;;
off)
    rmmod rknpu || fail "the driver cannot be unloaded"
    look_for_leaks
    grep -q 'debug_locks: *1' /proc/lockdep_stats || fail "lockdep has switched itself off"
    [ "$(cat $debugfs/dma-api/disabled)" = N ] || fail "DMA debugging has switched itself off"
    [ "$(cat $debugfs/dma-api/error_count)" = 0 ] || fail "DMA debugging has found errors"
    insmod /lib/modules/rknpu.ko || fail "the driver cannot be loaded again"
    ;;
*) fail "unknown argument '$1'" ;;
esac
exit $failed
