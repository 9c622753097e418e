#include "tally/metrics/features/learned_perceptual_image_patch_similarity.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "tally/metrics/checks.h"
#include "tally/metrics/features/inputs/pairs.h"

namespace tally {
namespace {

// lpips' addend.
constexpr double kEpsilon = 1e-10;

// [N, C, P] with a length of 1 in each pixel.
at::Tensor normalized(const at::Tensor& layer) {
  const at::Tensor squares = layer.square().sum(1, /*keepdim=*/true);
  const at::Tensor zero = squares.eq(0);
  const at::Tensor lengths = squares.masked_fill(zero, 1).sqrt().add(kEpsilon);
  return layer.div(lengths).masked_fill(zero, 0);
}

void check_sizes(const char* metric, const char* option,
                 const std::vector<std::int64_t>& sizes) {
  TORCH_CHECK_VALUE(
      !sizes.empty() && *std::min_element(sizes.begin(), sizes.end()) > 0,
      metric, ": option '", option,
      "': expected a size of at least 1 for each layer, got ", sizes);
}

}  // namespace

void LearnedPerceptualImagePatchSimilarityOptions::validate(
    const char* metric) const {
  check_sizes(metric, "channels", channels_);
  check_sizes(metric, "pixels", pixels_);
  TORCH_CHECK_VALUE(channels_.size() == pixels_.size(), metric,
                    ": option 'pixels': expected as many layers as channels "
                    "has, ",
                    channels_.size(), ", got ", pixels_.size());
  const auto all = static_cast<std::size_t>(
      std::accumulate(channels_.begin(), channels_.end(), std::int64_t{0}));
  TORCH_CHECK_VALUE(weights_.empty() || weights_.size() == all, metric,
                    ": option 'weights': expected one for each of ", all,
                    " channels, got ", weights_.size());
  for (const double weight : weights_) {
    TORCH_CHECK_VALUE(std::isfinite(weight), metric,
                      ": option 'weights': expected finite numbers, got ",
                      weight);
  }
}

PerceptualDistances::State PerceptualDistances::observe(
    const at::Tensor& preds, const at::Tensor& target) const {
  internal::check_real("preds", preds);
  internal::check_real("target", target);
  internal::check_same_shape("preds", preds, "target", target);
  const auto& channels = options_.channels();
  const auto& pixels = options_.pixels();
  const std::int64_t columns = std::inner_product(
      channels.begin(), channels.end(), pixels.begin(), std::int64_t{0});
  TORCH_CHECK_VALUE(preds.dim() == 2 && preds.size(1) == columns,
                    "expected layers of shape [N, ", columns,
                    "], all channels and pixels of an image, got ",
                    preds.sizes());
  const auto [a, b] =
      internal::features::wide_pairs(preds, target, "layers", nan_policy_);
  State state;
  state.total = a.size(0);
  std::int64_t column = 0;
  std::size_t channel = 0;
  for (std::size_t layer = 0; layer < channels.size(); ++layer) {
    const std::int64_t size = channels[layer] * pixels[layer];
    const auto layer_of = [&](const at::Tensor& rows) {
      return normalized(
          rows.narrow(1, column, size)
              .reshape({rows.size(0), channels[layer], pixels[layer]}));
    };
    at::Tensor distances =
        layer_of(a).sub(layer_of(b)).square().sum(at::IntArrayRef({0, 2}));
    if (!options_.weights().empty()) {
      const auto from =
          options_.weights().begin() + static_cast<std::ptrdiff_t>(channel);
      const std::vector<double> weights(from, from + channels[layer]);
      distances = distances.mul(at::tensor(weights, distances.options()));
    }
    state.sum += Number(distances.sum()) / static_cast<double>(pixels[layer]);
    column += size;
    channel += static_cast<std::size_t>(channels[layer]);
  }
  return state;
}

at::Tensor flatten_layers(const std::vector<at::Tensor>& layers) {
  TORCH_CHECK_VALUE(!layers.empty(), "expected layers, got none");
  std::vector<at::Tensor> rows;
  for (const at::Tensor& layer : layers) {
    internal::check_real("layers", layer);
    TORCH_CHECK_VALUE(
        layer.dim() == 4 && layer.size(0) == layers.front().size(0),
        "expected layers of shape [N, C, H, W], N as in the first, got ",
        layer.sizes(), " and ", layers.front().sizes());
    rows.push_back(layer.flatten(1));
  }
  return at::cat(rows, 1);
}

at::Tensor LearnedPerceptualImagePatchSimilarity::evaluate(
    const State& state) const {
  return state.sum / state.total;
}

}  // namespace tally
