#pragma once

#include <cstdint>
#include <string>

#include "tally/sinks/log_file.h"
#include "tally/sinks/sink.h"

namespace tally {

/// Writes CSV, a line per number:
///
///     step,time,metric,index,value
///     1,1700000000.250,accuracy,,0.8
///     1,1700000000.250,f1,0,0.75
///
/// The last three columns are those of to_csv(). The lines of a step are
/// written at once. When a run begins, a line that was cut off and steps from
/// Run::first_step on are removed, by replacing the file.
///
/// Errors: begin() returns kInvalidArgument for a file that does not begin with
/// that line, write() for names with line breaks; both leave the file as it is.
/// write() throws c10::TypeError for complex results.
///
/// Example:
///     MetricLogger logger;
///     logger.add<CsvSink>("log.csv");
class CsvSink final : public Sink {
 public:
  explicit CsvSink(std::string path) : file_(std::move(path)) {}

  absl::Status begin(const Run& run) override;
  absl::Status write(std::int64_t step, double time,
                     const Results& results) override;
  absl::Status finish() override { return file_.close(); }

 private:
  internal::LogFile file_;
};

}  // namespace tally
