# What `cmake --install` copies, and what a program finds it by: a CMake package and a pkg-config file for each library.
# Two components: `runtime` is what a program needs that only runs, `compiler` is the rest.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# heddle_install_library(TARGET NAME COMPONENT c PKGCONFIG file.pc SENTENCE "..."): installs a shared library as heddle::NAME
# of the CMake package, and its pkg-config file.
function(heddle_install_library target name)
  cmake_parse_arguments(arg "" "COMPONENT;PKGCONFIG;SENTENCE" "" ${ARGN})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT heddle-${arg_COMPONENT}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${arg_COMPONENT} NAMELINK_COMPONENT ${arg_COMPONENT}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT heddle-${arg_COMPONENT} NAMESPACE heddle:: FILE heddle-${arg_COMPONENT}-targets.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle COMPONENT ${arg_COMPONENT})
  # Relative to the file itself, so that the whole prefix may be moved.
  file(RELATIVE_PATH prefix_from_file /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" heddle_pc_prefix "\${pcfiledir}/${prefix_from_file}")
  get_target_property(heddle_pc_library ${target} OUTPUT_NAME)
  get_filename_component(heddle_pc_name ${arg_PKGCONFIG} NAME_WE)
  set(heddle_pc_sentence ${arg_SENTENCE})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/heddle.pc.in ${PROJECT_BINARY_DIR}/install/${arg_PKGCONFIG} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/install/${arg_PKGCONFIG}
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${arg_COMPONENT})
endfunction()

install(FILES ${PROJECT_SOURCE_DIR}/include/heddle.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime)
configure_file(${PROJECT_SOURCE_DIR}/cmake/heddle-config.cmake.in
  ${PROJECT_BINARY_DIR}/install/heddle-config.cmake COPYONLY)
# The C interface only grows (include/heddle.h), so a newer version serves programs of an older one.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/heddle-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/heddle-config.cmake ${PROJECT_BINARY_DIR}/install/heddle-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle COMPONENT runtime)
