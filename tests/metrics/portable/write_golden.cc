// Writes the state of every metric for golden_test, into the file that is
// named: once, when a format is new. What is there is kept: later versions read
// it.
#include <fstream>
#include <iostream>

#include "tally/tests/metrics/portable/golden.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_golden FILE\n";
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  const auto states = tally::golden::make_states();
  file << tally::golden::encode(states);
  std::cout << states.size() << " states\n";
  return file.flush() ? 0 : 1;
}
