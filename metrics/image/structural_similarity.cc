#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/one_thread_each.h"
#include "tally/metrics/image/kernels/structural.h"
#include "tally/metrics/image/kernels/windows.h"
#include "tally/metrics/image/multi_scale_structural_similarity_index_measure.h"
#include "tally/metrics/image/structural_similarity_index_measure.h"
#include "tally/metrics/image/universal_image_quality_index.h"
#include "tally/metrics/image/video_structural_similarity_index_measure.h"
#include "tally/metrics/image/visual_information_fidelity.h"

namespace tally {

namespace image = internal::image;

namespace {

constexpr std::size_t kMostScales = 16;
// The smallest size of images from which visual information is gained, and what
// counts as no variance there.
constexpr std::int64_t kLeastInformed = 41;
constexpr double kNoVariance = 1e-10;

at::Tensor floating(const at::Tensor& images) {
  return images.is_floating_point()
             ? images
             : images.to(images.itemsize() > 2 ? at::kDouble : at::kFloat);
}

at::Tensor halved(const at::Tensor& images) {
  return images.dim() == 4 ? at::avg_pool2d(images, {2, 2})
                           : at::avg_pool3d(images, {2, 2, 2});
}

// Where the base is 0 the gradient of the product is 0, not infinite.
at::Tensor power(const at::Tensor& base, double exponent) {
  const at::Tensor zero = base.detach().eq(0);
  return base.masked_fill(zero, 1).pow(exponent).masked_fill(zero, 0);
}

at::Tensor luma_of(const at::Tensor& images) {
  const at::Tensor weights =
      at::tensor({0.299, 0.587, 0.114}, images.options());
  return images.mul(weights.reshape({1, 3, 1, 1})).sum({1}, /*keepdim=*/true);
}

// Pixel of each row and column.
at::Tensor every_other(const at::Tensor& images) {
  return images.slice(2, c10::nullopt, c10::nullopt, 2)
      .slice(3, c10::nullopt, c10::nullopt, 2);
}

struct Information {
  at::Tensor preds, target;  // [N, C]
  at::Tensor varies;         // whether preds do, bool
};

Information information(const at::Tensor& preds, const at::Tensor& target,
                        const image::Taps& taps, double noise) {
  const auto covariance = [&](const at::Tensor& a, const at::Tensor& b) {
    return image::windowed(a.mul(b), taps)
        .sub(image::windowed(a, taps).mul(image::windowed(b, taps)));
  };
  const at::Tensor tt = covariance(target, target).clamp_min(0);
  const at::Tensor pp = covariance(preds, preds).clamp_min(0);
  const at::Tensor tp = covariance(target, preds);
  const at::Tensor no_target = tt.detach().lt(kNoVariance);
  const at::Tensor no_preds = pp.detach().lt(kNoVariance);
  const at::Tensor gain = tp.div(tt.add(kNoVariance));
  const at::Tensor opposed = gain.detach().lt(0);
  const at::Tensor unlike = no_target.logical_or(opposed);
  const at::Tensor rest = pp.where(unlike, pp.sub(gain.mul(tp)))
                              .masked_fill(no_preds, 0)
                              .clamp_min(kNoVariance);
  const at::Tensor kept = gain.masked_fill(unlike.logical_or(no_preds), 0);
  const at::Tensor source = tt.masked_fill(no_target, 0);
  return {kept.square().mul(source).div(rest.add(noise)).log1p().sum({2, 3}),
          source.div(noise).log1p().sum({2, 3}),
          no_preds.logical_not().flatten(2).any(2)};
}

}  // namespace

image::StructuralRule image::StructuralRule::make(
    const char* metric, double data_range, bool gaussian_kernel, double sigma,
    std::int64_t kernel_size, double k1, double k2, ImageBorder border) {
  check_positive(metric, "data_range", data_range);
  check_positive(metric, "sigma", sigma);
  check_positive(metric, "k1", k1);
  check_positive(metric, "k2", k2);
  TORCH_CHECK_VALUE(kernel_size >= 1 && kernel_size % 2 == 1, metric,
                    ": expected an odd kernel_size, got ", kernel_size);
  check_window_option(metric, "kernel_size", kernel_size);
  const double c1 = k1 * data_range, c2 = k2 * data_range;
  return {gaussian_kernel ? gaussian_taps(kernel_size, sigma)
                          : uniform_taps(kernel_size),
          {c1 * c1, c2 * c2},
          border,
          data_range};
}

void image::StructuralRule::check(Tensors images, std::int64_t halvings) const {
  check_real("preds", images[0]);
  check_real("target", images[1]);
  check_same_shape("preds", images[0], "target", images[1]);
  const at::IntArrayRef sizes = images[0].sizes();
  const bool is_image = sizes.size() == 4 || sizes.size() == 5;
  TORCH_CHECK_VALUE(is_image && sizes[1] > 0,
                    "expected preds and target of shape [N, C, H, W] or "
                    "[N, C, D, H, W], all but N at least 1, got ",
                    sizes);
  const auto size = static_cast<std::int64_t>(taps.size());
  const std::int64_t least = border == ImageBorder::kValid     ? size
                             : border == ImageBorder::kReflect ? size / 2 + 1
                                                               : 1;
  check_extents(images[0], least, size, halvings);
}

at::Tensor image::StructuralRule::compare(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  const std::int64_t dims = preds.dim() - 2;
  const auto planes = [&](const at::Tensor& images) {
    const at::Tensor flat = images.flatten(0, 1);
    if (border == ImageBorder::kValid) return flat;
    const auto half = static_cast<std::int64_t>(taps.size()) / 2;
    return border == ImageBorder::kReflect ? reflected(flat, half, dims)
                                           : zero_padded(flat, half, dims);
  };
  const at::Tensor x = planes(preds), y = planes(target);
  const std::vector<std::int64_t> shape = {preds.size(0), preds.size(1), 2};
  if (dims == 2 || !x.is_cpu() || x.requires_grad() || y.requires_grad()) {
    return structural_similarity(x, y, taps, constants).reshape(shape);
  }
  // LibTorch's means, whose order the number of threads decides.
  at::Tensor means = at::empty({x.size(0), 2}, at::kDouble);
  const auto compare_some = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      means.narrow(0, i, 1).copy_(structural_similarity(
          x.narrow(0, i, 1), y.narrow(0, i, 1), taps, constants));
    }
  };
  if (x.numel() < kSmallImages) {
    compare_some(0, x.size(0));
  } else {
    one_thread_each(x.size(0), compare_some);
  }
  return means.reshape(shape);
}

