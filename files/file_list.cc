#include "tally/files/file_list.h"

#include <c10/util/Exception.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "tally/files/input_file.h"

namespace tally::files {
namespace {

std::vector<std::string> files_of_folder(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const char first = entry.path().filename().string().front();
    if (first != '.' && first != '_' && entry.is_regular_file()) {
      paths.push_back(entry.path());
    }
  }
  TORCH_CHECK_VALUE(!paths.empty(), folder,
                    ": expected a file, or a folder with files, got an empty "
                    "folder");
  return paths;
}

std::vector<std::string> files_of_pattern(const std::string& pattern) {
  glob_t found{};
  const int status = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv,
                                 found.gl_pathv + found.gl_pathc);
  globfree(&found);
  TORCH_CHECK_VALUE(status == 0 && !paths.empty(), pattern,
                    ": no file matches");
  return paths;
}

std::vector<std::string> files_of_word(const std::string& word) {
  std::error_code error;
  std::vector<std::string> paths;
  if (std::filesystem::is_directory(word, error)) {
    paths = files_of_folder(word);
  } else if (word == kStandardInput || word.find_first_of("*?[") == word.npos ||
             std::filesystem::exists(word, error)) {
    return {word};
  } else {
    paths = files_of_pattern(word);
  }
  // Not as the locale orders them, so that rows are the same everywhere.
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::vector<std::string> list_files(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    for (std::string& path : files_of_word(word))
      all.push_back(std::move(path));
  }
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& path : all) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto [first, is_new] =
        seen.emplace(std::make_pair(status.st_dev, status.st_ino), path);
    TORCH_CHECK_VALUE(is_new, "expected each file once, got ", path,
                      first->second == path ? " twice"
                                            : " and " + first->second +
                                                  ", which are the same file");
  }
  return all;
}

}  // namespace tally::files
