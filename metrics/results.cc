#include "tally/metrics/results.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "tally/metrics/dimension.h"
#include "tally/metrics/results_csv.h"
#include "tally/metrics/results_json.h"
#include "tally/metrics/results_table.h"
#include "tally/state/joined.h"

namespace tally {
namespace {

// In the order of Dimension.
constexpr const char* kDimensionNames[] = {
    "unknown",      "class",     "foreground class",
    "listed class", "outcome",   "count",
    "point",        "threshold", "pair",
    "sample",       "group",     "output",
    "column",       "quantile",  "replicate",
    "step",         "area",      "limit"};

}  // namespace

const char* to_string(Dimension dimension) {
  return kDimensionNames[static_cast<std::size_t>(dimension)];
}

Dimension dimension_of(const std::string& text) {
  const auto* found =
      std::find(std::begin(kDimensionNames), std::end(kDimensionNames), text);
  if (found == std::end(kDimensionNames)) return Dimension::kUnknown;
  return static_cast<Dimension>(found - std::begin(kDimensionNames));
}

namespace {

std::string names_in(const Results& results) {
  const std::string names = internal::joined(
      ", ", results, [](const auto& result) { return result.first; });
  return names.empty() ? "none" : names;
}

// The place of a name's bit among those of known names.
std::pair<std::size_t, std::uint64_t> known_bit(const std::string& name) {
  const std::size_t hash = std::hash<std::string>()(name);
  return {hash / 64 % 8, std::uint64_t{1} << hash % 64};
}

}  // namespace

namespace internal {

double number_of(const std::string& name, const at::Tensor& value) {
  TORCH_CHECK_VALUE(value.defined() && value.numel() == 1, "expected a number",
                    name.empty() ? "" : " as '" + name + "'", ", got ",
                    value.defined()
                        ? c10::str("a tensor of sizes ", value.sizes())
                        : "an undefined tensor");
  return value.item<double>();
}

at::Tensor moved_to(const at::Tensor& value, c10::Device device) {
  if (!value.defined() || value.device() == device) return value;
  if (value.is_cpu() && value.dim() == 0 && !value.requires_grad()) {
    return at::scalar_tensor(value.item(), value.options().device(device));
  }
  return value.to(device);
}

}  // namespace internal

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
  const auto [word, bit] = known_bit(name);
  known_[word] |= bit;
  values_.emplace_back(std::move(name), std::move(value));
}

bool Results::contains(const std::string& name) const {
  const auto [word, bit] = known_bit(name);
  if ((known_[word] & bit) == 0) return false;
  return std::any_of(values_.begin(), values_.end(),
                     [&](const value_type& v) { return v.first == name; });
}

std::size_t Results::place_of(const std::string& name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].first == name) return i;
  }
  TORCH_CHECK_INDEX(false, "unknown result '", name,
                    "'; there are: ", names_in(*this));
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
                    names_in(*this));
  return values_.front().second;
}

double Results::number(const std::string& name) const {
  return internal::number_of(name, at(name));
}

double Results::number() const {
  return contains("") ? number("") : internal::number_of("", value());
}

void Results::visit(ResultParts& parts) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    parts(values_[i].first, values_[i].second,
          i < dimensions_.size() ? dimensions_[i] : Dimensions());
  }
}

std::ostream& operator<<(std::ostream& out, const Results& results) {
  if (!results.contains("") || results.contains("value")) {
    return out << to_table(results);
  }
  Results named;
  for (const auto& [name, value] : results) {
    named.add(name.empty() ? "value" : name, value, results.dimensions(name));
  }
  return out << to_table(named);
}

namespace {

/// The format that to_json uses.
std::string csv_number(bool value) { return value ? "true" : "false"; }
std::string csv_number(std::int64_t number) { return std::to_string(number); }
std::string csv_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return nlohmann::json(number).dump();
}

/// Reads elements at `next` and advances it past them.
template <class Element>
void visit_elements(const std::string& name, const std::string& place,
                    at::IntArrayRef sizes, const Element*& next,
                    CsvVisit visit) {
  if (sizes.empty()) return visit(name, place, csv_number(*next++));
  for (std::int64_t i = 0; i < sizes.front(); ++i) {
    visit_elements(name, place + (place.empty() ? "" : " ") + std::to_string(i),
                   sizes.slice(1), next, visit);
  }
}

template <class Element>
void visit_elements(const std::string& name, const at::Tensor& value,
                    at::ScalarType dtype, CsvVisit visit) {
  const at::Tensor elements = value.to(at::kCPU, dtype).contiguous();
  const auto* next = static_cast<const Element*>(elements.data_ptr());
  visit_elements(name, "", elements.sizes(), next, visit);
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string to_csv(const Results& results) {
  return "metric,index,value\n" + to_csv_lines(results, "");
}

void visit_csv(const Results& results, CsvVisit visit) {
  for (const auto& [name, value] : results) {
    if (!value.defined()) {
      visit(name, "", "null");
      continue;
    }
    TORCH_CHECK_TYPE(!value.is_complex(), "result '", name,
                     "': expected real numbers, got ", value.scalar_type());
    if (value.scalar_type() == at::kBool) {
      visit_elements<bool>(name, value, at::kBool, visit);
    } else if (value.is_floating_point()) {
      visit_elements<double>(name, value, at::kDouble, visit);
    } else {
      visit_elements<std::int64_t>(name, value, at::kLong, visit);
    }
  }
}

std::string to_csv_lines(const Results& results, std::string_view prefix) {
  std::string text;
  visit_csv(results, [&](const std::string& name, const std::string& index,
                         const std::string& value) {
    text += prefix;
    text += csv_field(name) + "," + index + "," + value + "\n";
  });
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(bool value) { return value; }
Json json_of(std::int64_t number) { return number; }
Json json_of(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

/// Elements are taken from where `next` points to, which goes behind them.
template <class Element>
Json json_of(at::IntArrayRef sizes, const Element*& next) {
  if (sizes.empty()) return json_of(*next++);
  Json list = Json::array();
  for (std::int64_t i = 0; i < sizes.front(); ++i) {
    list.push_back(json_of(sizes.slice(1), next));
  }
  return list;
}

template <class Element>
Json json_of(const at::Tensor& value, at::ScalarType dtype) {
  const at::Tensor elements = value.to(at::kCPU, dtype).contiguous();
  const auto* next = static_cast<const Element*>(elements.data_ptr());
  return json_of(elements.sizes(), next);
}

Json json_of(const std::string& name, const at::Tensor& value) {
  if (!value.defined()) return nullptr;
  TORCH_CHECK_TYPE(!value.is_complex(), "result '", name,
                   "': expected real numbers, got ", value.scalar_type());
  if (value.scalar_type() == at::kBool) return json_of<bool>(value, at::kBool);
  return value.is_floating_point() ? json_of<double>(value, at::kDouble)
                                   : json_of<std::int64_t>(value, at::kLong);
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Results& results) {
  Json json = Json::object();
  for (const auto& [name, value] : results) json[name] = json_of(name, value);
  return dumped(json);
}

std::string dimensions_to_json(const Results& results) {
  Json json = Json::object();
  for (const auto& [name, value] : results) {
    const Dimensions dimensions = results.dimensions(name);
    if (std::all_of(dimensions.begin(), dimensions.end(), [](Dimension each) {
          return each == Dimension::kUnknown;
        })) {
      continue;
    }
    for (const Dimension each : dimensions) {
      json[name].push_back(to_string(each));
    }
  }
  return dumped(json);
}

}  // namespace tally
