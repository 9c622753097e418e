#pragma once

#include <ATen/core/Tensor.h>
#include <absl/status/status.h>

#include <cstdint>
#include <string>

#include "tally/metrics/results.h"

namespace tally {

/// What a sink records of the program that writes to it.
struct Run {
  /// A name for the run. Default: empty.
  std::string id;
  /// The command that started it. Default: empty.
  std::string command;
  /// The first step that will be written. If the log already has this step or
  /// later ones, of a run that was interrupted or is repeated, they are
  /// dropped: a run that continues from a checkpoint passes its step, and no
  /// step occurs twice. Default: 0, everything is new.
  std::int64_t first_step = 0;
  /// Seconds since 1970. Default: 0; MetricLogger fills in the current time.
  double time = 0;
};

/// A destination of results: a file, a terminal.
///
/// begin() comes first and once, then any number of write() with rising steps,
/// then finish(). Nothing is opened or changed before begin(). A full disk or a
/// folder without permission is an absl::Status that names the file, never an
/// exception; a sink that returned one is not written to again. Results that a
/// format cannot represent are an error that writes nothing of that step.
///
/// MetricLogger calls a sink on rank 0 only; a sink itself knows no ranks.
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     struct LossOnly final : Sink {
///       absl::Status begin(const Run&) override { return absl::OkStatus(); }
///       absl::Status write(std::int64_t step, double,
///                          const Results& results) override {
///         std::cerr << step << ' ' << results["loss"] << '\n';
///         return absl::OkStatus();
///       }
///       absl::Status finish() override { return absl::OkStatus(); }
///     };
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual absl::Status begin(const Run& run) = 0;
  /// `time` is in seconds since 1970.
  virtual absl::Status write(std::int64_t step, double time,
                             const Results& results) = 0;
  /// An image of MetricLogger::write_image(), a text and a distribution:
  /// nothing by default, as few sinks can show them.
  virtual absl::Status write_image(std::int64_t /*step*/, double /*time*/,
                                   const std::string& /*name*/,
                                   const at::Tensor& /*pixels*/) {
    return absl::OkStatus();
  }
  virtual absl::Status write_text(std::int64_t /*step*/, double /*time*/,
                                  const std::string& /*name*/,
                                  const std::string& /*text*/) {
    return absl::OkStatus();
  }
  virtual absl::Status write_histogram(std::int64_t /*step*/, double /*time*/,
                                       const std::string& /*name*/,
                                       const at::Tensor& /*values*/) {
    return absl::OkStatus();
  }
  /// Everything is stored when it returns OK.
  virtual absl::Status finish() = 0;
};

}  // namespace tally
