#pragma once

#include <exception>
#include <string>

namespace tally::internal {

/// What a parser of JSON says, without the name of its exception in brackets:
/// "parse error at line 1, column 2: ...".
inline std::string parser_words(const std::exception& error) {
  const std::string what = error.what();
  const std::size_t begin = what.find("] ");
  return begin == what.npos ? what : what.substr(begin + 2);
}

}  // namespace tally::internal
