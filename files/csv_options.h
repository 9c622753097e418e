#pragma once

#include <string>
#include <vector>

namespace tally::files {

/// Handling of rows with a missing field in a column that is used and not read
/// as text.
enum class Missing {
  kError,  ///< the file is rejected
  kSkip,   ///< the rows are dropped
  kNan,    ///< the field is NaN, which the metrics' nan_policy handles
};

/// Options for reading a CSV file.
struct CsvOptions {
  /// Field delimiter. 0: that of a first line "sep=;", or a comma; a first line
  /// that has no comma but another common delimiter is rejected.
  char delimiter = 0;
  /// Texts that are read as 0, 1, ... in integer columns.
  std::vector<std::string> labels;
  Missing missing = Missing::kError;
  /// Fields that are missing, besides empty ones, NA, N/A, #N/A, <NA>, NaN,
  /// nan, null, NULL, None and ".".
  std::vector<std::string> missing_words = {};
  /// "," for 0,9.
  char decimal = '.';
};

}  // namespace tally::files
