#include "tally/files/json_lines.h"

#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

using Texts = std::vector<std::string>;
using Lists = std::vector<Texts>;

template <class T>
bool same_rows(const T& whole, T first, const T& last) {
  first.insert(first.end(), last.begin(), last.end());
  return whole == first;
}

bool same_rows(const InputValue& whole, const InputValue& first,
               const InputValue& last) {
  if (const auto* tensor = whole.ref().as<at::Tensor>()) {
    return same_bits(*tensor, at::cat({*first.ref().as<at::Tensor>(),
                                       *last.ref().as<at::Tensor>()}));
  }
  if (const auto* texts = whole.ref().as<Texts>()) {
    return same_rows(*texts, *first.ref().as<Texts>(), *last.ref().as<Texts>());
  }
  return same_rows(*whole.ref().as<Lists>(), *first.ref().as<Lists>(),
                   *last.ref().as<Lists>());
}

void read_as(const std::string& path, const std::string& columns,
             files::CsvKind kind) {
  try {
    files::JsonLines file(path, columns);
    const std::size_t inputs = file.inputs().size();
    require(columns.empty() || inputs > 0, "columns are inputs");
    file.scan(std::vector<files::CsvKind>(inputs, kind));
    const std::int64_t rows = file.rows();
    const auto whole = file.read(0, rows);
    const auto last = file.read(rows / 2, rows);
    const auto first = file.read(0, rows / 2);
    require(whole.size() == inputs, "every input is read");
    for (std::size_t i = 0; i < inputs; ++i) {
      require(whole[i].ref().rows() == rows, "an input has all rows");
      require(same_rows(whole[i], first[i], last[i]),
              "rows are the same read in two parts");
      require(file.has_lists(i) == (whole[i].ref().as<Lists>() != nullptr),
              "lists of texts are announced");
    }
  } catch (const c10::ValueError&) {
  }
}

}  // namespace

/// A line that is --columns, and behind it the file.
void read_json_lines(std::string_view bytes) {
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  const std::string columns(bytes.substr(0, line));
  const MemoryFile file(bytes.substr(std::min(line + 1, bytes.size())));
  for (const files::CsvKind kind :
       {files::CsvKind::kIntegers, files::CsvKind::kFloats,
        files::CsvKind::kEither, files::CsvKind::kTexts, files::CsvKind::kKeys,
        files::CsvKind::kNumbered}) {
    read_as(file.path(), columns, kind);
  }
}

}  // namespace tally::fuzz
