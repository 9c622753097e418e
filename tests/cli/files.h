#pragma once

#include <filesystem>
#include <string>

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

}  // namespace tally::cli
