#include "tally/sinks/metric_log.h"

#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "tally/sinks/json_lines_sink.h"

namespace tally {
namespace {

using Json = nlohmann::ordered_json;

/// An array of numbers, flattened, with its sizes.
struct Numbers {
  std::vector<std::int64_t> sizes;
  std::vector<double> values;
  std::vector<std::int64_t> integers;  // as long as all are
  bool is_integral = true;
};

double special(const Json& json) {
  const std::string text = json.get<std::string>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  TORCH_CHECK_VALUE(text == "Infinity" || text == "-Infinity",
                    "expected a number, got \"", text, "\"");
  return text[0] == '-' ? -std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::infinity();
}

void read(const Json& json, std::size_t depth, Numbers& numbers) {
  constexpr std::size_t kDeepest = 16;
  if (json.is_array()) {
    TORCH_CHECK_VALUE(depth < kDeepest, "expected at most ", kDeepest,
                      " dimensions");
    const auto size = static_cast<std::int64_t>(json.size());
    if (depth == numbers.sizes.size() && numbers.values.empty()) {
      numbers.sizes.push_back(size);
    }
    TORCH_CHECK_VALUE(
        depth < numbers.sizes.size() && numbers.sizes[depth] == size,
        "expected lists of equal length");
    for (const Json& each : json) read(each, depth + 1, numbers);
    return;
  }
  TORCH_CHECK_VALUE(depth == numbers.sizes.size(),
                    "expected lists of equal length");
  TORCH_CHECK_VALUE(json.is_number() || json.is_string() || json.is_boolean(),
                    "expected numbers, got ", json.type_name());
  numbers.is_integral =
      numbers.is_integral && !json.is_string() && !json.is_number_float();
  numbers.values.push_back(json.is_string()    ? special(json)
                           : json.is_boolean() ? double(json.get<bool>())
                                               : json.get<double>());
  if (numbers.is_integral) {
    numbers.integers.push_back(json.is_boolean()
                                   ? std::int64_t(json.get<bool>())
                                   : json.get<std::int64_t>());
  }
}

at::Tensor tensor_of(const Json& json) {
  if (json.is_null()) return {};
  Numbers numbers;
  read(json, 0, numbers);
  const bool integral = numbers.is_integral && !numbers.values.empty();
  return (integral ? at::tensor(numbers.integers, at::kLong)
                   : at::tensor(numbers.values, at::kDouble))
      .reshape(numbers.sizes);
}

/// Throws for anything that such a log does not have.
void read_line(const Json& json, std::map<std::string, Dimensions>& dimensions,
               MetricLog& log) {
  TORCH_CHECK_VALUE(json.is_object(), "expected an object");
  if (json.contains("tally_log")) {
    log.run = json.value("run", "");
    log.command = json.value("command", "");
    return;
  }
  TORCH_CHECK_VALUE(json.contains("step") && json["step"].is_number_integer() &&
                        json.contains("results") && json["results"].is_object(),
                    "expected a step and its results");
  MetricLog::Step step;
  step.step = json["step"];
  if (json.contains("time") && json["time"].is_number()) {
    step.time = json["time"];
  }
  if (json.contains("dimensions")) {
    dimensions.clear();
    for (const auto& [name, words] : json["dimensions"].items()) {
      for (const Json& word : words) {
        dimensions[name].push_back(dimension_of(word.get<std::string>()));
      }
    }
  }
  for (const auto& [name, value] : json["results"].items()) {
    try {
      step.results.add(name, tensor_of(value), dimensions[name]);
    } catch (const c10::Error& error) {
      TORCH_CHECK_VALUE(false, name, ": ", error.what_without_backtrace());
    }
  }
  log.steps.push_back(std::move(step));
}

absl::Status invalid(const std::string& message) {
  return absl::InvalidArgumentError(message.c_str());
}

}  // namespace

absl::StatusOr<MetricLog> read_metric_log(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  MetricLog log;
  std::map<std::string, Dimensions> dimensions;  // of the steps so far
  std::string line;
  std::int64_t number = 0;
  while (std::getline(file, line)) {
    const bool is_whole = !file.eof();
    const std::string where = path + ":" + std::to_string(++number) + ": ";
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!is_whole && !json.is_object()) break;
    const bool is_head = json.is_object() && json.contains("tally_log");
    if (number == 1 && !is_head) {
      return invalid(path + ": expected a log of JSON lines by Tally");
    }
    if (is_head && !(json["tally_log"].is_number_integer() &&
                     json["tally_log"] <= JsonLinesSink::kVersion)) {
      const std::string message = where + "expected a log of version " +
                                  std::to_string(JsonLinesSink::kVersion) +
                                  " or older, got " + json["tally_log"].dump();
      return absl::FailedPreconditionError(message.c_str());
    }
    try {
      read_line(json, dimensions, log);
    } catch (const c10::Error& error) {
      return invalid(where + error.what_without_backtrace());
    } catch (const nlohmann::json::exception& error) {
      return invalid(where + error.what());
    }
  }
  if (number > 0) return log;
  if (file.bad() || !file.is_open()) {
    return absl::ErrnoToStatus(errno, (path + ": cannot be read").c_str());
  }
  return invalid(path + ": expected a log of JSON lines by Tally");
}

}  // namespace tally
