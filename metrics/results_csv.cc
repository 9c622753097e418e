#include "tally/metrics/results_csv.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace tally {
namespace {

/// The format that to_json uses.
std::string number_text(bool value) { return value ? "true" : "false"; }
std::string number_text(std::int64_t number) { return std::to_string(number); }
std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return nlohmann::json(number).dump();
}

/// Reads elements at `next` and advances it past them.
template <class Element>
void add_lines(const std::string& name, const std::string& place,
               at::IntArrayRef sizes, const Element*& next, std::string& text) {
  if (sizes.empty()) {
    text += name + "," + place + "," + number_text(*next++) + "\n";
    return;
  }
  for (std::int64_t i = 0; i < sizes.front(); ++i) {
    add_lines(name, place + (place.empty() ? "" : " ") + std::to_string(i),
              sizes.slice(1), next, text);
  }
}

template <class Element>
void add_lines(const std::string& name, const at::Tensor& value,
               at::ScalarType dtype, std::string& text) {
  const at::Tensor elements = value.to(at::kCPU, dtype).contiguous();
  const auto* next = static_cast<const Element*>(elements.data_ptr());
  add_lines(name, "", elements.sizes(), next, text);
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

std::string to_csv_lines(const Results& results, std::string_view prefix) {
  std::string text;
  for (const auto& [name, value] : results) {
    const std::string field = std::string(prefix) + csv_field(name);
    if (!value.defined()) {
      text += field + ",,null\n";
      continue;
    }
    TORCH_CHECK_TYPE(!value.is_complex(), "result '", name,
                     "': expected real numbers, got ", value.scalar_type());
    if (value.scalar_type() == at::kBool) {
      add_lines<bool>(field, value, at::kBool, text);
    } else if (value.is_floating_point()) {
      add_lines<double>(field, value, at::kDouble, text);
    } else {
      add_lines<std::int64_t>(field, value, at::kLong, text);
    }
  }
  return text;
}

}  // namespace tally
