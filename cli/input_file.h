#pragma once

#include <cstdint>
#include <string>

namespace tally::cli {

/// A file that is read at places of its own. Throws c10::ValueError that names
/// it if it is no regular file or cannot be read.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Reads `count` bytes; fewer are an error.
  void read(std::int64_t offset, void* into, std::int64_t count) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// What stands for the standard input in place of a path.
inline constexpr const char* kStandardInput = "-";

/// From now on an InputFile of this path reads that file.
void read_instead(const std::string& path, const std::string& file);

/// The whole of a small file; c10::ValueError if it is larger than `most`.
std::string read_text(const std::string& path, std::int64_t most);

/// Takes the input's name off "name=file": letters, digits and _. Empty if
/// there is none.
std::string take_input_name(std::string& text);

}  // namespace tally::cli
