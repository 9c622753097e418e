#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace tally::internal {

/// What is in a text where a parser of JSON gave up: "a comma in front of }",
/// "NaN as 'score', which JSON does not have".
struct JsonFault {
  const std::exception& error;  ///< nlohmann's parse_error
  std::size_t byte;             ///< of the error: its last one, from 1
  std::string_view text;        ///< the bytes around it
  std::size_t begin = 0;        ///< where they begin

  std::string words() const;
};

/// "the number 1e999, which is too large", of nlohmann's out_of_range.
std::string json_overflow(const std::exception& error);

/// "line 1, column 2", as the parser's error has it.
std::string json_place(const std::exception& error);

/// What an error that is not of the parser says, without the name of its
/// exception in brackets: "key 'format' not found".
std::string json_words(const std::exception& error);

}  // namespace tally::internal
