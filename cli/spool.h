#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"

namespace tally::cli {

/// Copies of streams that can be read only once (standard input and pipes), as
/// files that every rank can read. InputFile reads the copies while this object
/// exists; ranks that this process starts afterwards find them through an
/// environment variable.
class Spool {
 public:
  /// Throws c10::ValueError for a stream that cannot be read, and for any
  /// stream in a rank (`is_rank`) of another launcher, where each rank would
  /// need all of it.
  Spool(const Arguments& arguments, bool is_rank);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

 private:
  /// Copies the rest of a stream and returns the copy's path. The copy has no
  /// directory entry, so that it disappears with this process.
  std::string copy(const std::string& path);

  std::vector<int> copies_;
};

}  // namespace tally::cli
