#include "tally/metrics/segmentation/states/surface_scores.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/core/shared_work.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::segmentation {
namespace {

SurfaceGeometry geometry_of(const ClassMasks& masks, const SurfaceInputs& how) {
  const auto dims = static_cast<int>(masks.sizes().size());
  TORCH_CHECK_VALUE(dims == 2 || dims == 3,
                    "expected samples of 2 or 3 dimensions, got sizes ",
                    masks.sizes(), " of each");
  SurfaceGeometry geometry;
  geometry.kind = how.kind;
  geometry.distance = how.distance;
  geometry.dims = dims;
  if (how.spacing) {
    TORCH_CHECK_VALUE(static_cast<int>(how.spacing->size()) == dims,
                      "expected samples of ", how.spacing->size(),
                      " dimensions, as spacing has numbers, got sizes ",
                      masks.sizes(), " of each");
    std::copy(how.spacing->begin(), how.spacing->end(),
              geometry.spacing.begin() + (3 - dims));
  }
  return geometry;
}

// With a place more on each side, where there is one.
Box with_margin(Box box, const Extents& extents) {
  for (int axis = 0; axis < 3; ++axis) {
    box.begin[axis] = std::max<std::int64_t>(box.begin[axis] - 1, 0);
    box.end[axis] = std::min(box.end[axis] + 1, extents[axis]);
  }
  return box;
}

BatchSurfaces surfaces_of(const at::Tensor& preds, const at::Tensor& target,
                          const SurfaceInputs& how) {
  const ClassMasks masks(preds, target, how.format);
  const SurfaceGeometry geometry = geometry_of(masks, how);
  BatchSurfaces batch;
  batch.classes = masks.classes();
  batch.nan_samples = masks.nan_samples();
  batch.sizes = masks.sizes().vec();
  const std::int64_t count = masks.samples() * batch.classes;
  batch.cases.resize(static_cast<std::size_t>(count));
  std::vector<std::vector<Box>> boxes(
      static_cast<std::size_t>(masks.samples()));
  at::parallel_for(0, masks.samples(), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t n = begin; n < end; ++n) {
                       boxes[n] = masks.boxes(n);
                     }
                   });
  const auto find = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t n = i / batch.classes, c = i % batch.classes;
      Box box = boxes[n][c];
      if (box.is_empty()) continue;
      if (how.kind == SurfaceKind::kEdge) {
        box = with_margin(box, masks.extents());
      }
      batch.cases[i] = surface_distances(
          masks.preds_mask(n, c, box), masks.target_mask(n, c, box), geometry);
    }
  };
  // Threads have either cases of their own, or a part of each.
  if (count >= at::get_num_threads()) {
    at::parallel_for(0, count, 1, find);
  } else {
    find(0, count);
  }
  return batch;
}

}  // namespace

std::string SurfaceInputs::key() const {
  std::string key = c10::str(
      "surfaces ", static_cast<int>(format.format), ' ', format.num_classes,
      ' ', format.include_background, ' ', static_cast<int>(format.nan_policy),
      ' ', static_cast<int>(kind), ' ', static_cast<int>(distance));
  if (spacing) {
    for (const double along : *spacing) {
      key += ' ' + OptionType<double>::print(along);
    }
  }
  return key;
}

std::shared_ptr<const BatchSurfaces> batch_surfaces(const at::Tensor& preds,
                                                    const at::Tensor& target,
                                                    const SurfaceInputs& how) {
  return SharedWork::of<BatchSurfaces>(how.key(), {preds, target}, [&] {
    return surfaces_of(preds, target, how);
  });
}

SurfaceScoresState sum_cases(const BatchSurfaces& surfaces,
                             const std::vector<double>& scores) {
  const std::int64_t classes = surfaces.classes;
  SurfaceScoresState state;
  state.sums = fresh_zeros({classes}, at::kDouble);
  state.cases = fresh_zeros({3, classes}, at::kLong);
  auto* const sums = state.sums.mutable_data_ptr<double>();
  auto* const cases = state.cases.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto c = static_cast<std::int64_t>(i) % classes;
    const SurfacePair& pair = surfaces.cases[i];
    if (pair.is_absent()) {
      ++cases[2 * classes + c];
    } else if (pair.is_one_sided()) {
      ++cases[classes + c];
    } else {
      sums[c] += scores[i];
      ++cases[c];
    }
  }
  return state;
}

SegmentationScore mean_of_cases(const SurfaceScoresState& state,
                                const CaseValues& values, bool per_class,
                                std::int64_t classes) {
  const std::int64_t count = per_class ? classes : 1;
  std::vector<std::int64_t> sizes;
  if (per_class) sizes.push_back(classes);
  SegmentationScore result{fresh_zeros(sizes, at::kDouble),
                           fresh_zeros(sizes, at::kLong)};
  auto* const means = result.value.mutable_data_ptr<double>();
  auto* const counted = result.cases.mutable_data_ptr<std::int64_t>();
  const at::Tensor sums =
      state.sums.defined() ? state.sums.to(at::kCPU) : at::Tensor();
  const at::Tensor cases =
      state.cases.defined() ? state.cases.to(at::kCPU) : at::Tensor();
  for (std::int64_t c = 0; sums.defined() && c < classes; ++c) {
    const std::int64_t to = per_class ? c : 0;
    const auto* const numbers = cases.const_data_ptr<std::int64_t>() + c;
    means[to] += sums.const_data_ptr<double>()[c];
    counted[to] += numbers[0];
    // 0 times infinity would be NaN.
    if (const std::int64_t one_sided = numbers[classes]; one_sided > 0) {
      means[to] += values.one_sided * static_cast<double>(one_sided);
      counted[to] += one_sided;
    }
    if (values.absent != AbsentClass::kNan) {
      means[to] +=
          value_of(values.absent) * static_cast<double>(numbers[2 * classes]);
      counted[to] += numbers[2 * classes];
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    means[i] = counted[i] == 0 || state.nan_samples > 0
                   ? kNaN
                   : means[i] / static_cast<double>(counted[i]);
  }
  return result;
}

}  // namespace tally::internal::segmentation
