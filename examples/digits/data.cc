#include "tally/examples/digits/data.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace digits {
namespace {

constexpr std::int64_t kPixels = 64;
constexpr std::int64_t kWhitest = 16;
constexpr std::int64_t kTestImages = 360;

/// Reads one line, field by field.
class Row {
 public:
  Row(const std::string& where, std::string_view line)
      : where_(where), rest_(line) {}

  std::int64_t next(std::int64_t largest) {
    ++column_;
    if (at_end_) fail("the line ends");
    const std::size_t comma = rest_.find(',');
    const std::string_view field = rest_.substr(0, comma);
    at_end_ = comma == std::string_view::npos;
    if (!at_end_) rest_.remove_prefix(comma + 1);

    std::int64_t value = -1;
    const char* end = field.data() + field.size();
    const auto parsed = std::from_chars(field.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 0 ||
        value > largest) {
      fail("expected an integer from 0 to " + std::to_string(largest) +
           ", got '" + std::string(field) + "'");
    }
    return value;
  }

  void finish() {
    ++column_;
    if (!at_end_)
      fail("expected the line to end, got '" + std::string(rest_) + "'");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(where_ + ", column " + std::to_string(column_) +
                             ": " + what);
  }

  const std::string& where_;
  std::string_view rest_;
  int column_ = 0;
  bool at_end_ = false;
};

}  // namespace

Digits Digits::rows(const at::Tensor& indices) const {
  return {images.index_select(0, indices), labels.index_select(0, indices)};
}

std::string find_digits() {
  namespace fs = std::filesystem;
  const fs::path file = "examples/digits/data/digits.csv";
  // `bazel run` starts programs in the folder with their data files.
  if (fs::exists(file)) return file;
  const fs::path program = fs::read_symlink("/proc/self/exe");
  for (fs::path folder = program; folder != folder.root_path();) {
    folder = folder.parent_path();
    if (fs::exists(folder / file)) return folder / file;
  }
  throw std::runtime_error("cannot find " + file.string() +
                           "; give its path with --data");
}

Digits read_digits(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<double> pixels;
  std::vector<std::int64_t> labels;
  for (std::string line; std::getline(file, line);) {
    const std::string where =
        path + ", row " + std::to_string(labels.size() + 1);
    Row row(where, line);
    for (std::int64_t i = 0; i < kPixels; ++i) {
      pixels.push_back(static_cast<double>(row.next(kWhitest)) / kWhitest);
    }
    labels.push_back(row.next(9));
    row.finish();
  }
  if (file.bad()) throw std::runtime_error("cannot read " + path);
  if (labels.size() <= kTestImages) {
    throw std::runtime_error(path + ": expected more than " +
                             std::to_string(kTestImages) + " rows, got " +
                             std::to_string(labels.size()));
  }
  return {at::tensor(pixels, at::kDouble).view({-1, kPixels}),
          at::tensor(labels, at::kLong)};
}

Split split(const Digits& digits) {
  // Adjacent images in the file are often by the same writer.
  const at::Tensor order =
      at::randperm(digits.size(), at::detail::createCPUGenerator(/*seed=*/0));
  return {digits.rows(order.slice(0, kTestImages)),
          digits.rows(order.slice(0, 0, kTestImages))};
}

}  // namespace digits
