# SPDX-License-Identifier: MIT
# Compile rules shared by every target of ours.
add_compile_options(-Wall -Wextra -Werror)
if(RKNPU_SANITIZE)
  add_compile_options(-fsanitize=${RKNPU_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all
                      # gcc 12 warns of its own instrumented standard library.
                      -Wno-maybe-uninitialized)
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
  if(NOT CMAKE_CROSSCOMPILING)
    catch_discover_tests(${name} TEST_PREFIX "${name}: " PROPERTIES TIMEOUT 120)
  endif()
endfunction()
