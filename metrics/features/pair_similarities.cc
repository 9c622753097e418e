#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/features/bert_score.h"
#include "tally/metrics/features/clip_score.h"
#include "tally/metrics/features/inputs/checked_samples.h"
#include "tally/metrics/features/learned_perceptual_image_patch_similarity.h"

namespace tally {
namespace {

// lpips' addend.
constexpr double kLengthEpsilon = 1e-10;

double cosine_sum(const double* a, const double* b, std::int64_t rows,
                  std::int64_t dims) {
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row, a += dims, b += dims) {
    const auto product = [&](const double* x, const double* y) {
      return internal::sum_terms(dims,
                                 [&](std::int64_t i) { return x[i] * y[i]; });
    };
    const double squares = product(a, a) * product(b, b);
    if (squares == 0) continue;
    const double cosine = product(a, b) / std::sqrt(squares);
    if (!(cosine <= 0)) sum += cosine;  // also NaN
  }
  return sum;
}

at::Tensor cosine_sum(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor squares = a.square().sum(1).mul(b.square().sum(1));
  const at::Tensor lengths = squares.masked_fill(squares.eq(0), 1).sqrt();
  return a.mul(b).sum(1).div(lengths).clamp_min(0).sum();
}

// Embeddings of length 1, which of them are tokens, and their weights.
struct Tokens {
  at::Tensor directions;  // [N, L, D]
  at::Tensor mask;        // bool [N, L]
  at::Tensor weight;      // [N, L]; 0 where masked
};

void check_embeddings(const char* input, const at::Tensor& embeddings) {
  internal::check_real(input, embeddings);
  TORCH_CHECK_VALUE(embeddings.dim() == 3, "expected ", input,
                    " of shape [N, tokens, D], got ", embeddings.sizes());
}

void check_tokens(const char* input, const at::Tensor& values,
                  const at::Tensor& embeddings) {
  internal::check_real(input, values);
  TORCH_CHECK_VALUE(values.sizes() == embeddings.sizes().slice(0, 2),
                    "expected ", input, " of shape ",
                    embeddings.sizes().slice(0, 2),
                    ", one for each token, got ", values.sizes());
}

void check_mask(const char* input, const at::Tensor& mask,
                const at::Tensor& embeddings, bool validate) {
  if (!mask.defined()) return;
  internal::check_integral(input, mask);
  check_tokens(input, mask, embeddings);
  if (!validate) return;
  const at::Tensor is_other = mask.ne(0).logical_and(mask.ne(1));
  TORCH_CHECK_VALUE(!is_other.any().item<bool>(), "expected ", input,
                    " of 0 and 1, got ",
                    mask.masked_select(is_other)[0].item<std::int64_t>());
}

void check_weight(const char* input, const at::Tensor& weight,
                  const at::Tensor& embeddings, bool validate) {
  if (!weight.defined()) return;
  check_tokens(input, weight, embeddings);
  if (!validate) return;
  const at::Tensor wide = weight.detach().to(at::kDouble);
  const at::Tensor is_other =
      wide.ge(0).logical_and(wide.isfinite()).logical_not();
  TORCH_CHECK_VALUE(!is_other.any().item<bool>(), "expected ", input,
                    " of finite numbers of at least 0, got ",
                    wide.masked_select(is_other)[0].item<double>());
}

Tokens tokens_of(const at::Tensor& embeddings, const at::Tensor& mask,
                 const at::Tensor& weight) {
  const at::Tensor wide = embeddings.detach().to(at::kDouble);
  const auto sizes = wide.sizes().slice(0, 2);
  Tokens tokens;
  tokens.mask = mask.defined()
                    ? mask.to(wide.device()).ne(0)
                    : at::ones(sizes, wide.options().dtype(at::kBool));
  const at::Tensor inside =
      wide.masked_fill(tokens.mask.logical_not().unsqueeze(2), 0);
  const at::Tensor lengths = inside.square().sum(2, /*keepdim=*/true).sqrt();
  tokens.directions = inside.div(lengths.masked_fill(lengths.eq(0), 1));
  tokens.weight =
      (weight.defined() ? weight.detach().to(wide.device(), at::kDouble)
                        : at::ones(sizes, wide.options()))
          .mul(tokens.mask);
  return tokens;
}

// [N]: the weighted mean of the best similarities [N, L, M] over dimension 2.
at::Tensor mean_of_best(const at::Tensor& similarities, const Tokens& tokens,
                        const Tokens& others) {
  constexpr double kLeast = -internal::kInfinity;
  const at::Tensor best =
      similarities.masked_fill(others.mask.logical_not().unsqueeze(1), kLeast)
          .amax(2);
  const at::Tensor weights = tokens.weight.sum(1);
  const at::Tensor is_none =
      weights.eq(0).logical_or(others.weight.sum(1).eq(0));
  return best.masked_fill(tokens.weight.eq(0), 0)
      .mul(tokens.weight)
      .sum(1)
      .div(weights)
      .masked_fill(is_none, 0);
}

at::Tensor without_padding(const at::Tensor& embeddings,
                           const at::Tensor& mask) {
  return mask.defined()
             ? embeddings.masked_fill(
                   mask.to(embeddings.device()).eq(0).unsqueeze(2), 0)
             : embeddings;
}

// [N, C, P] with a length of 1 in each pixel.
at::Tensor normalized(const at::Tensor& layer) {
  const at::Tensor squares = layer.square().sum(1, /*keepdim=*/true);
  const at::Tensor zero = squares.eq(0);
  const at::Tensor lengths =
      squares.masked_fill(zero, 1).sqrt().add(kLengthEpsilon);
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

void CLIPScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(scale_), metric,
                    ": option 'scale': expected a finite number, got ", scale_);
}

