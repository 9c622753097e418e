#include "tally/cli/json_text.h"

#include <nlohmann/json.hpp>

#include "tally/metrics/results_json.h"

namespace tally::cli {

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

}  // namespace tally::cli
