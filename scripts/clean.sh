#!/bin/bash
# SPDX-License-Identifier: MIT
# make clean: remove build products, keep the cache.
#
#   clean.sh
#
# The folder of build products goes only when it is build/ or bears our mark (build_folder of lib.sh).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_arguments "$@"

# What kbuild leaves beside the sources, for "make modules" builds there.
find "$RKNPU_ROOT/kernel" -type f \( -name '*.o' -o -name '*.o.d' -o -name '*.ko' -o -name '*.mod' \
    -o -name '*.mod.c' -o -name '.*.cmd' -o -name Module.symvers -o -name modules.order \
    -o -path '*/compat/compat_config.*' \) -delete
[ -e "$RKNPU_BUILD" ] || exit 0
[ "$RKNPU_BUILD" = "$RKNPU_ROOT/build" ] || [ -e "$RKNPU_BUILD/.rknpu-build" ] ||
    die "$RKNPU_BUILD was not made by these scripts, or not by them alone" \
        "look into it and remove it yourself"
rm -rf -- "${RKNPU_BUILD:?}"
