#pragma once

#include <string>
#include <string_view>

namespace tally::files {

/// A file without a name, in the folder for temporary files, that is gone with
/// this object. Throws c10::ValueError if it cannot be written.
class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view bytes);
  /// For reading from its start.
  int descriptor() const { return descriptor_; }
  /// By which processes of this user read it.
  std::string path() const;

 private:
  int descriptor_ = -1;
};

}  // namespace tally::files
