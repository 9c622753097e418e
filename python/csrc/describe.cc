// Prints what tally::python::description() gives, for those who make stubs.

#include <iostream>

#include "tally/python/csrc/description.h"

int main() {
  std::cout << tally::python::description() << '\n';
  return std::cout.flush() ? 0 : 1;
}
