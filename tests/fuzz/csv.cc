#include "tally/files/csv.h"

#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/cli/limits.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

std::vector<at::Tensor> read_as(const std::string& path,
                                const std::string& columns,
                                files::CsvKind numbers,
                                files::CsvOptions options = {}) {
  files::CsvFile file(path, columns, std::move(options));
  file.scan(std::vector<files::CsvKind>(file.inputs().size(), numbers));
  const std::int64_t rows = file.rows();
  std::vector<at::Tensor> whole = file.read(0, rows);
  const std::int64_t middle = rows / 2;
  // Backwards, so that the reader has to find its place again.
  const std::vector<at::Tensor> last = file.read(middle, rows);
  const std::vector<at::Tensor> first = file.read(0, middle);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    require(whole[i].size(0) == rows, "an input has all rows");
    require(same_bits(whole[i], at::cat({first[i], last[i]})),
            "rows are the same read in two parts");
  }
  return whole;
}

}  // namespace

/// A line that is --columns, and behind it the file.
void read_csv(std::string_view bytes) {
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  const std::string columns(bytes.substr(0, line));
  const MemoryFile file(bytes.substr(std::min(line + 1, bytes.size())));
  const cli::TensorLimit limit(kMostBytes);
  try {
    const auto either = read_as(file.path(), columns, files::CsvKind::kEither);
    const auto floats = read_as(file.path(), columns, files::CsvKind::kFloats);
    for (std::size_t i = 0; i < either.size(); ++i) {
      require(same_bits(either[i].to(at::kDouble), floats[i]),
              "numbers are the same as integers or not");
    }
    read_as(file.path(), columns, files::CsvKind::kKeys);
    read_as(file.path(), columns, files::CsvKind::kNumbered);
    files::CsvOptions lenient;
    lenient.missing = files::Missing::kSkip;
    lenient.missing_words = {"-"};
    lenient.decimal = ',';
    read_as(file.path(), columns, files::CsvKind::kFloats, lenient);
    read_as(file.path(), columns, files::CsvKind::kIntegers);
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
