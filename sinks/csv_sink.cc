#include "tally/sinks/csv_sink.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
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
  for (const auto& [name, value] : cells) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    all.push_back(name);
    names += "," + name;
    commas += ",";
  }
  if (names.empty()) return absl::OkStatus();
  const absl::Status written = file_.rewrite([&](std::string_view old) {
    std::string text;
    for (std::size_t end; (end = old.find('\n')) != old.npos;) {
      text += old.substr(0, end);
      text += text.find('\n') == text.npos ? names : commas;
      text += '\n';
      old.remove_prefix(end + 1);
    }
    return text;
  });
  if (written.ok()) columns_ = std::move(all);
  return written;
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
  if (layout_ == CsvLayout::kLong) {
    return file_.append(to_csv_lines(results, head + ","));
  }
  Cells cells;
  for (const auto& [name, value] : results) {
    Results one;
    one.add("", value);
    const std::string lines = to_csv_lines(one, "");
    std::string_view rest = lines;
    for (std::size_t end; (end = rest.find('\n')) != rest.npos;) {
      const std::vector<std::string> fields = fields_of(rest.substr(0, end));
      const std::string& index = fields[1];
      cells.emplace_back(csv_field(index.empty() ? name : name + " " + index),
                         value.defined() ? fields[2] : "");
      rest.remove_prefix(end + 1);
    }
  }
  const absl::Status added = add_columns(cells);
  if (!added.ok()) return added;
  std::string line = head;
  for (const std::string& column : columns_) {
    const auto cell =
        std::find_if(cells.begin(), cells.end(),
                     [&](const auto& each) { return each.first == column; });
    line += "," + (cell == cells.end() ? "" : cell->second);
  }
  return file_.append(line + "\n");
}

}  // namespace tally
