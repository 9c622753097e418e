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
    FetchContent_Declare(tally_${name}
        GIT_REPOSITORY https://github.com/${repository}.git
        GIT_TAG ${tag})
    FetchContent_GetProperties(tally_${name})
    if(NOT tally_${name}_POPULATED)
      FetchContent_Populate(tally_${name})
    endif()
    set(TALLY_${name}_INCLUDE ${tally_${name}_SOURCE_DIR})
  endif()
endmacro()

set(ABSL_PROPAGATE_CXX_STD ON)
set(ABSL_ENABLE_INSTALL ${TALLY_INSTALL})
tally_find(absl absl::status abseil/abseil-cpp 20250512.1)
set(HWY_ENABLE_EXAMPLES OFF)
set(HWY_ENABLE_TESTS OFF)
set(HWY_ENABLE_INSTALL ${TALLY_INSTALL})
tally_find(hwy hwy::hwy google/highway 1.2.0)
tally_find(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json v3.11.3)
tally_find_headers(XXHASH xxhash.h Cyan4973/xxHash v0.8.3)
# LibTorch has Gloo in it, without its headers.
tally_find_headers(GLOO gloo/config.h pytorch/gloo main)
