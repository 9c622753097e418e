#include "tally/version.h"

#include <torch/headeronly/version.h>

namespace tally {

BuildInfo build_info() {
  BuildInfo build{TALLY_VERSION, TORCH_VERSION, "", false};
#if defined(__clang__)
  build.compiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
  build.compiler = "GCC " __VERSION__;
#endif
#ifdef __OPTIMIZE__
  build.optimized = true;
#endif
  return build;
}

}  // namespace tally
