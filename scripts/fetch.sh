#!/bin/bash
# SPDX-License-Identifier: MIT
# Fetch what the emulated board needs into the cache folder and unpack it there.
#
#   fetch.sh ITEM...      ITEM: qemu busybox kernel-6.1 kernel-6.12 kernel-7.3 kernel-5.10
#                               sysroot-arm64 sysroot-armhf checkpatch trixie
#                               source-6.1 source-6.12 root-bookworm root-trixie kernel-debug
#   fetch.sh --path ITEM  print the folder of an item that was fetched before
#   fetch.sh --has ITEM   succeed when nothing would have to be done for ITEM
#
# Versions are whatever the mirror's (signed) indices say today. An item is fetched again only when
# its recipe below changes or its folder was removed: a second run makes no network access.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# The suites that may hold a kernel series, best first.
kernel_suites() {
    case $1 in
    5.10) echo bullseye bullseye-security ;;
    6.1) echo bookworm ;;
    6.12) echo bookworm-backports trixie ;;
    7.3) echo trixie-backports ;;
    *) return 1 ;;
    esac
}

# depends PACKAGE: names of the kernel packages that PACKAGE depends on directly (of alternatives the first)
kernel_depends() {
    apt-cache show --no-all-versions "$1" 2>/dev/null |
        sed -n 's/^\(Pre-\)\?Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/[ (:|].*//' |
        grep -E '^linux-(image|binary|modules|base|headers|kbuild)-[0-9]' || true
}

# kernel_closure PACKAGE...: the named meta packages' kernel packages, once each
kernel_closure() {
    local queue=("$@") seen=' ' package
    while [ ${#queue[@]} -gt 0 ]; do
        package=${queue[0]}
        queue=("${queue[@]:1}")
        case $seen in *" $package "*) continue ;; esac
        seen+="$package "
        case $package in linux-image-arm64 | linux-headers-arm64) ;; *) echo "$package" ;; esac
        # shellcheck disable=SC2207 # package names hold no blanks
        queue+=($(kernel_depends "$package"))
    done
}

# unpack_debs DEBS TREE
unpack_debs() {
    local deb
    for deb in "$1"/*.deb; do
        echo "${deb##*/}"
        dpkg-deb -x "$deb" "$2"
    done
}

download_into() { # download_into DIR PACKAGE...
    local dir=$1
    shift
    mkdir -p "$dir"
    (cd "$dir" && apt-get download "$@")
}

recipe_kernel() { # recipe_kernel SERIES TREE
    local series=$1 tree=$2 suite suites packages=() package release=
    suites=$(kernel_suites "$series") || die "no suite known for kernel $series"
    for suite in $suites; do
        private_apt "$suite-kernel" arm64,amd64 "$suite" || continue
        mapfile -t packages < <(kernel_closure linux-image-arm64 linux-headers-arm64)
        for package in "${packages[@]}"; do
            case $package in
            linux-headers-"$series".*-common | linux-headers-"$series"-*-common) ;;
            linux-headers-"$series"[.+-]*-arm64) release=${package#linux-headers-} ;;
            esac
        done
        [ -z "$release" ] || break
    done
    [ -n "$release" ] ||
        die "the mirror offers no arm64 kernel $series in: $suites" \
            "set RKNPU_MIRROR to a mirror that carries one of them"
    local i
    for i in "${!packages[@]}"; do # kbuild's programs run on this machine
        case ${packages[i]} in linux-kbuild-*) packages[i]+=":$(dpkg --print-architecture)" ;; esac
    done
    step "fetching kernel $release ($suite)" download_into "$tree/debs" "${packages[@]}"
    step "unpacking kernel $release" unpack_debs "$tree/debs" "$tree"
    rm -rf "$tree/debs" "$tree/usr/share/doc"
    # The headers name their common part by an absolute path: make it relative to the file.
    # shellcheck disable=SC2016 # make expands it
    sed -i 's#/usr/src/#$(dir $(lastword $(MAKEFILE_LIST)))../#' \
        "$tree/usr/src/linux-headers-$release/Makefile"
    local image=
    for image in "$tree/boot/vmlinuz-$release" "$tree/usr/lib/modules/$release/vmlinuz"; do
        [ ! -e "$image" ] || ln -sfn "${image#"$tree"/}" "$tree/vmlinuz"
    done
    [ -e "$tree/vmlinuz" ] || die "no vmlinuz in the packages of kernel $release"
    [ -d "$tree/lib/modules/$release" ] || ln -sfn usr/lib "$tree/lib"
    ln -sfn "lib/modules/$release" "$tree/modules"
    ln -sfn "usr/src/linux-headers-$release" "$tree/headers"
    echo "$release" >"$tree/release"
    echo "$suite" >"$tree/suite"
}

