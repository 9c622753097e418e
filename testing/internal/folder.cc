#include "tally/testing/internal/folder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace tally::testkit::internal {

Folder::Folder() : path_(::testing::TempDir()) {
  if (path_.empty() || path_.back() != '/') path_ += '/';
  path_ += "ranks-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("cannot create a folder " + path_ + ": " +
                             std::strerror(errno));
  }
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tally::testkit::internal
