# SPDX-License-Identifier: MIT
# cmake --toolchain <absolute path>/userspace/cmake/aarch64.cmake
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(RKNPU_QEMU_CPU aarch64)
set(RKNPU_TRIPLET aarch64-linux-gnu)
set(RKNPU_SYSROOT_NAME sysroot-arm64)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
