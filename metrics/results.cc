#include "tally/metrics/results.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <ostream>

#include "tally/metrics/results_table.h"

namespace tally {
namespace {

std::string joined_names(const Results& results) {
  std::string names;
  for (const auto& [name, value] : results) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

void Results::add(std::string name, at::Tensor value) {
  TORCH_CHECK_VALUE(!contains(name), "expected one result of each name, got '",
                    name, "' twice");
  values_.emplace_back(std::move(name), std::move(value));
}

bool Results::contains(const std::string& name) const {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const value_type& v) { return v.first == name; });
}

const at::Tensor& Results::at(const std::string& name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  TORCH_CHECK_INDEX(false, "unknown result '", name,
                    "'; there are: ", joined_names(*this));
}

const at::Tensor& Results::value() const {
  TORCH_CHECK_INDEX(size() == 1, "expected one result, got ", size(), ": ",
                    joined_names(*this));
  return values_.front().second;
}

std::ostream& operator<<(std::ostream& out, const Results& results) {
  return out << to_table(results);
}

}  // namespace tally
