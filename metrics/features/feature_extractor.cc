#include "tally/metrics/features/feature_extractor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/cat.h>
#include <absl/status/status.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace tally {

FeatureExtractor::FeatureExtractor(Network network,
                                   FeatureExtractorOptions options)
    : network_(std::move(network)), options_(std::move(options)) {
  TORCH_CHECK_VALUE(network_, "FeatureExtractor: expected a network, got none");
  TORCH_CHECK_VALUE(options_.batch_size().value_or(1) > 0,
                    "FeatureExtractor: option 'batch_size': expected at least "
                    "1, got ",
                    options_.batch_size().value_or(1));
}

absl::StatusOr<FeatureExtractor> FeatureExtractor::load(
    const std::string& path, FeatureExtractorOptions options) {
  const at::Device device = options.device().value_or(at::kCPU);
  options.device(device);
  try {
    auto module =
        std::make_shared<torch::jit::Module>(torch::jit::load(path, device));
    module->eval();
    const auto network = [module](const at::Tensor& batch) {
      const c10::IValue features = module->forward({batch});
      TORCH_CHECK_VALUE(features.isTensor(),
                        "FeatureExtractor: expected a network that returns a "
                        "tensor, got ",
                        features.tagKind());
      return features.toTensor();
    };
    return FeatureExtractor(network, std::move(options));
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError("FeatureExtractor: cannot load '" + path +
                                      "': " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError("FeatureExtractor: cannot load '" + path +
                                      "': " + error.what());
  }
}

at::Tensor FeatureExtractor::operator()(const at::Tensor& inputs) const {
  TORCH_CHECK_VALUE(inputs.defined() && inputs.dim() > 0,
                    "FeatureExtractor: expected inputs [N, ...], got ",
                    inputs.defined() ? "one without rows" : "none");
  const at::NoGradGuard no_grad;
  const std::int64_t rows = inputs.size(0);
  const std::int64_t step =
      std::max<std::int64_t>(1, options_.batch_size().value_or(rows));
  if (rows <= step) return features_of(inputs);
  std::vector<at::Tensor> parts;
  for (std::int64_t row = 0; row < rows; row += step) {
    parts.push_back(
        features_of(inputs.narrow(0, row, std::min(step, rows - row))));
  }
  return at::cat(parts);
}

at::Tensor FeatureExtractor::features_of(const at::Tensor& batch) const {
  const at::Tensor features =
      network_(batch.to(options_.device().value_or(batch.device()),
                        options_.dtype().value_or(batch.scalar_type())));
  TORCH_CHECK_VALUE(features.defined() && features.dim() > 0 &&
                        features.size(0) == batch.size(0),
                    "FeatureExtractor: expected features of ", batch.size(0),
                    " rows, got ",
                    features.defined() ? c10::str(features.sizes()) : "none");
  return features.dim() == 1 ? features.unsqueeze(1).detach()
                             : features.flatten(1).detach();
}

}  // namespace tally
