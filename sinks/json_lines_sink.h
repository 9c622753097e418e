#pragma once

#include <cstdint>
#include <string>

#include "tally/sinks/log_file.h"
#include "tally/sinks/sink.h"

namespace tally {

/// Writes a JSON object per line: first, and after each restart, one that says
/// what follows, then one per write().
///
///     {"tally_log":1,"run":"digits","command":"...","first_step":0,"time":...}
///     {"step":1,"time":1700000000.25,"results":{"accuracy":0.8}}
///
/// The results are those of to_json(), in full precision; NaN and infinities
/// are strings. Each line is written at once. When a run begins, a line that
/// was cut off and steps from Run::first_step on are removed, by replacing the
/// file.
///
/// Errors of begin(): a file that is not such a log (kInvalidArgument), and one
/// that a newer version of Tally has written (kFailedPrecondition); both stay
/// as they are. write() throws c10::TypeError for complex results.
///
/// Example:
///     MetricLogger logger;
///     logger.add<JsonLinesSink>("log.jsonl");
class JsonLinesSink final : public Sink {
 public:
  /// The format's version.
  static constexpr int kVersion = 1;

  explicit JsonLinesSink(std::string path) : file_(std::move(path)) {}

  absl::Status begin(const Run& run) override;
  absl::Status write(std::int64_t step, double time,
                     const Results& results) override;
  absl::Status finish() override { return file_.close(); }

 private:
  internal::LogFile file_;
  std::string dimensions_ = "{}";  // as last written
};

}  // namespace tally
