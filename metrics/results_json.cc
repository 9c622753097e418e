#include "tally/metrics/results_json.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace tally {
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
