#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/options.h"

namespace tally {

/// How ROUGEScore splits a line into tokens.
enum class RougeTokenizer {
  /// Runs of a-z and 0-9, in lower case; all else separates them, other letters
  /// too. As rouge-score's default.
  kRougeScore,
  /// What stands between white space, as it is: for texts that are tokenized.
  kWhitespace,
  /// Runs of letters, marks and numbers of any script, in lower case.
  kUnicode,
  /// Code points other than white space, in lower case: for scripts that put no
  /// spaces between words.
  kCharacters,
};

template <>
struct EnumNames<RougeTokenizer> {
  static constexpr const char* kNames[] = {"rouge_score", "whitespace",
                                           "unicode", "characters"};
};

/// The tokens of a line in UTF-8.
using TokenFunction =
    std::function<std::vector<std::string>(std::string_view line)>;

}  // namespace tally
