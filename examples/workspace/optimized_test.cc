// Fails unless the Tally that is linked was compiled with optimisation.

#include <tally/version.h>

#include <iostream>

int main() {
  const tally::BuildInfo build = tally::build_info();
  std::cout << "Tally " << build.version << ", LibTorch " << build.libtorch
            << ", " << build.compiler << '\n';
  return build.optimized ? 0 : 1;
}
