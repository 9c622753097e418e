#include "tally/sinks/csv_sink.h"

#include <string_view>

#include "tally/metrics/results_csv.h"
#include "tally/sinks/time_text.h"
#include "tally/state/parse_number.h"

namespace tally {
namespace {

constexpr std::string_view kHead = "step,time,metric,index,value\n";

}  // namespace

absl::Status CsvSink::begin(const Run& run) {
  using Line = internal::LogFile::Line;
  const absl::Status opened =
      file_.open_lines(kHead, [&](std::string_view line, Line& choice) {
        const auto step = internal::parse_number<std::int64_t>(
            line.substr(0, line.find(',')));
        const bool is_head = line == kHead.substr(0, line.size());
        if (!is_head && (!step || *step >= run.first_step)) {
          choice = Line::kDropped;
        }
        return absl::OkStatus();
      });
  if (!opened.ok() || !file_.is_new()) return opened;
  return file_.append(kHead);
}

absl::Status CsvSink::write(std::int64_t step, double time,
                            const Results& results) {
  for (const auto& [name, value] : results) {
    if (name.find_first_of("\r\n") == name.npos) continue;
    const std::string message = file_.path() +
                                ": expected names without line breaks, got '" +
                                name + "'";
    return absl::InvalidArgumentError(message.c_str());
  }
  return file_.append(to_csv_lines(
      results, std::to_string(step) + "," + internal::time_text(time) + ","));
}

}  // namespace tally
