#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tally/sinks/log_file.h"
#include "tally/sinks/sink.h"

namespace tally {

/// How CsvSink lays out results.
enum class CsvLayout {
  kLong,  ///< a line for each number
  kWide,  ///< a line for each write, a column for each number
};

/// Writes CSV, a line per number:
///
///     step,time,metric,index,value
///     1,1700000000.250,accuracy,,0.8
///     1,1700000000.250,f1,0,0.75
///
/// or, with CsvLayout::kWide, a line per call of log() or write(), as
/// spreadsheets and data frames take it. Give all results of a step in one:
///
///     step,time,accuracy,f1 0
///     1,1700000000.250,0.8,0.75
///
/// Numbers are those of to_csv(), whose index follows the name in a wide
/// header. A number that earlier steps did not have is a new column behind the
/// others, for which the file is replaced; one that a step lacks is an empty
/// field. The lines of a step are written at once. When a run begins, a line
/// that was cut off and steps from Run::first_step on are removed, by replacing
/// the file.
///
/// Errors: begin() returns kInvalidArgument for a file that does not begin with
/// the first line of this layout, write() for names with line breaks; both
/// leave the file as it is. write() throws c10::TypeError for complex results.
///
/// Example:
///     MetricLogger logger;
///     logger.add<CsvSink>("log.csv", CsvLayout::kWide);
class CsvSink final : public Sink {
 public:
  explicit CsvSink(std::string path, CsvLayout layout = CsvLayout::kLong)
      : file_(std::move(path)), layout_(layout) {}

  absl::Status begin(const Run& run) override;
  absl::Status write(std::int64_t step, double time,
                     const Results& results) override;
  absl::Status finish() override { return file_.close(); }

 private:
  // Names and values, as fields.
  using Cells = std::vector<std::pair<std::string, std::string>>;

  absl::Status read_head(std::string_view line);
  // Adds the columns that are missing.
  absl::Status add_columns(const Cells& cells);
  absl::Status write_wide(const std::string& head, const Results& results);

  internal::LogFile file_;
  CsvLayout layout_;
  std::vector<std::string> columns_;  // of a wide one, behind step and time
};

}  // namespace tally
