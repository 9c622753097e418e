#include "tally/tests/testing/mutator.h"

#include <algorithm>
#include <iterator>

namespace tally::testkit {
namespace {

constexpr const char* kWords[] = {"(",
                                  ")",
                                  "[",
                                  "]",
                                  "{",
                                  "}",
                                  "\"",
                                  "'",
                                  ",",
                                  ";",
                                  "=",
                                  ":",
                                  "\n",
                                  "nan",
                                  "\\",
                                  "none",
                                  "metric",
                                  "((((((((((((((((((((",
                                  "[[[[[[[[[[[[[[[[[[[["};
constexpr const char* kNumbers[] = {
    "0",          "1",          "2",
    "-1",         "65536",      "100000",
    "2147483647", "4294967296", "9223372036854775807",
    "1e308",      "1e-320",     "99999999999999999999"};

}  // namespace

std::string Mutator::operator()(std::string text) {
  for (std::size_t i = 0, count = 1 + below(3); i < count; ++i) change(text);
  return text;
}

void Mutator::change(std::string& text) {
  const std::size_t at = below(text.size() + 1);
  const std::size_t length =
      std::min(text.size() - at, std::size_t{1} << below(7));
  switch (below(7)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(at, length));
      break;
    case 2:
      text.insert(at, 1, static_cast<char>(below(256)));
      break;
    case 3:
      text.insert(at, kWords[below(std::size(kWords))]);
      break;
    case 4:
      replace_number(text, at);
      break;
    case 5:
      text.resize(at);
      break;
    default:
      if (at < text.size()) text[at] ^= static_cast<char>(1 << below(8));
  }
}

void Mutator::replace_number(std::string& text, std::size_t from) {
  const std::size_t at = text.find_first_of("0123456789", from);
  if (at == text.npos) return;
  const std::size_t end = text.find_first_not_of("0123456789", at);
  text.replace(at, end - at, kNumbers[below(std::size(kNumbers))]);
}

}  // namespace tally::testkit
