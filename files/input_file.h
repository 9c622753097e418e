#pragma once

#include <cstdint>
#include <string>

namespace tally::files {

/// A file for random-access reading. Throws c10::ValueError that names it if it
/// is not a regular file or cannot be read.
class InputFile {
 public:
  explicit InputFile(std::string path);
  /// A part of an open file, which messages call `path`.
  InputFile(std::string path, int descriptor, std::int64_t begin,
            std::int64_t size);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Reads `count` bytes; fewer are an error.
  void read(std::int64_t offset, void* into, std::int64_t count) const;
  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t begin_ = 0;
  std::int64_t size_ = 0;
};

/// The path that denotes the standard input.
inline constexpr const char* kStandardInput = "-";

/// Makes every later InputFile with this path read `file` instead.
void read_instead(const std::string& path, const std::string& file);

/// Reads a whole small file; c10::ValueError if it is larger than `most` bytes.
std::string read_text(const std::string& path, std::int64_t most);

/// Removes and returns the input's name from "name=file": letters, digits and
/// _. Empty if there is none.
std::string take_input_name(std::string& text);

}  // namespace tally::files
