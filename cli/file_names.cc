#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

#include "tally/cli/argument_values.h"
#include "tally/files/file_list.h"

namespace tally::cli {
namespace {

bool has_ending(const std::string& text, std::string_view end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool has_name_of(const std::string& path,
                 std::initializer_list<const char*> endings) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    const auto files = files::list_files({path});
    return std::all_of(
        files.begin(), files.end(),
        [&](const std::string& file) { return has_name_of(file, endings); });
  }
  for (const std::string ending : endings) {
    for (const char* packing : {"", ".gz", ".zst"}) {
      if (has_ending(path, ending + packing)) return true;
    }
  }
  return false;
}

}  // namespace

bool has_json_lines_name(const std::string& path) {
  return has_name_of(path, {".jsonl", ".ndjson"});
}

bool has_csv_name(const std::string& path) {
  return has_name_of(path, {".csv", ".tsv"});
}

bool has_archive_name(const std::string& path) {
  return has_ending(path, ".npz");
}

}  // namespace tally::cli
