#include "tally/tests/cli/files.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tally::cli {

std::string data_file(const std::string& name) {
  const char* sources = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (sources == nullptr || workspace == nullptr) {
    return "tests/cli/data/" + name;
  }
  return std::string(sources) + "/" + workspace + "/tests/cli/data/" + name;
}

Folder::Folder() {
  std::string path = std::filesystem::temp_directory_path() / "tally-XXXXXX";
  if (const char* folder = std::getenv("TEST_TMPDIR")) {
    path = std::string(folder) + "/tally-XXXXXX";
  }
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("cannot create " + path);
  }
  path_ = path;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::write(const std::string& name,
                          const std::string& text) const {
  const std::string file = path(name);
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::size_t Folder::size() const {
  const std::filesystem::directory_iterator files(path_);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tally::cli
