# Headers, libraries and the CMake package; the program, where it is built.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tally)
get_property(TALLY_COMPONENTS GLOBAL PROPERTY TALLY_COMPONENTS)

# The loader looks for what a library needs in that library's own RUNPATH, not in
# its user's: they lie beside each other, LibTorch where it is now.
function(tally_find_when_installed target folder)
  if(NOT DEFINED CMAKE_INSTALL_RPATH)
    set_target_properties(${target} PROPERTIES
        INSTALL_RPATH "${folder}"
        INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endfunction()

# What a component's users have to find, too.
set(metrics_packages absl)
set(testing_packages GTest)
if(NOT BUILD_SHARED_LIBS)
  list(APPEND metrics_packages hwy)
endif()

set(TALLY_COMPONENT_DEPENDENCIES "")
foreach(component IN LISTS TALLY_COMPONENTS)
  string(TOUPPER ${component} COMPONENT)
  if(BUILD_SHARED_LIBS)
    tally_find_when_installed(tally_${component} "$ORIGIN")
  endif()
  install(TARGETS tally_${component} EXPORT Tally_${component}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT Tally_Development
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT Tally_Runtime NAMELINK_COMPONENT Tally_Development)
  install(EXPORT Tally_${component} NAMESPACE Tally::
      DESTINATION ${package_dir} COMPONENT Tally_Development)
  foreach(header IN LISTS TALLY_${COMPONENT}_HEADERS)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${header} COMPONENT Tally_Development
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tally/${folder})
  endforeach()
  string(APPEND TALLY_COMPONENT_DEPENDENCIES
      "set(_tally_${component}_components ${TALLY_${COMPONENT}_COMPONENTS})\n"
      "set(_tally_${component}_packages ${${component}_packages})\n")
endforeach()
install(DIRECTORY metrics/compat/tally
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Tally_Development)
if(TALLY_BUILD_CLI)
  tally_find_when_installed(tally_cli "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS tally_cli DESTINATION ${CMAKE_INSTALL_BINDIR}
      COMPONENT Tally_Runtime)
endif()

# For who builds with neither: the libraries in the order of the linker.
set(TALLY_PC_STANDARD -std=c++17)
if(TALLY_CXX_FEATURE STREQUAL cxx_std_20)
  set(TALLY_PC_STANDARD -std=c++20)
endif()
set(TALLY_PC_LIBRARIES "")
foreach(component IN LISTS TALLY_COMPONENTS)
  get_target_property(type tally_${component} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY
      AND NOT component MATCHES "^(testing|pretend_device)$")
    string(PREPEND TALLY_PC_LIBRARIES "-ltally_${component} ")
  endif()
endforeach()
set(TALLY_PC_STATIC "")
if(NOT BUILD_SHARED_LIBS)
  set(TALLY_PC_STATIC " libhwy-contrib libhwy")
endif()
configure_file(cmake/tally.pc.in tally.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tally.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Tally_Development)

configure_package_config_file(cmake/TallyConfig.cmake.in TallyConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(TallyConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/TallyConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/TallyConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/TallyLibTorch.cmake
    ${PROJECT_SOURCE_DIR}/port/libtorch_versions.txt
    DESTINATION ${package_dir} COMPONENT Tally_Development)
