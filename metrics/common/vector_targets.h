#pragma once

/// The instruction sets for which kernels are compiled: those of Highway but
/// these. To be included before hwy/foreach_target.h.
///
/// On x86-64 two vector targets beside the baseline: more would only cost
/// compile time. On ARM64 NEON, which all of them have: SVE's vectors have no
/// size that is known to the compiler, and cannot be parts of a struct.
#define HWY_DISABLED_TARGETS                                               \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128)
