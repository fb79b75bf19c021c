#!/bin/bash
# SPDX-License-Identifier: MIT
# Configure and build userspace/ for one target.
#
#   build-userspace.sh host|aarch64|armhf [CMAKE TARGET]...
#
# Results: build/userspace (host), build/aarch64, build/armhf. CMAKE_ARGS adds configure arguments.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

[ $# -gt 0 ] || die "no target named" "build-userspace.sh host"
target=$1
shift
need cmake ninja
build_folder
args=(-G Ninja -S "$RKNPU_ROOT/userspace" -DCMAKE_INSTALL_PREFIX="${PREFIX:-/usr/local}")
case $target in
host) dir=$RKNPU_BUILD/userspace ;;
aarch64 | armhf)
    dir=$RKNPU_BUILD/$target
    args+=(--toolchain "$RKNPU_ROOT/userspace/cmake/$target.cmake")
    ;;
*) die "unknown target '$target'" "host, aarch64 or armhf" ;;
esac
if command -v ccache >/dev/null; then
    # A second clone finds what the first one compiled: no absolute path is part of the key.
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$RKNPU_ROOT} CCACHE_NOHASHDIR=1
    args+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
# shellcheck disable=SC2206 # a list of arguments by contract
args+=(${CMAKE_ARGS:-})

if [ ! -e "$dir/build.ninja" ] || [ -n "${CMAKE_ARGS:-}" ]; then
    step "configuring userspace ($target)" cmake -B "$dir" "${args[@]}"
fi
[ $# -gt 0 ] || set -- all
if [ "${V:-0}" != 0 ]; then
    cmake --build "$dir" --verbose --target "$@"
else
    step "building userspace ($target): $*" cmake --build "$dir" --target "$@"
fi
