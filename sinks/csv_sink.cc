#include "tally/sinks/csv_sink.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tally/metrics/results_csv.h"
#include "tally/sinks/time_text.h"
#include "tally/state/parse_number.h"

namespace tally {
namespace {

constexpr std::string_view kLongHead = "step,time,metric,index,value\n";
// Columns follow.
constexpr std::string_view kWideHead = "step,time";

/// The fields of a line, as they are written.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

absl::Status csv_refusal(const std::string& message) {
  return absl::InvalidArgumentError(message.c_str());
}

}  // namespace

absl::Status CsvSink::read_head(std::string_view line) {
  if (line == kLongHead.substr(0, line.size())) {
    return csv_refusal(
        file_.path() +
        ": expected a line for each step, got a log with a line for "
        "each number");
  }
  columns_ = fields_of(line);
  if (columns_.size() < 2 || columns_[0] + "," + columns_[1] != kWideHead) {
    return csv_refusal(file_.path() + ": expected a log that begins with " +
                       std::string(kWideHead));
  }
  columns_.erase(columns_.begin(), columns_.begin() + 2);
  return absl::OkStatus();
}

absl::Status CsvSink::begin(const Run& run) {
  using Line = internal::LogFile::Line;
  const std::string_view head =
      layout_ == CsvLayout::kLong ? kLongHead : kWideHead;
  bool is_first = true;
  const absl::Status opened = file_.open_lines(head, [&](std::string_view line,
                                                         Line& choice) {
    if (std::exchange(is_first, false)) {
      return layout_ == CsvLayout::kWide ? read_head(line) : absl::OkStatus();
    }
    const auto step =
        internal::parse_number<std::int64_t>(line.substr(0, line.find(',')));
    if (!step || *step >= run.first_step) choice = Line::kDropped;
    return absl::OkStatus();
  });
  if (!opened.ok() || !file_.is_new()) return opened;
  return file_.append(layout_ == CsvLayout::kLong ? std::string(head)
                                                  : std::string(head) + "\n");
}

absl::Status CsvSink::add_columns(const Cells& cells) {
  std::string names, commas;
  std::vector<std::string> all = columns_;
  std::unordered_set<std::string> known(all.begin(), all.end());
  for (const auto& [name, value] : cells) {
    if (!known.insert(name).second) continue;
    all.push_back(name);
    names += "," + name;
    commas += ",";
  }
  if (names.empty()) return absl::OkStatus();
  const absl::Status written = file_.rewrite([&](std::string_view old) {
    std::string text;
    for (std::size_t end; (end = old.find('\n')) != old.npos;) {
      const bool is_head = text.empty();
      text += old.substr(0, end);
      text += is_head ? names : commas;
      text += '\n';
      old.remove_prefix(end + 1);
    }
    return text;
  });
  if (written.ok()) columns_ = std::move(all);
  return written;
}

absl::Status CsvSink::write_wide(const std::string& head,
                                 const Results& results) {
  Cells cells;
  visit_csv(results, [&](const std::string& name, const std::string& index,
                         const std::string& value) {
    cells.emplace_back(csv_field(index.empty() ? name : name + " " + index),
                       value == "null" ? "" : value);
  });
  const absl::Status added = add_columns(cells);
  if (!added.ok()) return added;
  const std::unordered_map<std::string, std::string> values(cells.begin(),
                                                            cells.end());
  std::string line = head;
  for (const std::string& column : columns_) {
    const auto value = values.find(column);
    line += "," + (value == values.end() ? "" : value->second);
  }
  return file_.append(line + "\n");
}

absl::Status CsvSink::write(std::int64_t step, double time,
                            const Results& results) {
  for (const auto& [name, value] : results) {
    if (name.find_first_of("\r\n") == name.npos) continue;
    return csv_refusal(file_.path() +
                       ": expected names without line breaks, got '" + name +
                       "'");
  }
  const std::string head =
      std::to_string(step) + "," + internal::time_text(time);
  return layout_ == CsvLayout::kWide
             ? write_wide(head, results)
             : file_.append(to_csv_lines(results, head + ","));
}

}  // namespace tally
