# SPDX-License-Identifier: MIT
# Common part of the toolchain files: Debian's cross compiler for RKNPU_TRIPLET, and the libraries
# that scripts/fetch.sh unpacked for the target (RKNPU_SYSROOT).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${RKNPU_TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER ${RKNPU_TRIPLET}-g++)

if(NOT RKNPU_SYSROOT)
  if(DEFINED ENV{RKNPU_CACHE})
    set(RKNPU_SYSROOT "$ENV{RKNPU_CACHE}/${RKNPU_SYSROOT_NAME}")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(RKNPU_SYSROOT "$ENV{XDG_CACHE_HOME}/rknpu/${RKNPU_SYSROOT_NAME}")
  else()
    set(RKNPU_SYSROOT "$ENV{HOME}/.cache/rknpu/${RKNPU_SYSROOT_NAME}")
  endif()
endif()
if(NOT EXISTS "${RKNPU_SYSROOT}/stamp")
  message(FATAL_ERROR "no target libraries in ${RKNPU_SYSROOT}: run scripts/fetch.sh ${RKNPU_SYSROOT_NAME}")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RKNPU_SYSROOT)

# Libraries come from the target only; headers and CMake packages without code (CLI11, json, Catch2)
# are the same for every target and come from this machine.
set(CMAKE_FIND_ROOT_PATH "${RKNPU_SYSROOT}" "/usr/${RKNPU_TRIPLET}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${RKNPU_SYSROOT}/usr/lib/${RKNPU_TRIPLET}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(ENV{PKG_CONFIG_LIBDIR} "${RKNPU_SYSROOT}/usr/lib/${RKNPU_TRIPLET}/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${RKNPU_SYSROOT}")

# Tests run on this machine where QEMU can take the target's programs.
find_program(RKNPU_QEMU qemu-${RKNPU_QEMU_CPU}-static)
if(RKNPU_QEMU AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${RKNPU_QEMU}" -L "/usr/${RKNPU_TRIPLET}"
      -E "LD_LIBRARY_PATH=${RKNPU_SYSROOT}/usr/lib/${RKNPU_TRIPLET}")
endif()
