#pragma once

#include <ATen/core/Tensor.h>
#include <absl/status/statusor.h>
#include <torch/arg.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tally {

/// Options of FeatureExtractor.
struct FeatureExtractorOptions {
  /// The number of rows that the network takes at a time. Default: none, all.
  TORCH_ARG(std::optional<std::int64_t>, batch_size) = std::nullopt;
  /// Where the network is: inputs are moved there, and features stay there.
  /// Default: none, which leaves inputs where they are.
  TORCH_ARG(std::optional<at::Device>, device) = std::nullopt;
  /// The dtype of the network's inputs. Default: none, which leaves them as
  /// they are.
  TORCH_ARG(std::optional<at::ScalarType>, dtype) = std::nullopt;
};

/// A network that extracts features from images, token ids or any other
/// tensors, for the metrics of this domain: any function of a tensor, or a
/// TorchScript file.
///
/// It runs without gradients, in batches of its own size, and on its own
/// device. Its output [N, ...] is flattened to [N, D].
/// Errors: c10::ValueError for inputs without rows, for a batch_size below 1,
/// and if the network does not return one row for each row of its input.
/// Thread-safe if the network is.
///
/// Example:
///     FeatureExtractor extractor(
///         [](const at::Tensor& images) { return images.mean({2, 3}); },
///         FeatureExtractorOptions().batch_size(32));
///     FrechetInceptionDistance fid;
///     fid.update(extractor(at::rand({100, 3, 8, 8})), true);
///     fid.update(extractor(at::rand({100, 3, 8, 8})), false);
class FeatureExtractor {
 public:
  using Network = std::function<at::Tensor(const at::Tensor&)>;

  explicit FeatureExtractor(Network network,
                            FeatureExtractorOptions options = {});
  /// A network saved by torch.jit.save(), in evaluation mode and on the
  /// options' device, or the CPU. An error if the file cannot be read.
  static absl::StatusOr<FeatureExtractor> load(
      const std::string& path, FeatureExtractorOptions options = {});

  /// Features [N, D] of inputs [N, ...].
  at::Tensor operator()(const at::Tensor& inputs) const;

  const FeatureExtractorOptions& options() const { return options_; }

 private:
  at::Tensor features_of(const at::Tensor& batch) const;

  Network network_;
  FeatureExtractorOptions options_;
};

}  // namespace tally
