# SPDX-License-Identifier: MIT
# find_package(rknnrt), then target_link_libraries(program rknnrt::rknnrt).
include("${CMAKE_CURRENT_LIST_DIR}/rknnrtTargets.cmake")
