# SPDX-License-Identifier: MIT
# cmake --toolchain <absolute path>/userspace/cmake/armhf.cmake
set(CMAKE_SYSTEM_PROCESSOR arm)
set(RKNPU_QEMU_CPU arm)
set(RKNPU_TRIPLET arm-linux-gnueabihf)
set(RKNPU_SYSROOT_NAME sysroot-armhf)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
