#include "tally/metrics/image/structural_similarity_index_measure.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/metrics/checks.h"
#include "tally/metrics/one_thread_each.h"

namespace tally {

namespace image = internal::image;

image::StructuralRule image::StructuralRule::make(
    const char* metric, double data_range, bool gaussian_kernel, double sigma,
    std::int64_t kernel_size, double k1, double k2, ImageBorder border) {
  check_positive(metric, "data_range", data_range);
  check_positive(metric, "sigma", sigma);
  check_positive(metric, "k1", k1);
  check_positive(metric, "k2", k2);
  TORCH_CHECK_VALUE(kernel_size >= 1 && kernel_size % 2 == 1, metric,
                    ": expected an odd kernel_size, got ", kernel_size);
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
  const std::int64_t least =
      (border == ImageBorder::kReflect ? size / 2 + 1 : size) << halvings;
  const at::IntArrayRef extents = sizes.slice(2);
  TORCH_CHECK_VALUE(*std::min_element(extents.begin(), extents.end()) >= least,
                    "expected images of at least ", least,
                    " pixels in each dimension, for windows of ", size,
                    halvings > 0 ? " in the smallest scale" : "", ", got ",
                    extents);
}

at::Tensor image::StructuralRule::compare(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  const std::int64_t dims = preds.dim() - 2;
  const auto planes = [&](const at::Tensor& images) {
    const at::Tensor flat = images.flatten(0, 1);
    return border == ImageBorder::kValid
               ? flat
               : reflected(flat, static_cast<std::int64_t>(taps.size()) / 2,
                           dims);
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

}  // namespace tally
