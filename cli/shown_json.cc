#include "tally/cli/shown_json.h"

#include <nlohmann/json.hpp>

namespace tally::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMost = 40;

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
    if (out.size() > kMost) return;
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
  return out.size() > kMost ? out.substr(0, kMost) + "..." : out;
}

}  // namespace tally::cli
