#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in a clean arm64 Debian: install the packages in /packages, use them, remove them. Prints TAP.
# shellcheck disable=SC2317 # the functions are called by name through check()
number=0 failed=0
check() { # check NAME COMMAND...
    number=$((number + 1)) name=$1
    shift
    if "$@" >/tmp/log 2>&1; then
        echo "ok $number $name"
    else
        sed 's/^/# /' /tmp/log
        echo "not ok $number $name" && failed=1
    fi
}

triplet=aarch64-linux-gnu
library=/usr/lib/$triplet/librknnrt.so
kernel=$(find /lib/modules -maxdepth 1 -name '*-arm64' | sort -V | tail -n 1)
kernel=${kernel##*/}
version=$(dpkg-deb -f /packages/rknpu-dkms_*.deb Version)

# All files, but for what dpkg, apt and DKMS themselves keep: logs, lists, DKMS' signing key.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /tmp -o -path /packages -o -path /var/log \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache \
        -o -path '/var/lib/dkms/mok.*' \) -prune -o -print | sort
}

install_all() { dpkg -i /packages/*.deb; }
dkms_builds() {
    # dpkg has tried it for the newest kernel
    dkms status rknpu | grep -q "$kernel.*installed" || dkms install "rknpu/$version" -k "$kernel" ||
        { cat /var/lib/dkms/rknpu/*/build/make.log && return 1; }
    dkms status rknpu | grep -q "$kernel.*installed"
}
module_fits() {
    file=$(find "/lib/modules/$kernel/updates" -name 'rknpu.ko*') && [ -n "$file" ] &&
        modinfo -F vermagic "$file" | grep -q "^$kernel " && modinfo -F alias "$file" | grep -q rk3588-rknpu
}
runs() { # a program that was built with the package's headers; there is no NPU here, and it must say so
    cp /packages/try /tmp/try && /tmp/try
}
closed_beside() { # the closed library stays, and can be chosen
    cp "/usr/lib/$triplet/rknpu/librknnrt.so" /usr/lib/librknnrt.so
    [ "$(readlink -f "$library")" = "/usr/lib/$triplet/rknpu/librknnrt.so" ] &&
        update-alternatives --install "$library" "librknnrt.so-$triplet" /usr/lib/librknnrt.so 10 &&
        [ "$(readlink -f "$library")" = "/usr/lib/$triplet/rknpu/librknnrt.so" ] &&
        update-alternatives --set "librknnrt.so-$triplet" /usr/lib/librknnrt.so &&
        [ "$(readlink -f "$library")" = /usr/lib/librknnrt.so ] && /tmp/try &&
        update-alternatives --remove "librknnrt.so-$triplet" /usr/lib/librknnrt.so &&
        rm /usr/lib/librknnrt.so && [ "$(readlink -f "$library")" = "/usr/lib/$triplet/rknpu/librknnrt.so" ]
}
soname() { # programs built for either library find the other
    objdump -p "$library" | grep -q 'SONAME *librknnrt.so$' && objdump -p /tmp/try | grep -q 'NEEDED *librknnrt.so$'
}
doctor_runs() {
    rknpu-doctor --json >/tmp/doctor.json
    [ $? = 1 ] && grep -q '"id":"runtime","state":"ok"' /tmp/doctor.json
}
tools_run() { rknn-run --help && rknn-make --help && rknpu-dtb --help; }
udev_rule() {
    rule=$(dpkg -L rknpu-dkms | grep 'udev/rules.d/.*rules$') && grep -q 'GROUP="render"' "$rule" || return 1
    ! udevadm verify --help >/dev/null 2>&1 || udevadm verify "$rule"
}
removed() { dpkg --purge rknpu-tools librknnrt-dev librknnrt2 rknpu-dkms; }
nothing_left() {
    rm -f /tmp/*
    files >/tmp/after
    diff /packages/before /tmp/after
}

depmod "$kernel"
files >/packages/before
check "dpkg installs all packages" install_all
check "DKMS builds the driver for $kernel" dkms_builds
check "the module is for this kernel" module_fits
check "a program runs, and gets an error without an NPU" runs
check "the name in programs is the closed library's" soname
check "the closed library can be beside it and can be chosen" closed_beside
check "the doctor finds the runtime" doctor_runs
check "the tools start" tools_run
check "the udev rule is there and valid" udev_rule
check "dpkg removes all packages" removed
check "nothing is left behind" nothing_left
echo "1..$number"
exit $failed
