# What an installation has: headers, libwia.so, the wia command, the CMake package wia (target wia::wia), wia.pc.
# The installed tree can be moved: nothing in it holds its prefix.
if(NOT TARGET wia)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wia)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wia DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS wia EXPORT wiaTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET wia_cli)
  file(RELATIVE_PATH library_from_command ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(wia_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_command}")
  install(TARGETS wia_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/wia FILES_MATCHING PATTERN "*.json")
endif()

install(EXPORT wiaTargets NAMESPACE wia:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/wiaConfig.cmake.in ${PROJECT_BINARY_DIR}/package/wiaConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/wiaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/wiaConfig.cmake ${PROJECT_BINARY_DIR}/package/wiaConfigVersion.cmake
        DESTINATION ${package_folder})

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/wia.pc.in ${PROJECT_BINARY_DIR}/package/wia.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/wia.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
