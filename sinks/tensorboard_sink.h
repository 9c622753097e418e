#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/sinks/log_file.h"
#include "tally/sinks/sink.h"

namespace tally {

namespace internal {
class Message;
}

/// Writes TensorBoard's event files: `tensorboard --logdir FOLDER` shows them.
///
/// A single number is a scalar, named like the result; a vector of up to 32
/// elements a scalar for each, "f1/0" (or with a label, "f1/cat"); other
/// tensors are a histogram of their elements, and a square matrix also an image
/// of the rows in percent, from 0 (dark) to 100 (bright). Scalars are stored in
/// float32, as TensorBoard's own writers do. Undefined results, and histograms
/// of no finite number, are skipped.
///
/// Results "a", "a.low" and "a.high", such as those of Intervals::results(),
/// are also a chart of the values with the band between their bounds, under
/// "Custom scalars". The parts `precision`, `recall` and `thresholds` of a
/// curve are a PR curve, at 201 equally spaced thresholds; TensorBoard asks for
/// counts, which the parts do not tell: they are those per million positives,
/// and none of true negatives. Curves of scores outside of [0, 1] are skipped.
///
/// Images are PNG files, without compression; texts are Markdown; histograms
/// have 30 buckets of equal width between the least and the greatest finite
/// number.
///
/// begin() creates a new file in the folder, which it creates if there is none:
/// "events.out.tfevents.SECONDS.HOST.PID.NUMBER", sorted behind the others by
/// name. It declares the start of a session at Run::first_step, at which
/// TensorBoard's readers drop what earlier files have for this step and later
/// ones. The events of a step are written at once.
///
/// Errors: write() throws c10::TypeError for complex results.
///
/// Example:
///     MetricLogger logger;
///     logger.add<TensorBoardSink>("runs/digits");
class TensorBoardSink final : public Sink {
 public:
  /// `class_names` are class names, for vectors of that size.
  explicit TensorBoardSink(std::string folder,
                           std::vector<std::string> class_names = {})
      : folder_(std::move(folder)), class_names_(std::move(class_names)) {}

  absl::Status begin(const Run& run) override;
  absl::Status write(std::int64_t step, double time,
                     const Results& results) override;
  absl::Status write_image(std::int64_t step, double time,
                           const std::string& name,
                           const at::Tensor& pixels) override;
  absl::Status write_text(std::int64_t step, double time,
                          const std::string& name,
                          const std::string& text) override;
  absl::Status write_histogram(std::int64_t step, double time,
                               const std::string& name,
                               const at::Tensor& values) override;
  absl::Status finish() override;

  /// The path of the file; empty before begin().
  std::string path() const { return file_ ? file_->path() : ""; }

 private:
  absl::Status append(std::int64_t step, double time,
                      const internal::Message& summary);

  std::string folder_;
  std::vector<std::string> class_names_;
  std::vector<std::string> charts_;  // tags that have bounds
  std::unique_ptr<internal::LogFile> file_;
};

}  // namespace tally
