#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tally::internal {

/// A file that a run appends to, with one write(2) each time.
class LogFile {
 public:
  explicit LogFile(std::string path) : path_(std::move(path)) {}
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const std::string& path() const { return path_; }

  /// Whether an earlier line stays, or why the file must not be touched.
  enum class Line { kKept, kDropped };
  using Choose =
      c10::function_ref<absl::Status(std::string_view line, Line& choice)>;

  /// Opens it for appending lines. An existing file is rewritten first if its
  /// last line is incomplete, which is cut, or if lines are dropped: all of it
  /// or nothing. A file that begins otherwise than with `head` is
  /// kInvalidArgument. The file is unchanged on any error.
  absl::Status open_lines(std::string_view head, Choose choose);
  /// Creates it; an existing file is an error.
  absl::Status create();
  /// Whether the file had no lines.
  bool is_new() const { return is_new_; }

  /// All of the bytes, or an error; what a full disk left of them is cut off.
  absl::Status append(std::string_view bytes);
  /// Replaces the lines by what `change` makes of them: all of them or nothing.
  using Rewrite = c10::function_ref<std::string(std::string_view old)>;
  absl::Status rewrite(Rewrite change);
  /// Waits until everything is on the disk.
  absl::Status close();

 private:
  absl::Status open(int flags);

  std::string path_;
  int descriptor_ = -1;
  bool is_new_ = true;
};

}  // namespace tally::internal
