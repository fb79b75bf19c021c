#!/bin/bash
# SPDX-License-Identifier: MIT
# package.sh BUILD: what "make install" puts below a prefix can be found with pkg-config and
# with CMake, and a program built that way runs.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" --component rknnrt >/dev/null
libdir=$(dirname "$(find "$work/prefix" -name librknnrt.so)")
[ "$(readlink "$libdir/librknn_api.so")" = librknnrt.so ]

cat >"$work/program.c" <<'C'
#include <rknn_api.h>
#include <rknn_matmul_api.h>
#include <rknn_custom_op.h>
int main(void) {
    rknn_context context = 0;
    return rknn_destroy(context) == RKNN_ERR_CTX_INVALID ? 0 : 1;
}
C
# The file names the prefix that the tree was configured for.
export PKG_CONFIG_PATH=$libdir/pkgconfig
pkg-config --atleast-version=2.3.2 rknnrt
# shellcheck disable=SC2046 # flags are words
cc -o "$work/by-pkg-config" "$work/program.c" \
    $(pkg-config --define-variable=prefix="$work/prefix" --cflags --libs rknnrt)
LD_LIBRARY_PATH=$libdir "$work/by-pkg-config" 2>/dev/null

cat >"$work/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(rknnrt 2.0 REQUIRED)
add_executable(by-cmake program.c)
target_link_libraries(by-cmake rknnrt::rknnrt)
C
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/by-cmake" 2>/dev/null
echo "ok: pkg-config and CMake"
