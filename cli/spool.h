#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/files/temporary_file.h"
#include "tally/files/unpack.h"

namespace tally::cli {

/// Copies of what cannot be read as it is, as files that every rank can read:
/// of streams that can be read only once (standard input and pipes),
/// decompressed ones of .gz and .zst files, and ones in UTF-8 of other
/// encodings. InputFile reads the copies while this object exists; ranks that
/// this process starts afterwards find them through an environment variable.
class Spool {
 public:
  /// Throws c10::ValueError for a file that cannot be read, and for any stream
  /// in a rank (`is_rank`) of another launcher, where each rank would
  /// need all of it.
  Spool(const Arguments& arguments, bool is_rank);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

 private:
  /// Copies a file, or the rest of a stream, and returns the copy's path.
  std::string copy(const std::string& path, files::Encoding encoding);

  std::vector<files::TemporaryFile> copies_;
};

}  // namespace tally::cli
