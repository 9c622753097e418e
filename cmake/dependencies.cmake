# What Tally is built with besides LibTorch: the system's, else fetched. Only
# Abseil is part of Tally's interface, and only static programs link Highway.
include(FetchContent)

# tally_find(PACKAGE TARGET REPOSITORY TAG): finds the package, or fetches and
# builds it.
macro(tally_find package target repository tag)
  if(NOT TARGET ${target})
    find_package(${package} QUIET)
  endif()
  if(NOT TARGET ${target})
    message(STATUS "Tally: fetching ${package} ${tag}")
    FetchContent_Declare(${package}
        GIT_REPOSITORY https://github.com/${repository}.git
        GIT_TAG ${tag}
        GIT_SHALLOW ON)
    FetchContent_MakeAvailable(${package})
  endif()
endmacro()

# tally_find_headers(NAME HEADER REPOSITORY TAG): sets TALLY_<NAME>_INCLUDE to
# where the header is that the system has, or fetches what it belongs to.
macro(tally_find_headers name header repository tag)
  find_path(TALLY_${name}_INCLUDE ${header})
  mark_as_advanced(TALLY_${name}_INCLUDE)
  if(NOT TALLY_${name}_INCLUDE)
    message(STATUS "Tally: fetching ${repository} ${tag}")
    string(TOLOWER tally_${name} project)
    # A folder without a CMakeLists.txt: nothing of it is built.
    FetchContent_Declare(${project}
        GIT_REPOSITORY https://github.com/${repository}.git
        GIT_TAG ${tag}
        SOURCE_SUBDIR none)
    FetchContent_MakeAvailable(${project})
    set(TALLY_${name}_INCLUDE ${${project}_SOURCE_DIR})
  endif()
endmacro()

set(ABSL_PROPAGATE_CXX_STD ON)
set(ABSL_ENABLE_INSTALL ${TALLY_INSTALL})
tally_find(absl absl::status abseil/abseil-cpp 20250512.1)

set(HWY_ENABLE_EXAMPLES OFF CACHE BOOL "")
set(HWY_ENABLE_INSTALL ${TALLY_INSTALL} CACHE BOOL "")
set(HWY_ENABLE_TESTS OFF CACHE BOOL "")
tally_find(hwy hwy::hwy google/highway 1.3.0)
foreach(library IN ITEMS hwy hwy_contrib)
  if(NOT TARGET hwy::${library})
    add_library(hwy::${library} ALIAS ${library})
  endif()
endforeach()

tally_find(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json v3.11.3)

tally_find_headers(XXHASH xxhash.h Cyan4973/xxHash v0.8.2)
