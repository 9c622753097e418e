#include "tally/metrics/results.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
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

void Results::add(std::string name, at::Tensor value, Dimensions dimensions) {
  TORCH_CHECK_VALUE(!contains(name), "expected one result of each name, got '",
                    name, "' twice");
  const std::int64_t count = value.defined() ? value.dim() : 0;
  const auto given = static_cast<std::int64_t>(dimensions.size());
  dimensions.erase(
      dimensions.begin(),
      dimensions.begin() + std::max<std::int64_t>(given - count, 0));
  if (!dimensions.empty()) {
    dimensions_.resize(values_.size());
    dimensions_.push_back(std::move(dimensions));
  }
  values_.emplace_back(std::move(name), std::move(value));
}

bool Results::contains(const std::string& name) const {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const value_type& v) { return v.first == name; });
}

std::size_t Results::place_of(const std::string& name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].first == name) return i;
  }
  TORCH_CHECK_INDEX(false, "unknown result '", name,
                    "'; there are: ", joined_names(*this));
}

const at::Tensor& Results::at(const std::string& name) const {
  return values_[place_of(name)].second;
}

Dimensions Results::dimensions(const std::string& name) const {
  const std::size_t place = place_of(name);
  const at::Tensor& value = values_[place].second;
  const auto count =
      static_cast<std::size_t>(value.defined() ? value.dim() : 0);
  Dimensions own;
  if (place < dimensions_.size()) own = dimensions_[place];
  own.resize(count, Dimension::kUnknown);
  return own;
}

const at::Tensor& Results::value() const {
  TORCH_CHECK_INDEX(size() == 1, "expected one result, got ", size(), ": ",
                    joined_names(*this));
  return values_.front().second;
}

void Results::visit(ResultParts& parts) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    parts(values_[i].first, values_[i].second,
          i < dimensions_.size() ? dimensions_[i] : Dimensions());
  }
}

std::ostream& operator<<(std::ostream& out, const Results& results) {
  return out << to_table(results);
}

}  // namespace tally