recipe_qemu() { # recipe_qemu TREE: QEMU 11 or later has the vfio-user client
    local tree=$1
    private_apt qemu amd64 trixie trixie-backports ||
        die "no mirror of this machine's apt carries trixie-backports" "set RKNPU_MIRROR to one that does"
    rm -f "$RKNPU_CACHE"/apt/qemu/cache/archives/*.deb
    step "fetching QEMU and its libraries" apt-get -y --download-only install \
        qemu-system-arm/trixie-backports qemu-system-common/trixie-backports \
        qemu-system-data/trixie-backports
    step "unpacking QEMU" unpack_debs "$RKNPU_CACHE/apt/qemu/cache/archives" "$tree"
    rm -rf "$RKNPU_CACHE"/apt/qemu/cache/archives/*.deb "$tree/usr/share/doc" "$tree/usr/share/locale"
    # It is linked with a newer C library than this machine's: start it by its own loader.
    cat >"$tree/qemu" <<'RUN'
#!/bin/sh
# SPDX-License-Identifier: MIT
r=${0%/*}
exec "$r/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path \
    "$r/usr/lib/x86_64-linux-gnu:$r/usr/lib/x86_64-linux-gnu/qemu" \
    "$r/usr/bin/qemu-system-aarch64" -L "$r/usr/share/qemu" "$@"
RUN
    chmod +x "$tree/qemu"
    "$tree/qemu" --version | head -n 1 >"$tree/release"
    "$tree/qemu" -device help 2>&1 | grep -q vfio-user-pci ||
        die "$(cat "$tree/release") has no vfio-user-pci device"
}

recipe_busybox() { # recipe_busybox TREE
    private_apt busybox arm64 "$(. /etc/os-release && echo "$VERSION_CODENAME")"
    step "fetching busybox for the guest" download_into "$1/debs" busybox-static
    unpack_debs "$1/debs" "$1" >/dev/null
    # shellcheck disable=SC2115 # the caller gives a folder below the cache
    rm -rf "$1/debs" "$1/usr/share"
    cp "$1"/*bin/busybox "$1/busybox" 2>/dev/null || cp "$1/usr/bin/busybox" "$1/busybox"
}

# recipe_sysroot ARCH TREE: libdrm, fmt and flatbuffers for the target. The C and C++ libraries come
# with the cross compiler; the guest's copies of the shared ones are taken from there, too.
recipe_sysroot() {
    local arch=$1 tree=$2
    private_apt "sysroot-$arch" "$arch" "$(. /etc/os-release && echo "$VERSION_CODENAME")"
    step "fetching libraries for $arch" download_into "$tree/debs" libdrm-dev libdrm2 \
        libfmt-dev libfmt9 libflatbuffers-dev libflatbuffers2
    unpack_debs "$tree/debs" "$tree" >/dev/null
    rm -rf "$tree/debs" "$tree/usr/share/doc"
}

# recipe_trixie TREE: the compiler and the small programs that building a module for kernel 7.3 takes.
# That kernel needs gcc 14 and its kbuild programs need Debian 13's C library: build-module.sh
# changes its root to this tree.
recipe_trixie() {
    local tree=$1 dir
    private_apt trixie "$(dpkg --print-architecture)" trixie ||
        die "no mirror of this machine's apt carries trixie" "set RKNPU_MIRROR to one that does"
    rm -f "$RKNPU_CACHE"/apt/trixie/cache/archives/*.deb
    step "fetching Debian 13's cross compiler" apt-get -y --download-only install base-files dash bash \
        coreutils make gcc-14-aarch64-linux-gnu binutils-aarch64-linux-gnu sed grep gawk findutils \
        diffutils perl-base sparse
    mkdir -p "$tree"/usr/{bin,sbin,lib,lib64}
    for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$tree/$dir"; done
    step "unpacking it" unpack_debs "$RKNPU_CACHE/apt/trixie/cache/archives" "$tree"
    rm -rf "$RKNPU_CACHE"/apt/trixie/cache/archives/*.deb "$tree/usr/share/doc" "$tree/usr/share/locale"
    ln -sf aarch64-linux-gnu-gcc-14 "$tree/usr/bin/aarch64-linux-gnu-gcc"
    ln -sf gawk "$tree/usr/bin/awk"
    mkdir -p "$tree/kernel" "$tree/build" "$tree/source" "$tree/tmp" "$tree/dev"
}

# recipe_checkpatch TREE: no small package carries it, so it is cut out of the kernel's source.
recipe_checkpatch() {
    local tree=$1 package
    private_apt checkpatch "$(dpkg --print-architecture)" bookworm-backports ||
        die "no mirror of this machine's apt carries bookworm-backports" "set RKNPU_MIRROR"
    package=$(apt-cache pkgnames linux-source-6 | sort -V | tail -n 1)
    [ -n "$package" ] || die "the mirror offers no linux-source-6.x"
    step "fetching $package (for checkpatch)" download_into "$tree/debs" "$package"
    step "taking checkpatch out of it" take_checkpatch "$tree"
    rm -rf "$tree/debs"
    echo "$package" >"$tree/release"
}

# recipe_source SERIES TREE: as much of the kernel's source as configuring it and building one folder
# of drivers/ takes
recipe_source() {
    local series=$1 tree=$2 suite package=linux-source-$1
    for suite in $(kernel_suites "$series"); do
        private_apt "$suite-source" "$(dpkg --print-architecture)" "$suite" || continue
        [ -z "$(apt-cache pkgnames "$package")" ] || break
    done
    step "fetching $package ($suite)" download_into "$tree/debs" "$package" ||
        die "the mirror offers no $package in: $(kernel_suites "$series")" "set RKNPU_MIRROR"
    step "unpacking part of it" take_source "$tree"
    rm -rf "$tree/debs"
    sed -n 's/^\(VERSION\|PATCHLEVEL\|SUBLEVEL\) = //p' "$tree/Makefile" | paste -sd . >"$tree/release"
}

take_source() { # take_source TREE
    local -a kinds=() folders=()
    local folder
    for folder in drivers fs net sound block crypto mm security samples \
        arch/{x86,arm,mips,powerpc,s390,sparc}; do # but not their Kconfig files
        kinds+=(--exclude="linux-source-*/$folder/*.[chS]")
    done
    kinds+=(--exclude='linux-source-*/Documentation/*/*.[a-z]*')
    for folder in tools/testing tools/perf; do
        folders+=(--exclude="linux-source-*/$folder/*")
    done
    dpkg-deb --fsys-tarfile "$1"/debs/*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
        tar -xJ -C "$1" --strip-components=1 "${kinds[@]}" "${folders[@]}"
}

# recipe_root SUITE TREE: a small arm64 Debian as root.tar, with what the project's packages depend
# on. Its packages are configured by emulation.
recipe_root() {
    local suite=$1 tree=$2 mirror include=dkms,linux-headers-arm64,udev,libdrm2,libstdc++6,pkgconf
    need mmdebstrap arch-test
    for mirror in $(debian_mirrors); do
        if step "installing Debian ($suite, arm64) into a folder" \
            "$RKNPU_ROOT/scripts/arm64-ns.sh" mmdebstrap --mode=root --architectures=arm64 \
            --variant=minbase --include="$include" --aptopt='APT::Install-Recommends "false"' \
            --aptopt='Acquire::Check-Valid-Until "false"' \
            --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
            "$suite" "$tree/root.tar" "deb $mirror $suite main"; then
            echo "$suite" >"$tree/release"
            return
        fi
    done
    die "no mirror of this machine's apt gave an arm64 $suite" "set RKNPU_MIRROR"
}

take_checkpatch() { # take_checkpatch TREE
    dpkg-deb --fsys-tarfile "$1"/debs/*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
        tar -xJ -C "$1" --strip-components=2 --wildcards '*/scripts/checkpatch.pl' \
            '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
    [ -e "$1/checkpatch.pl" ]
}

