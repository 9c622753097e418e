#include <c10/util/Exception.h>

#include <string>
#include <vector>

#include "tally/files/text_file.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

using Lines = std::vector<std::string>;

// What docs/cli.md says of a .txt file, with nothing of the reader's.
Lines lines_of(std::string_view bytes) {
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") bytes.remove_prefix(3);
  Lines lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    std::string line(bytes.substr(0, end));
    if (end != bytes.npos && !line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    lines.push_back(std::move(line));
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
  }
  return lines;
}

}  // namespace

/// A .txt file.
void read_text(std::string_view bytes) {
  const MemoryFile memory(bytes);
  try {
    const files::TextFile file(memory.path());
    const std::int64_t rows = file.rows();
    const Lines whole = file.read(0, rows);
    require(whole == lines_of(bytes), "lines end at LF only");
    require(file.has_mark() == (bytes.substr(0, 3) == "\xEF\xBB\xBF"),
            "a byte order mark is noticed");
    Lines parts = file.read(rows / 2, rows);
    const Lines first = file.read(0, rows / 2);
    parts.insert(parts.begin(), first.begin(), first.end());
    require(whole == parts, "rows are the same read in two parts");
    require(file.bytes_per_row() > 0, "a row takes memory");
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
