#include "tally/metrics/image/states/image_scores.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/one_thread_each.h"
#include "tally/metrics/image/states/frame_scores.h"

namespace tally::internal::image {
namespace {

// Scored by one call; what is made of them fits into a core's own cache.
constexpr std::int64_t kSeveralImages = 16384;

// Which images hold NaN, bool [N].
at::Tensor images_with_nan(Tensors images) {
  at::Tensor found;
  for (const at::Tensor& tensor : images) {
    const at::Tensor here = tensor.detach().isnan().flatten(1).any(1);
    found = found.defined() ? found.logical_or(here) : here;
  }
  return found;
}

bool records(Tensors images) {
  if (!at::GradMode::is_enabled()) return false;
  for (const at::Tensor& tensor : images) {
    if (tensor.requires_grad()) return true;
  }
  return false;
}

// NaN and infinity are looked after elsewhere.
void check_range(const char* input, const at::Tensor& images, double range) {
  constexpr double kRounding = 1.01;
  const bool fits_always = images.scalar_type() == at::kByte && range >= 255;
  if (images.numel() == 0 || fits_always) return;
  const auto [least, largest] = at::aminmax(images.detach());
  const double low = least.item<double>(), high = largest.item<double>();
  TORCH_CHECK_VALUE(
      !std::isfinite(high - low) || high - low <= kRounding * range,
      "expected ", input, " within a data_range of ", range,
      ", the difference of the largest and the smallest value "
      "that an image can have, got values from ",
      low, " to ", high);
}

std::vector<at::Tensor> widened(Tensors images) {
  std::vector<at::Tensor> wide;
  for (const at::Tensor& tensor : images)
    wide.push_back(tensor.to(at::kDouble));
  return wide;
}

// Sums of LibTorch depend on the number of threads, unless there is one.
double plain_sum(const ImageMeasure& measure, Tensors images) {
  std::vector<double> scores(static_cast<std::size_t>(images[0].size(0)));
  const auto count = static_cast<std::int64_t>(scores.size());
  const auto keep = [&](std::int64_t first, const at::Tensor& some) {
    const at::Tensor plain = some.contiguous();
    std::copy_n(plain.const_data_ptr<double>(), plain.numel(),
                scores.begin() + first);
  };
  if (measure.takes_any_dtype()) {
    keep(0, measure.scores(images));
  } else {
    std::int64_t most = 0;
    for (const at::Tensor& tensor : images) {
      most = std::max(most, tensor.numel());
    }
    const std::int64_t size =
        measure.takes_several()
            ? std::max<std::int64_t>(kSeveralImages * count / most, 1)
            : 1;
    const auto score = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        const std::int64_t first = part * size;
        std::vector<at::Tensor> some;
        for (const at::Tensor& tensor : images) {
          some.push_back(
              tensor.narrow(0, first, std::min(size, count - first)));
        }
        keep(first, measure.scores(widened(some)));
      }
    };
    const std::int64_t parts = (count + size - 1) / size;
    if (most < kSmallImages) {
      score(0, parts);
    } else {
      one_thread_each(parts, score);
    }
  }
  double sum = 0;
  for (const double score : scores) sum += score;
  return sum;
}

Number sum_of(const ImageMeasure& measure, Tensors images) {
  if (images[0].size(0) == 0) return 0;
  if (!records(images) && images[0].is_cpu()) {
    std::vector<at::Tensor> plain;
    for (const at::Tensor& tensor : images) plain.push_back(tensor.detach());
    return plain_sum(measure, plain);
  }
  return Number(
      measure.scores(measure.takes_any_dtype() ? images.vec() : widened(images))
          .sum());
}

std::vector<at::Tensor> frames_of(Tensors videos) {
  std::vector<at::Tensor> frames;
  for (const at::Tensor& video : videos) frames.push_back(video.flatten(0, 1));
  return frames;
}

}  // namespace

at::Tensor mean_of_each(const at::Tensor& values, at::IntArrayRef dims) {
  if (values.size(0) == 1 || records(values) || !values.is_cpu()) {
    return values.mean(dims);
  }
  std::vector<at::Tensor> means;
  for (std::int64_t n = 0; n < values.size(0); ++n) {
    means.push_back(values.narrow(0, n, 1).mean(dims));
  }
  return at::cat(means);
}

void check_images(const char* input, const at::Tensor& images) {
  check_real(input, images);
  TORCH_CHECK_VALUE(images.dim() == 4 && images.size(1) > 0 &&
                        images.size(2) > 0 && images.size(3) > 0,
                    "expected ", input,
                    " of shape [N, C, H, W], all but N at least 1, got ",
                    images.sizes());
}

void check_pairs(Tensors images) {
  check_images("preds", images[0]);
  check_images("target", images[1]);
  check_same_shape("preds", images[0], "target", images[1]);
}

void check_window_option(const char* metric, const char* option,
                         std::int64_t size) {
  TORCH_CHECK_VALUE(size >= 1, metric, ": expected ", option,
                    " of at least 1, got ", size);
  // No image is as wide, and the weights of a window take memory.
  constexpr std::int64_t kLargest = 65535;
  TORCH_CHECK_VALUE(size <= kLargest, metric, ": expected ", option,
                    " of at most ", kLargest, ", got ", size);
}

void check_positive(const char* metric, const char* option, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value > 0, metric, ": expected ",
                    option, " above 0 and finite, got ", value);
}

ImageScoresState observe_images(const ImageMeasure& measure, Tensors images,
                                const ImageRules& rules) {
  measure.check(images);
  const NanPolicy policy = rules.nan_policy;
  std::vector<at::Tensor> used = images.vec();
  if (policy != NanPolicy::kPropagate && images[0].size(0) > 0) {
    const at::Tensor found = images_with_nan(images);
    if (found.any().item<bool>()) {
      TORCH_CHECK_VALUE(policy != NanPolicy::kError,
                        "expected images without NaN, got some in image ",
                        found.nonzero()[0].item<std::int64_t>());
      const at::Tensor kept = found.logical_not().nonzero().squeeze(1);
      for (at::Tensor& tensor : used) tensor = tensor.index_select(0, kept);
    }
  }
  if (const auto range = measure.data_range(); range && rules.validate_args) {
    check_range("target", used[1], *range);
    if (!used[0].is_floating_point()) check_range("preds", used[0], *range);
  }
  return {sum_of(measure, used), used[0].size(0)};
}

at::Tensor reduced(const ImageScoresState& state, ImageReduction reduction) {
  return reduction == ImageReduction::kSum ? state.sum
                                           : state.sum / Number(state.total);
}

void FrameMeasure::check(Tensors videos) const {
  const char* const inputs[] = {"preds", "target"};
  for (std::size_t i = 0; i < 2; ++i) {
    check_real(inputs[i], videos[i]);
    TORCH_CHECK_VALUE(
        videos[i].dim() == 5 && videos[i].size(1) > 0, "expected ", inputs[i],
        " of shape [N, T, C, H, W], T at least 1, got ", videos[i].sizes());
  }
  check_same_shape("preds", videos[0], "target", videos[1]);
  of_frames_.check(frames_of(videos));
}

at::Tensor FrameMeasure::scores(Tensors videos) const {
  return of_frames_.scores(frames_of(videos))
      .reshape({videos[0].size(0), videos[0].size(1)})
      .mean(1);
}

}  // namespace tally::internal::image
