#pragma once

#include <string>
#include <vector>

namespace tally::files {

/// Handling of rows with an empty field in a column that is used and not read
/// as text.
enum class Missing {
  kError,  ///< the file is rejected
  kSkip,   ///< the rows are dropped
  kNan,    ///< the field is NaN, which the metrics' nan_policy handles
};

/// Options for reading a CSV file.
struct CsvOptions {
  /// Field delimiter. 0: a comma; a first line that has no comma but another
  /// common delimiter is rejected.
  char delimiter = 0;
  /// Texts that are read as 0, 1, ... in integer columns.
  std::vector<std::string> labels;
  Missing missing = Missing::kError;
};

}  // namespace tally::files
