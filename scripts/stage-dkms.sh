#!/bin/bash
# SPDX-License-Identifier: MIT
# stage-dkms.sh DIR VERSION: lay the driver's sources and a dkms.conf into DIR.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 2 ] || die "no folder and version named" "stage-dkms.sh DIR VERSION"
dir=$1 version=$2
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
# Works in a source package, too, where there is no git: what a build leaves behind is not taken.
(cd "$RKNPU_ROOT" && { driver_sources kernel uapi && find LICENSES -type f -print0; } |
    xargs -0 cp -L --parents -t "$dir")
# pahole: as in the Makefile. DKMS gives the line to a shell.
cat >"$dir/dkms.conf" <<CONF
# SPDX-License-Identifier: MIT
PACKAGE_NAME="rknpu"
PACKAGE_VERSION="$version"
BUILT_MODULE_NAME[0]="rknpu"
BUILT_MODULE_LOCATION[0]="kernel/"
DEST_MODULE_LOCATION[0]="/updates/dkms"
MAKE[0]="make -C \$kernel_source_dir M=\$dkms_tree/\$PACKAGE_NAME/\$PACKAGE_VERSION/build/kernel \$(command -v pahole >/dev/null || echo CONFIG_DEBUG_INFO_BTF_MODULES=) modules"
CLEAN="true"
BUILD_EXCLUSIVE_ARCH="aarch64|armv7l|armhf"
BUILD_EXCLUSIVE_KERNEL_MIN="5.10"
BUILD_EXCLUSIVE_CONFIG="CONFIG_OF CONFIG_DRM"
AUTOINSTALL="yes"
CONF
say "  staged in $dir: now 'dkms install rknpu/$version'"
