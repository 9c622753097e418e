#include "tally/metrics/detection/states/panoptic_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/state/number.h"

namespace tally {
namespace {

namespace detection = internal::detection;
using detection::PanopticImage;
using detection::PanopticTally;

void check_inputs(const at::Tensor& preds, const at::Tensor& target,
                  const at::Tensor& crowd) {
  internal::check_integral("preds", preds);
  internal::check_integral("target", target);
  internal::check_same_shape("preds", preds, "target", target);
  TORCH_CHECK_VALUE(preds.dim() >= 3 && preds.size(-1) == 2,
                    "expected preds and target of shape [N, ..., 2], the "
                    "category and the instance of each pixel, got ",
                    preds.sizes());
  if (!crowd.defined()) return;
  internal::check_integral("crowd", crowd);
  TORCH_CHECK_VALUE(crowd.sizes() == preds.sizes().slice(0, preds.dim() - 1),
                    "expected crowd of shape ",
                    preds.sizes().slice(0, preds.dim() - 1),
                    ", a flag for each pixel of target, got ", crowd.sizes());
}

at::Tensor plain(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.to(at::kCPU, dtype).contiguous();
}

// What a class has, for the state.
PanopticState state_of(const std::vector<PanopticTally>& tallies) {
  const auto classes = static_cast<std::int64_t>(tallies.size());
  PanopticState state{at::empty({2, classes}, at::kDouble),
                      at::empty({4, classes}, at::kLong)};
  double* sums = state.sums.mutable_data_ptr<double>();
  auto* counts = state.counts.mutable_data_ptr<std::int64_t>();
  for (const PanopticTally& tally : tallies) {
    sums[0] = tally.matched_iou;
    sums[classes] = tally.iou;
    counts[0] = tally.tp;
    counts[classes] = tally.fp;
    counts[2 * classes] = tally.fn;
    counts[3 * classes] = tally.segments;
    ++sums;
    ++counts;
  }
  return state;
}

void add(const PanopticTally& from, PanopticTally& to) {
  to.matched_iou += from.matched_iou;
  to.iou += from.iou;
  to.tp += from.tp;
  to.fp += from.fp;
  to.fn += from.fn;
  to.segments += from.segments;
}

// The mean of what is not NaN.
double mean_of(const std::vector<double>& values) {
  double sum = 0;
  std::int64_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? internal::kNaN : sum / static_cast<double>(count);
}

}  // namespace

PanopticState PanopticCounts::observe(const at::Tensor& preds,
                                      const at::Tensor& target,
                                      const at::Tensor& crowd) const {
  check_inputs(preds, target, crowd);
  const std::int64_t images = preds.size(0);
  const at::Tensor found = plain(preds, at::kLong);
  const at::Tensor objects = plain(target, at::kLong);
  const at::Tensor crowds =
      crowd.defined() ? plain(crowd.ne(0), at::kByte) : at::Tensor();
  const std::int64_t pixels = images == 0 ? 0 : found.numel() / (2 * images);
  struct Tallies {
    std::vector<PanopticTally> classes;
    std::optional<std::int64_t> unknown;
  };
  std::vector<Tallies> of_images(static_cast<std::size_t>(images));
  at::parallel_for(0, images, 1, [&](std::int64_t begin, std::int64_t end) {
    detection::SegmentMatcher matcher(categories_);
    for (std::int64_t i = begin; i < end; ++i) {
      const PanopticImage image{
          found.const_data_ptr<std::int64_t>() + 2 * i * pixels,
          objects.const_data_ptr<std::int64_t>() + 2 * i * pixels,
          crowds.defined() ? crowds.const_data_ptr<std::uint8_t>() + i * pixels
                           : nullptr,
          pixels};
      Tallies& tallies = of_images[static_cast<std::size_t>(i)];
      tallies.classes.resize(categories_.size());
      tallies.unknown = matcher.match(image, tallies.classes);
    }
  });
  std::vector<PanopticTally> sums(categories_.size());
  for (std::size_t i = 0; i < of_images.size(); ++i) {
    TORCH_CHECK_VALUE(allow_unknown_ || !of_images[i].unknown,
                      "expected categories of preds among things and stuffs, "
                      "got ",
                      of_images[i].unknown.value_or(0), " in image ", i,
                      " (see allow_unknown_preds_category)");
    for (std::size_t k = 0; k < sums.size(); ++k) {
      add(of_images[i].classes[k], sums[k]);
    }
  }
  return state_of(sums);
}

Results detection::panoptic_results(const PanopticRates& rates,
                                    const PanopticQualityOptions& options) {
  std::vector<double> pq, sq, rq;
  for (std::int64_t k = 0; rates.iou.defined() && k < rates.iou.numel(); ++k) {
    const double iou = rates.iou[k].item<double>();
    const auto tp = static_cast<double>(rates.tp[k].item<std::int64_t>());
    const auto wrong = static_cast<double>(rates.fp[k].item<std::int64_t>() +
                                           rates.fn[k].item<std::int64_t>());
    const double all = tp + wrong / 2;
    pq.push_back(all > 0 ? iou / all : internal::kNaN);
    sq.push_back(all > 0 ? (tp > 0 ? iou / tp : 0) : internal::kNaN);
    rq.push_back(all > 0 ? tp / all : internal::kNaN);
  }
  const std::vector<std::int64_t> classes = options.categories();
  if (!rates.iou.defined()) {
    for (auto* values : {&pq, &sq, &rq})
      values->assign(classes.size(), internal::kNaN);
  }
  Results results;
  const auto add_part = [&](const char* name,
                            const std::vector<double>& values) {
    results.add(name,
                options.return_per_class()
                    ? at::tensor(values, at::kDouble)
                    : internal::scalar_tensor(mean_of(values)),
                {Dimension::kListedClass});
  };
  add_part("pq", pq);
  if (options.return_sq_and_rq()) {
    add_part("sq", sq);
    add_part("rq", rq);
  }
  if (options.return_per_class()) {
    results.add("classes", at::tensor(classes, at::kLong),
                {Dimension::kListedClass});
  }
  return results;
}

}  // namespace tally
