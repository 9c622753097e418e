#pragma once

#include <string>

namespace tally::testkit::internal {

/// An empty temporary folder of the test, removed with this object. Throws
/// std::runtime_error if it cannot be created.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tally::testkit::internal