FeatureCosines::State FeatureCosines::observe(
    const at::Tensor& image_features, const at::Tensor& text_features) const {
  internal::check_real("image_features", image_features);
  internal::check_real("text_features", text_features);
  internal::check_same_shape("image_features", image_features, "text_features",
                             text_features);
  TORCH_CHECK_VALUE(image_features.dim() == 2,
                    "expected features of shape [N, D], got ",
                    image_features.sizes());
  const auto [a, b] = internal::features::wide_pairs(
      image_features, text_features, "features", nan_policy_);
  State state;
  state.total = a.size(0);
  state.sum =
      internal::is_plain(a) && internal::is_plain(b)
          ? Number(cosine_sum(a.const_data_ptr<double>(),
                              b.const_data_ptr<double>(), a.size(0), a.size(1)))
          : Number(cosine_sum(a, b));
  return state;
}

at::Tensor CLIPScore::evaluate(const State& state) const {
  return state.sum / state.total * options().scale();
}

void BERTScoreOptions::validate(const char* metric) const {
  for (const double baseline :
       {precision_baseline_, recall_baseline_, f1_baseline_}) {
    TORCH_CHECK_VALUE(baseline < 1, metric,
                      ": expected baselines below 1, got ", baseline);
  }
}

TokenMatches::State TokenMatches::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& preds_mask, const at::Tensor& target_mask,
    const at::Tensor& preds_weight, const at::Tensor& target_weight) const {
  check_embeddings("preds", preds);
  check_embeddings("target", target);
  internal::check_same_device("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      preds.size(0) == target.size(0) && preds.size(2) == target.size(2),
      "expected preds and target of as many texts and "
      "dimensions, got ",
      preds.sizes(), " and ", target.sizes());
  const bool validate = options_.validate_args();
  check_mask("preds_mask", preds_mask, preds, validate);
  check_mask("target_mask", target_mask, target, validate);
  check_weight("preds_weight", preds_weight, preds, validate);
  check_weight("target_weight", target_weight, target, validate);
  const at::Tensor kept = internal::features::rows_without_nan(
      without_padding(preds, preds_mask), without_padding(target, target_mask),
      "embeddings", options_.nan_policy());
  const auto rows = [&](const at::Tensor& all) {
    return kept.defined() && all.defined()
               ? all.index_select(0, kept.to(all.device()))
               : all;
  };
  State state;
  state.total = kept.defined() ? kept.size(0) : preds.size(0);
  if (state.total == 0 || preds.numel() == 0 || target.numel() == 0) {
    return state;
  }
  const Tokens from =
      tokens_of(rows(preds), rows(preds_mask), rows(preds_weight));
  const Tokens to =
      tokens_of(rows(target), rows(target_mask), rows(target_weight));
  const at::Tensor similarities =
      from.directions.bmm(to.directions.transpose(1, 2));
  const at::Tensor precision = mean_of_best(similarities, from, to);
  const at::Tensor recall =
      mean_of_best(similarities.transpose(1, 2), to, from);
  const at::Tensor sum = precision.add(recall);
  state.precision = Number(precision.sum());
  state.recall = Number(recall.sum());
  state.f1 = Number(
      precision.mul(recall).mul(2).div(sum.masked_fill(sum.eq(0), 1)).sum());
  return state;
}

PrecisionRecallF1 BERTScore::evaluate(const State& state) const {
  const auto scaled = [&](const Number& sum, double baseline) {
    return at::Tensor((sum / state.total - baseline) / (1 - baseline));
  };
  return {scaled(state.precision, options().precision_baseline()),
          scaled(state.recall, options().recall_baseline()),
          scaled(state.f1, options().f1_baseline())};
}

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

template class MetricOf<BERTScore, TokenMatches, PrecisionRecallF1,
                        BERTScoreOptions>;
template class MetricOf<CLIPScore, FeatureCosines, at::Tensor,
                        CLIPScoreOptions>;
template class MetricOf<LearnedPerceptualImagePatchSimilarity,
                        PerceptualDistances, at::Tensor>;

}  // namespace tally
