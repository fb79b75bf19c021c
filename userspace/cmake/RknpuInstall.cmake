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

if(TARGET rknnrt)
  list(APPEND RKNPU_INSTALLED rknnrt)
  install(TARGETS rknnrt LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES include/rknn_api.h include/rknn_custom_op.h include/rknn_matmul_api.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES "${RKNPU_ROOT}/uapi/rknpu_drm.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rknpu)
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/rknnrt.pc" CONTENT
"prefix=${CMAKE_INSTALL_PREFIX}
Name: rknnrt
Description: runtime for Rockchip's NPU
Version: ${PROJECT_VERSION}
Libs: -lrknnrt
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
")
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/rknnrt.pc"
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

install(PROGRAMS "${RKNPU_ROOT}/scripts/rknpu-doctor" "${RKNPU_ROOT}/scripts/rknpu-dtb"
        DESTINATION ${CMAKE_INSTALL_BINDIR})

# All that is installed and nothing else, so that packages need not build the tests.
add_custom_target(install-parts DEPENDS ${RKNPU_INSTALLED})
