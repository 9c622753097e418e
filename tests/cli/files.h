#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tally::cli {

/// A file of tests/cli/data.
std::string data_file(const std::string& name);

/// A folder for a test's files, gone at its end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ / name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  /// The number of files in it.
  std::size_t size() const;

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);

/// A .npy file of a vector; dtype as NumPy writes it, "<i8".
template <class Number>
std::string npy(const std::string& dtype, const std::vector<Number>& numbers) {
  std::string header = "{'descr': '" + dtype +
                       "', 'fortran_order': False, 'shape': (" +
                       std::to_string(numbers.size()) + ",), }";
  header.resize(117, ' ');
  std::string file("\x93NUMPY\x01\x00\x76\x00", 10);
  file += header + "\n";
  return file.append(reinterpret_cast<const char*>(numbers.data()),
                     numbers.size() * sizeof(Number));
}

/// A PNG file, not compressed, of pixels in bytes: 8 bits of the color type 2
/// (RGB) or 6 (RGBA).
std::string png(std::uint32_t width, std::uint32_t height,
                const std::string& pixels, char color = 2, char filter = 0);
/// The same of ids, red + 256 green + 65536 blue.
std::string png_of_ids(const std::vector<std::vector<std::uint32_t>>& rows);

/// The images 10 and 11 of panoptic files, annotated (gt) and found (dt): in
/// the second a crowd, and a cat that is not found.
void write_segments(const Folder& folder);

}  // namespace tally::cli
