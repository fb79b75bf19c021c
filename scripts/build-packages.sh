#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the Debian packages for an architecture.
#
#   build-packages.sh [arm64|amd64]        default: arm64, cross-built here
#
# The result is build/packages/*.deb and the source package (.dsc). Only files that git knows go in.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

arch=${1:-arm64}
version=$(dpkg-parsechangelog -l "$RKNPU_ROOT/debian/changelog" -S Version)
out=$RKNPU_BUILD/packages
tree=$out/rknpu-$version
need dpkg-buildpackage dh cmake ninja dtc
command -v dh_dkms >/dev/null || die "dh_dkms is missing" "install the package dh-dkms"

build_folder
rm -rf "$out"
mkdir -p "$tree"
(cd "$RKNPU_ROOT" && git ls-files -z | xargs -0 cp -P --parents -t "$tree")
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
    [ "$arch" = arm64 ] || die "no cross build for $arch" "arm64"
    "$RKNPU_ROOT/scripts/fetch.sh" sysroot-arm64
    # The build that the emulated board uses, too.
    "$RKNPU_ROOT/scripts/build-userspace.sh" aarch64 install-parts
    export RKNPU_BUILD_DIR=$RKNPU_BUILD/aarch64 RKNPU_SOURCE_DIR=$RKNPU_ROOT/userspace
    export RKNPU_LIBRARY_DIRS="$RKNPU_CACHE/sysroot-arm64/usr/lib/aarch64-linux-gnu /usr/aarch64-linux-gnu/lib"
fi
# What a build needs lies in folders here, which dpkg does not know: so it is not asked (-d).
cd "$tree"
step "building packages for $arch" \
    dpkg-buildpackage --build=full -us -uc -d -a"$arch"
cd "$out"
rm -rf "$tree"
say "  $(find . -name "*.deb" | wc -l) packages in ${out#"$RKNPU_ROOT"/}"
