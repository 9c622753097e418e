#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tally/sinks/sink.h"

namespace tally {

/// Prints a line per step, with the results that are single numbers:
///
///       step    accuracy        f1
///          1    0.827778  0.825511
///          2    0.883333  0.882096
///
/// and at the end all results of the last step, as to_table() shows them. The
/// names are printed again when they change.
///
/// Errors: kUnavailable if the stream fails.
///
/// Example:
///     MetricLogger logger;
///     logger.add<TableSink>(std::cerr);
class TableSink final : public Sink {
 public:
  /// `out` must outlive the sink; `class_names` are class names, as in
  /// to_table().
  explicit TableSink(std::ostream& out,
                     std::vector<std::string> class_names = {})
      : out_(out), class_names_(std::move(class_names)) {}

  absl::Status begin(const Run& run) override;
  absl::Status write(std::int64_t step, double time,
                     const Results& results) override;
  absl::Status finish() override;

 private:
  absl::Status status() const;

  std::ostream& out_;
  std::vector<std::string> class_names_;
  std::vector<std::string> names_;  // of the columns printed last
  Results last_;
};

}  // namespace tally
