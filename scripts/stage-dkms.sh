#!/bin/bash
# SPDX-License-Identifier: MIT
# stage-dkms.sh DIR VERSION: lay the driver's sources and a dkms.conf into DIR.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

dir=$1 version=$2
mkdir -p "$dir"
(cd "$RKNPU_ROOT" && git ls-files kernel uapi LICENSES | grep -v '^kernel/tests/' |
    xargs -d '\n' cp --parents -t "$dir")
cat >"$dir/dkms.conf" <<CONF
# SPDX-License-Identifier: MIT
PACKAGE_NAME="rknpu"
PACKAGE_VERSION="$version"
BUILT_MODULE_NAME[0]="rknpu"
BUILT_MODULE_LOCATION[0]="kernel/"
DEST_MODULE_LOCATION[0]="/updates/dkms"
MAKE[0]="make -C \$kernel_source_dir M=\$dkms_tree/\$PACKAGE_NAME/\$PACKAGE_VERSION/build/kernel modules"
CLEAN="true"
BUILD_EXCLUSIVE_ARCH="aarch64|armv7l|armhf"
AUTOINSTALL="yes"
CONF
echo "staged in $dir: now 'dkms install rknpu/$version'"
