#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the debug kernel of the emulated board from Debian's linux-source: arm64, small, with KASAN,
# lockdep, kmemleak, DMA_API_DEBUG, fault injection and sw_sync (scripts/debug-kernel.config).
#
#   build-debug-kernel.sh SOURCE.tar.xz DIR     JOBS=N: parallel jobs (default: one per processor)
#
# scripts/fetch.sh kernel-debug fetches the source and calls this; DIR gets the same layout as the
# other kernels of the cache: vmlinuz, release, suite, modules/ and headers/ to build the driver with.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 2 ] || die "wrong number of arguments" "build-debug-kernel.sh SOURCE.tar.xz DIR"
source=$1 tree=$2
fragment=$RKNPU_ROOT/scripts/debug-kernel.config
headers=$tree/headers
need aarch64-linux-gnu-gcc make flex bison bc perl xz

cc=aarch64-linux-gnu-gcc
if command -v ccache >/dev/null; then cc="ccache $cc"; fi

kernel_make() {
    make -C "$headers" --no-print-directory ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC="$cc" "$@"
}

configure() {
    kernel_make KCONFIG_ALLCONFIG="$fragment" allnoconfig
    # An option whose dependencies are not met vanishes without a word.
    local option dropped=0
    while read -r option; do
        grep -qxF "$option" "$headers/.config" || { echo "dropped: $option" && dropped=1; }
    done < <(grep -E '^(CONFIG_|# CONFIG_)' "$fragment")
    [ "$dropped" = 0 ]
}

install_kernel() {
    local module
    cp "$headers/arch/arm64/boot/Image" "$tree/vmlinuz"
    kernel_make -s kernelrelease >"$tree/release"
    mkdir -p "$tree/modules"
    while read -r module; do
        cp "$headers/$module" "$tree/modules/"
    done < <(sed 's/\.o$/.ko/' "$headers/modules.order")
}

# Keep what it takes to build a module: makefiles, headers, kbuild's programs and the symbol list.
prune() {
    (
        cd "$headers"
        find . -mindepth 1 -maxdepth 1 ! -name scripts ! -name include ! -name arch ! -name tools \
            ! -name 'Makefile' ! -name Kbuild ! -name .config ! -name Module.symvers \
            -exec rm -rf {} +
        find arch -mindepth 1 -maxdepth 1 ! -name arm64 ! -name arm ! -name Kconfig -exec rm -rf {} +
        find tools -mindepth 1 -maxdepth 1 ! -name include ! -name scripts -exec rm -rf {} +
        rm -rf arch/arm64/boot arch/arm/boot scripts/dtc/include-prefixes
        find arch tools -type f ! -name '*.h' ! -name 'Makefile*' ! -name 'Kbuild*' ! -name '*.lds' \
            ! -name '*.include' -delete
        find . \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) -delete
        find . -type d -empty -delete
    )
}

mkdir -p "$headers"
step "unpacking ${source##*/}" tar -xJf "$source" -C "$headers" --strip-components=1
step "configuring the debug kernel" configure
step "building the debug kernel" kernel_make -j "${JOBS:-$(nproc)}" Image modules
install_kernel
prune
echo debug >"$tree/suite"
