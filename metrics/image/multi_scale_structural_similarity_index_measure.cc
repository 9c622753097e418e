#include "tally/metrics/image/multi_scale_structural_similarity_index_measure.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/relu.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <cstddef>

namespace tally {

namespace image = internal::image;

namespace {

constexpr std::size_t kMostScales = 16;

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

}  // namespace

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

}  // namespace tally
