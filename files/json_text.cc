#include "tally/files/json_text.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tally/metrics/results_json.h"

namespace tally::files {

std::string json_text(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

std::string json_object(const Results& numbers,
                        const nlohmann::ordered_json& rest) {
  std::string text = to_json(numbers);
  text.back() = ',';
  return text + json_text(rest).substr(1);
}

namespace {

constexpr std::size_t kShownLength = 40;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true,
                    Json::error_handler_t::replace);
}

// Not dumped(), for which a value may be nested too deeply: it recurses to the
// end, this only as long as something is to be shown.
void show(const Json& value, std::string& out) {
  if (!value.is_structured()) {
    out += dumped(value);
    return;
  }
  out += value.is_array() ? '[' : '{';
  const char* separator = "";
  for (const auto& [key, item] : value.items()) {
    if (out.size() > kShownLength) return;
    out += separator;
    if (value.is_object()) out += dumped(key) + ":";
    show(item, out);
    separator = ",";
  }
  out += value.is_array() ? ']' : '}';
}

}  // namespace

std::string shown_json(const Json& value) {
  std::string out;
  show(value, out);
  return out.size() > kShownLength ? out.substr(0, kShownLength) + "..." : out;
}

std::string without_nan(const std::string& line) {
  constexpr std::string_view kNan = "NaN";
  if (line.find(kNan) == line.npos) return line;
  std::string text;
  bool is_inside = false;  // of a text
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!is_inside && line.compare(i, kNan.size(), kNan) == 0) {
      text += "null";
      i += kNan.size() - 1;
      continue;
    }
    if (line[i] == '"') is_inside = !is_inside;
    text += line[i];
    if (is_inside && line[i] == '\\' && i + 1 < line.size()) {
      text += line[++i];
    }
  }
  return text;
}

Json parse_json(const std::string& line) {
  return Json::parse(without_nan(line), nullptr, /*allow_exceptions=*/false);
}

bool is_integer(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<std::uint64_t>() <=
              std::numeric_limits<std::int64_t>::max());
}

bool is_id(const Json& value) {
  return value.is_number_integer() || value.is_string();
}

std::string id_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace tally::files
