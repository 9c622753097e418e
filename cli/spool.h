#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"

namespace tally::cli {

/// Copies of what can be read only once, standard input and pipes, in files
/// that every rank can read: InputFile takes them for as long as this lives.
/// Ranks that this process starts afterwards find them by a variable.
class Spool {
 public:
  /// Throws c10::ValueError for what cannot be read; in a rank (`is_rank`) of
  /// another launcher, for all of these: there each would need the whole.
  Spool(const Arguments& arguments, bool is_rank);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

 private:
  /// Where a copy of the rest of a stream is; without a name in a folder, so
  /// that it ends with this process.
  std::string copy(const std::string& path);

  std::vector<int> copies_;
};

}  // namespace tally::cli
