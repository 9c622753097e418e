// Fails unless the linked Tally was compiled with optimization.

#include <tally/version.h>

#include <iostream>

int main() {
  const tally::BuildInfo build = tally::build_info();
  std::cout << "Tally " << build.version << ", LibTorch " << build.libtorch
            << ", " << build.compiler << '\n';
  return build.optimized ? 0 : 1;
}
