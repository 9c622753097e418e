#include "tally/sinks/table_sink.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <utility>

#include "tally/metrics/results_table.h"

namespace tally {
namespace {

constexpr std::size_t kNarrowest = 10;

std::string aligned(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string number_text(const at::Tensor& value) {
  if (!value.is_floating_point()) {
    return std::to_string(value.item<std::int64_t>());
  }
  const auto number = value.item<double>();
  if (std::isnan(number)) return "nan";  // without the sign that it may have
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

}  // namespace

absl::Status TableSink::status() const {
  return out_.good() ? absl::OkStatus()
                     : absl::UnavailableError("table: cannot be printed");
}

absl::Status TableSink::begin(const Run&) { return status(); }

absl::Status TableSink::write(std::int64_t step, double,
                              const Results& results) {
  std::vector<std::string> names;
  std::string line = aligned(std::to_string(step), kNarrowest);
  for (const auto& [name, value] : results) {
    if (!value.defined() || value.dim() != 0 || value.is_complex()) continue;
    names.push_back(name);
    line +=
        "  " + aligned(number_text(value), std::max(kNarrowest, name.size()));
  }
  if (names != names_) {
    out_ << aligned("step", kNarrowest);
    for (const std::string& name : names) {
      out_ << "  " << aligned(name, kNarrowest);
    }
    out_ << '\n';
    names_ = std::move(names);
  }
  out_ << line << std::endl;
  last_ = results;
  return status();
}

absl::Status TableSink::finish() {
  if (!last_.empty()) out_ << '\n' << to_table(last_, labels_) << std::flush;
  return status();
}

}  // namespace tally