void StructuralSimilarityIndexMeasureOptions::validate(
    const char* metric) const {
  image::StructuralRule::of(metric, *this);
}

StructuralSimilarity::StructuralSimilarity(const Options& options)
    : rule_(image::StructuralRule::of("StructuralSimilarity", options)) {}

void StructuralSimilarity::check(image::Tensors images) const {
  rule_.check(images);
}

at::Tensor StructuralSimilarity::scores(image::Tensors images) const {
  return rule_.compare(images[0], images[1]).select(2, 0).mean(1);
}

at::Tensor StructuralSimilarityIndexMeasure::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

void MultiScaleStructuralSimilarityIndexMeasureOptions::validate(
    const char* metric) const {
  image::StructuralRule::of(metric, *this);
  TORCH_CHECK_VALUE(!betas_.empty() && betas_.size() <= kMostScales, metric,
                    ": expected 1 to ", kMostScales, " betas, got ",
                    betas_.size());
  for (const double beta : betas_) {
    image::check_positive(metric, "betas", beta);
  }
}

MultiScaleSimilarity::MultiScaleSimilarity(const Options& options)
    : rule_(image::StructuralRule::of("MultiScaleSimilarity", options)),
      betas_(options.betas()),
      normalize_(options.normalize()) {}

void MultiScaleSimilarity::check(image::Tensors images) const {
  rule_.check(images, static_cast<std::int64_t>(betas_.size()) - 1);
}

