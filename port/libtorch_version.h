#pragma once

#include <torch/headeronly/version.h>

/// Whether LibTorch is at least this version, for #if. Only port/ asks: what
/// differs between versions has one name there.
#define TALLY_LIBTORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||           \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// The numbers of port/libtorch_versions.txt.
static_assert(TALLY_LIBTORCH_AT_LEAST(2, 10),
              "Tally takes LibTorch 2.10 and newer, and this one is older: set "
              "LIBTORCH, or TALLY_LIBTORCH in CMake, to the folder of another");

#if TALLY_LIBTORCH_AT_LEAST(2, 14) && __cplusplus < 202002L
#error \
    "LibTorch 2.14 and newer need C++20, and this is compiled as an older C++: \
compile your sources with -std=c++20 (CMake: CMAKE_CXX_STANDARD 20; Bazel: \
build --cxxopt=-std=c++20), or set LIBTORCH to a LibTorch of 2.10 to 2.13"
#endif
