#pragma once

#include <string>
#include <vector>

namespace tally::cli {

/// What becomes of rows with an empty field in a column that is used, and is
/// not read as text.
enum class Missing {
  kError,  ///< the file is refused
  kSkip,   ///< they do not count
  kNan,    ///< a number is NaN, and then what the metrics' nan_policy says
};

/// How a CSV file is read.
struct CsvOptions {
  /// Between fields. 0: a comma; a first line that has none but another usual
  /// one is refused.
  char delimiter = 0;
  /// Texts that stand for 0, 1, ... where integers are read.
  std::vector<std::string> labels;
  Missing missing = Missing::kError;
};

}  // namespace tally::cli
