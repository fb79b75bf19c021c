# SPDX-License-Identifier: MIT
# Compile rules shared by every target of ours.
add_compile_options(-Wall -Wextra -Werror)
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  # Kernels with 64 bits place the mappings of NPU memory above 4 GiB of the device file.
  add_compile_definitions(_FILE_OFFSET_BITS=64)
endif()
if(RKNPU_SANITIZE)
  add_compile_options(-fsanitize=${RKNPU_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all
                      # gcc 12 warns of its own instrumented standard library.
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${RKNPU_SANITIZE})
endif()

# rknpu_add_test(NAME sources...): a Catch2 program registered test by test with ctest.
function(rknpu_add_test name)
  if(NOT RKNPU_TESTS)
    return()
  endif()
  find_package(Catch2 2 REQUIRED)
  include("${Catch2_DIR}/Catch.cmake")
  if(NOT TARGET rknpu_test_main)
    add_library(rknpu_test_main STATIC ${CMAKE_SOURCE_DIR}/cmake/test_main.cpp)
    target_link_libraries(rknpu_test_main PUBLIC Catch2::Catch2)
    # Catch2 itself is not under test, and instrumenting it takes minutes.
    target_compile_options(rknpu_test_main PRIVATE -O0 -fno-sanitize=all)
  endif()
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE rknpu_test_main)
  if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    # A name with a semicolon becomes two that match nothing: that is a failure.
    catch_discover_tests(${name} TEST_PREFIX "${name}: " EXTRA_ARGS --warn NoTests
                         PROPERTIES TIMEOUT 120)
  endif()
endfunction()

# Fuzz targets, meant for a build with RKNPU_SANITIZE=address,undefined (scripts/fuzz.sh). With
# clang: libFuzzer; else a driver that draws changes by lot.
option(RKNPU_FUZZ "Build the fuzz targets" OFF)
if(RKNPU_FUZZ AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# rknpu_add_fuzzer(NAME sources...)
function(rknpu_add_fuzzer name)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARGN})
  target_include_directories(${name} PRIVATE "${RKNPU_ROOT}/userspace/npusim/src"
                             "${RKNPU_ROOT}/userspace/npusim/src/engine")
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE "${RKNPU_ROOT}/userspace/npusim/fuzz/random_driver.cpp")
  endif()
endfunction()
