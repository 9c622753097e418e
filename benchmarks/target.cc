#include "tally/benchmarks/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tally/tests/testing/vector_limit.h"

namespace tally::benchmarks {

void take_target(int* argc, char** argv) {
  const std::string flag = "--target=";
  char** const end = argv + *argc;
  char** const found = std::find_if(argv, end, [&](const char* argument) {
    return std::string(argument).rfind(flag, 0) == 0;
  });
  if (found == end) return;
  const std::string target = std::string(*found).substr(flag.size());
  try {
    testkit::limit_vectors(target);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "--target: %s\n", error.what());
    std::exit(2);
  }
  setenv("TALLY_HWY_TARGET", target.c_str(), 1);
  // These are read when they are first needed.
  if (target.rfind("AVX3", 0) != 0) {
    const bool avx2 = target == "AVX2";
    setenv("ATEN_CPU_CAPABILITY", avx2 ? "avx2" : "default", 1);
    setenv("MKL_ENABLE_INSTRUCTIONS", avx2 ? "AVX2" : "SSE4_2", 1);
  }
  std::rotate(found, found + 1, end);
  argv[--*argc] = nullptr;
}

}  // namespace tally::benchmarks
