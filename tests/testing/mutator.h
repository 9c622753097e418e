#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace tally::testkit {

/// Changes texts in ways that parsers do not expect, by a fixed seed.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string operator()(std::string text);
  std::size_t below(std::size_t limit) { return random_() % limit; }

 private:
  void change(std::string& text);
  void replace_number(std::string& text, std::size_t from);

  std::mt19937 random_;
};

}  // namespace tally::testkit
