#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/files/input_file.h"

namespace tally::files {

/// An image in a PNG file: 8-bit RGB or RGBA, not interlaced, as programs write
/// the ids of segments. Opening it reads its header only.
class PngFile {
 public:
  /// Throws c10::ValueError that names the file and what it is instead.
  explicit PngFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  /// Red, green and blue of each pixel, row by row. Throws c10::ValueError for
  /// a damaged file.
  std::vector<std::uint8_t> read() const;

 private:
  [[noreturn]] void refuse_damaged() const;
  std::string packed() const;

  InputFile file_;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t channels_ = 0;
};

}  // namespace tally::files
