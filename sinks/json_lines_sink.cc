#include "tally/sinks/json_lines_sink.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "tally/metrics/results_json.h"
#include "tally/sinks/time_text.h"

namespace tally {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHead = "{\"tally_log\":";

/// A line of the file; not an object if it is damaged.
Json parse(std::string_view line) {
  return Json::parse(line.begin(), line.end(), nullptr,
                     /*allow_exceptions=*/false);
}

}  // namespace

absl::Status JsonLinesSink::begin(const Run& run) {
  using Line = internal::LogFile::Line;
  const absl::Status opened =
      file_.open_lines(kHead, [&](std::string_view line, Line& choice) {
        const Json json = parse(line);
        if (!json.is_object()) {
          choice = Line::kDropped;
          return absl::OkStatus();
        }
        const auto version = json.find("tally_log");
        if (version != json.end() &&
            !(version->is_number_integer() && *version <= kVersion)) {
          const std::string message =
              file_.path() + ": expected a log of version " +
              std::to_string(kVersion) + " or older, got " + version->dump();
          return absl::FailedPreconditionError(message.c_str());
        }
        const auto step = json.find("step");
        if (step != json.end() && step->is_number_integer() &&
            step->get<std::int64_t>() >= run.first_step) {
          choice = Line::kDropped;
        }
        return absl::OkStatus();
      });
  if (!opened.ok()) return opened;
  Json head;
  head["tally_log"] = kVersion;
  head["run"] = run.id;
  head["command"] = run.command;
  head["first_step"] = run.first_step;
  std::string line = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  line.pop_back();
  return file_.append(line + ",\"time\":" + internal::time_text(run.time) +
                      "}\n");
}

absl::Status JsonLinesSink::write(std::int64_t step, double time,
                                  const Results& results) {
  std::string line = "{\"step\":" + std::to_string(step) +
                     ",\"time\":" + internal::time_text(time) +
                     ",\"results\":" + to_json(results);
  std::string dimensions = dimensions_to_json(results);
  if (dimensions != dimensions_) {
    line += ",\"dimensions\":" + dimensions;
    dimensions_ = std::move(dimensions);
  }
  return file_.append(line + "}\n");
}

}  // namespace tally