at::Tensor MultiScaleSimilarity::scores(image::Tensors images) const {
  at::Tensor preds = floating(images[0]), target = floating(images[1]);
  at::Tensor product;
  for (std::size_t i = 0; i < betas_.size(); ++i) {
    if (i > 0) {
      preds = halved(preds);
      target = halved(target);
    }
    const bool is_last = i + 1 == betas_.size();
    at::Tensor factor = rule_.compare(preds, target).select(2, is_last ? 0 : 1);
    if (normalize_ == FactorRule::kRelu) factor = factor.relu();
    if (normalize_ == FactorRule::kSimple) factor = factor.add(1).div(2);
    const at::Tensor raised = power(factor, betas_[i]);
    product = product.defined() ? product.mul(raised) : raised;
  }
  return product.mean(1);
}

at::Tensor MultiScaleStructuralSimilarityIndexMeasure::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

void VideoStructuralSimilarityIndexMeasureOptions::validate(
    const char* metric) const {
  image::StructuralRule::of(metric, *this);
}

FrameSimilarity::FrameSimilarity(const Options& options)
    : rule_(image::StructuralRule::of("FrameSimilarity", options)) {}

void FrameSimilarity::check(image::Tensors images) const {
  rule_.check(images);
}

at::Tensor FrameSimilarity::scores(image::Tensors images) const {
  return rule_.compare(images[0], images[1]).select(2, 0).mean(1);
}

at::Tensor VideoStructuralSimilarityIndexMeasure::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

void UniversalQuality::check(image::Tensors images) const {
  image::check_pairs(images);
  const auto size = static_cast<std::int64_t>(taps_.size());
  image::check_extents(images[0], size, size);
}

at::Tensor UniversalQuality::scores(image::Tensors images) const {
  return image::universal_index(images[0], images[1], taps_).mean(1);
}

at::Tensor UniversalImageQualityIndex::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

void VisualInformationFidelityOptions::validate(const char* metric) const {
  image::check_positive(metric, "data_range", data_range_);
  image::check_positive(metric, "sigma_n_sq", sigma_n_sq_);
}

void VisualInformation::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_extents(images[0], kLeastInformed, kLeastInformed);
  TORCH_CHECK_VALUE(!options_.luma() || images[0].size(1) == 3,
                    "expected images of 3 channels for luma, got ",
                    images[0].size(1));
}

at::Tensor VisualInformation::scores(image::Tensors images) const {
  const auto prepared = [&](const at::Tensor& images_of) {
    const at::Tensor channels =
        options_.luma() ? luma_of(images_of) : images_of;
    const at::Tensor scaled = channels.mul(255 / options_.data_range());
    // Variances do not change, and keep their digits.
    return scaled.sub(scaled.detach().mean({2, 3}, /*keepdim=*/true));
  };
  at::Tensor preds = prepared(images[0]), target = prepared(images[1]);
  Information sums{at::zeros({}, preds.options()),
                   at::zeros({}, preds.options()),
                   at::zeros({}, preds.options().dtype(at::kBool))};
  for (const std::int64_t size : {17, 9, 5, 3}) {
    const image::Taps taps =
        image::gaussian_taps(size, static_cast<double>(size) / 5);
    if (size < 17) {
      preds = every_other(image::windowed(preds, taps));
      target = every_other(image::windowed(target, taps));
    }
    const Information more =
        information(preds, target, taps, options_.sigma_n_sq());
    sums.preds = sums.preds.add(more.preds);
    sums.target = sums.target.add(more.target);
    sums.varies = sums.varies.logical_or(more.varies);
  }
  const at::Tensor none = sums.target.detach().eq(0);
  return sums.preds.div(sums.target.masked_fill(none, 1))
      .masked_fill(none, 1)
      .masked_fill(none.logical_and(sums.varies), 0)
      .mean(1);
}

at::Tensor VisualInformationFidelity::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

template class MetricOf<MultiScaleStructuralSimilarityIndexMeasure,
                        ImageScores<MultiScaleSimilarity>, at::Tensor>;
template class MetricOf<StructuralSimilarityIndexMeasure,
                        ImageScores<StructuralSimilarity>, at::Tensor>;
template class MetricOf<UniversalImageQualityIndex,
                        ImageScores<UniversalQuality>, at::Tensor>;
template class MetricOf<VideoStructuralSimilarityIndexMeasure,
                        FrameScores<FrameSimilarity>, at::Tensor>;
template class MetricOf<VisualInformationFidelity,
                        ImageScores<VisualInformation>, at::Tensor>;

}  // namespace tally
