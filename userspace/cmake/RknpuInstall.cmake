# SPDX-License-Identifier: MIT
# What "make install" and the Debian packages take: the runtime, its headers, the tools.
include(GNUInstallDirs)

set(RKNPU_INSTALLED)
foreach(tool rknn-run rknn-inspect rknn-bench rknn-compare rknn-make)
  if(TARGET ${tool})
    list(APPEND RKNPU_INSTALLED ${tool})
    install(TARGETS ${tool})
  endif()
endforeach()

# Version of the C interface, for programs that ask for a minimum.
set(RKNPU_API_VERSION 2.3.2)
if(TARGET rknnrt)
  list(APPEND RKNPU_INSTALLED rknnrt)
  # A component, to have the runtime without the tools.
  install(TARGETS rknnrt EXPORT rknnrt LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT rknnrt)
  install(FILES include/rknn_api.h include/rknn_custom_op.h include/rknn_matmul_api.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT rknnrt)
  install(FILES "${RKNPU_ROOT}/uapi/rknpu_drm.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rknpu)
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/rknnrt.pc" CONTENT
"prefix=${CMAKE_INSTALL_PREFIX}
Name: rknnrt
Description: runtime for Rockchip's NPU
Version: ${RKNPU_API_VERSION}
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lrknnrt
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
")
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/rknnrt.pc"
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT rknnrt)
  # find_package(rknnrt), target rknnrt::rknnrt
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rknnrt)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(rknnrtConfigVersion.cmake VERSION ${RKNPU_API_VERSION}
    COMPATIBILITY SameMajorVersion)
  install(EXPORT rknnrt FILE rknnrtTargets.cmake NAMESPACE rknnrt:: DESTINATION ${package_dir}
          COMPONENT rknnrt)
  install(FILES src/api/package/rknnrtConfig.cmake
                "${CMAKE_CURRENT_BINARY_DIR}/rknnrtConfigVersion.cmake" DESTINATION ${package_dir}
          COMPONENT rknnrt)
  # Old programs link the name that the first SDKs had for the same library.
  file(CREATE_LINK librknnrt.so "${CMAKE_CURRENT_BINARY_DIR}/librknn_api.so" SYMBOLIC)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/librknn_api.so"
          DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT rknnrt)
endif()

install(PROGRAMS "${RKNPU_ROOT}/scripts/rknpu-doctor" "${RKNPU_ROOT}/scripts/rknpu-dtb"
        DESTINATION ${CMAKE_INSTALL_BINDIR})

# All that is installed and nothing else, so that packages need not build the tests.
add_custom_target(install-parts DEPENDS ${RKNPU_INSTALLED})