# recipe_kernel_debug TREE: a kernel with checkers, built here; this takes a quarter of an hour.
recipe_kernel_debug() {
    local tree=$1 package=linux-source-6.12
    private_apt kernel-debug "$(dpkg --print-architecture)" bookworm-backports ||
        die "no mirror of this machine's apt carries bookworm-backports" "set RKNPU_MIRROR"
    step "fetching $package (for the debug kernel)" download_into "$tree/debs" "$package"
    dpkg-deb --fsys-tarfile "$tree"/debs/*.deb |
        tar -xO --wildcards './usr/src/linux-source-*.tar.xz' >"$tree/source.tar.xz"
    rm -rf "$tree/debs"
    "$RKNPU_ROOT/scripts/build-debug-kernel.sh" "$tree/source.tar.xz" "$tree"
    rm "$tree/source.tar.xz"
}

# find_recipe ITEM: sets the recipe, its arguments and the hash of all that its result depends on
find_recipe() {
    local item=$1
    local -a parts=() files=()
    case $item in
    qemu) recipe=(recipe_qemu) ;;
    busybox) recipe=(recipe_busybox) ;;
    trixie) recipe=(recipe_trixie) ;;
    checkpatch) recipe=(recipe_checkpatch) parts=(take_checkpatch) ;;
    kernel-debug)
        recipe=(recipe_kernel_debug)
        files=("$RKNPU_ROOT"/scripts/{build-debug-kernel.sh,debug-kernel.config})
        ;;
    kernel-*)
        recipe=(recipe_kernel "${item#kernel-}")
        parts=(kernel_suites kernel_depends kernel_closure)
        ;;
    source-*) recipe=(recipe_source "${item#source-}") parts=(take_source kernel_suites) ;;
    root-*) recipe=(recipe_root "${item#root-}") ;;
    sysroot-*) recipe=(recipe_sysroot "${item#sysroot-}") ;;
    *) die "unknown item '$item'" "see the head of scripts/fetch.sh for the list" ;;
    esac
    hash=$({
        declare -f "${recipe[0]}" "${parts[@]}"
        [ ${#files[@]} -eq 0 ] || cat "${files[@]}"
    } | sha256sum | cut -c 1-16)
}

fetch_item() { # fetch_item ITEM
    local item=$1 hash dir=$RKNPU_CACHE/$1 work
    local -a recipe
    find_recipe "$item"
    writable "$RKNPU_CACHE" RKNPU_CACHE
    mkdir -p "$RKNPU_CACHE/lock"
    exec 9>"$RKNPU_CACHE/lock/$item"
    flock -n 9 || { say "  waiting for another run that fetches $item" && flock 9; }
    [ "$(cat "$dir/stamp" 2>/dev/null)" != "$hash" ] || return 0
    need apt-get dpkg-deb flock
    work=$dir.new
    rm -rf "$work"
    mkdir -p "$work"
    "${recipe[@]}" "$work"
    echo "$hash" >"$work/stamp"
    rm -rf "$dir"
    mv "$work" "$dir"
    say "  $item: $(cat "$dir/release" 2>/dev/null || echo ready)"
}

case ${1:-} in
-*) [ $# -eq 2 ] || die "$1 wants one item after it" "fetch.sh --help" ;;
esac
if [ "${1:-}" = --path ]; then
    [ -e "$RKNPU_CACHE/$2/stamp" ] || die "'$2' was not fetched" "scripts/fetch.sh $2"
    echo "$RKNPU_CACHE/$2"
    exit 0
fi
if [ "${1:-}" = --has ]; then
    find_recipe "$2"
    [ "$(cat "$RKNPU_CACHE/$2/stamp" 2>/dev/null)" = "$hash" ]
    exit
fi
[ $# -gt 0 ] || die "no item named" "see the head of scripts/fetch.sh for the list"
for item in "$@"; do
    fetch_item "$item"
    unset APT_CONFIG
done
