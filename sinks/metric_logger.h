#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/results.h"
#include "tally/sinks/sink.h"
#include "tally/sync/communicator.h"

namespace tally {

/// Writes results to sinks as training or evaluation proceeds, from rank 0.
///
/// Every rank makes the same calls. log() computes metrics, which is collective
/// as always; only then, rank 0 writes, and nobody waits for its disk. On the
/// other ranks sinks are neither opened nor written.
///
/// A sink that fails (full disk, no permission) is warned about once and not
/// written to again; it stops neither the program nor other sinks. status() and
/// finish() return its error on rank 0.
///
/// Steps may not fall, and a step may have each name once, in one call or
/// several: c10::ValueError on every rank, before anything is written.
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("accuracy", MulticlassAccuracy(10));
///     MetricLogger logger;
///     logger.add<JsonLinesSink>("log.jsonl");
///     metrics.update(preds, target);
///     logger.log(/*step=*/1, metrics);
///     absl::Status written = logger.finish();
class MetricLogger {
 public:
  /// `ranks`: those that make these calls. Default: the default communicator.
  explicit MetricLogger(Run run = {},
                        std::shared_ptr<sync::Communicator> ranks = nullptr);
  /// finish(), and ignores its status.
  ~MetricLogger();
  MetricLogger(MetricLogger&&) noexcept = default;
  MetricLogger& operator=(MetricLogger&&) = delete;

  /// Adds a sink and opens it, on rank 0; false if that fails, see status().
  /// Throws c10::ValueError after the first write.
  bool add(std::unique_ptr<Sink> sink);
  template <class S, class... Args>
  bool add(Args&&... args) {
    return add(std::make_unique<S>(std::forward<Args>(args)...));
  }
  /// A JsonLinesSink "log.jsonl" and a TensorBoardSink in a folder, which is
  /// created if there is none. `class_names` are class names.
  bool add_folder(const std::string& folder,
                  std::vector<std::string> class_names = {});

  /// Computes the metrics, writes and returns their values. Collective.
  Results log(std::int64_t step, MetricCollection& metrics);
  /// The same for a metric; its results are named `name` or `name.part`.
  Results log(std::int64_t step, const std::string& name, Metric& metric);
  /// Writes results that every rank has, or at least rank 0.
  void write(std::int64_t step, const Results& results);

  /// Writes an image, for sinks that show it: [1, H, W] (gray), [3, H, W] (RGB)
  /// or [4, H, W] (RGBA), uint8 or floating-point in [0, 1]. Of these three,
  /// too, the names are those of the step: rank 0 has what is written, and
  /// another rank may give an undefined tensor. Throws c10::ValueError for
  /// another shape and pixels out of range, and c10::TypeError for other
  /// dtypes, before anything is written.
  void write_image(std::int64_t step, const std::string& name,
                   const at::Tensor& pixels);
  /// Writes a text in UTF-8, such as some predictions; TensorBoard shows it as
  /// Markdown.
  void write_text(std::int64_t step, const std::string& name,
                  const std::string& text);
  /// Writes the distribution of the elements, whatever their shape, such as a
  /// layer's weights. Non-finite values are skipped. Throws c10::TypeError for
  /// complex elements.
  void write_histogram(std::int64_t step, const std::string& name,
                       const at::Tensor& values);

  /// The first error of a sink; always OK on other ranks.
  absl::Status status() const { return status_; }
  /// Stores everything that has been written, and closes the sinks.
  absl::Status finish();

 private:
  void check_step(std::int64_t step) const;
  // Of what is written now; throws before anything is.
  void take_names(std::int64_t step, const std::vector<std::string>& names);
  void write_to_sinks(
      c10::function_ref<absl::Status(Sink& sink, double time)> write);
  // Calls a sink; if it fails, the sink is removed.
  bool attempt(std::unique_ptr<Sink>& sink,
               const std::function<absl::Status(Sink&)>& call);

  Run run_;
  bool writes_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::int64_t step_ = std::numeric_limits<std::int64_t>::min();
  std::set<std::string> names_;  // of that step
  absl::Status status_;
};

}  // namespace tally
