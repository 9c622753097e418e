#include "tally/metrics/detection/counts/detected_pairs.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tally/metrics/detection/inputs/object_columns.h"
#include "tally/metrics/detection/kernels/confused_pairs.h"

namespace tally {
namespace {

namespace detection = internal::detection;
using detection::ObjectColumns;
using detection::ReadRules;

// So many images are worth another thread.
constexpr std::int64_t kGrain = 16;
constexpr std::int64_t kSmallMatrix = 1024;

void check_labels(const ObjectColumns& columns, const ReadRules& rules,
                  std::int64_t num_classes) {
  for (std::size_t image = 0; image < columns.images(); ++image) {
    const auto begin = static_cast<std::size_t>(columns.offsets[image]);
    const auto end = static_cast<std::size_t>(columns.offsets[image + 1]);
    for (std::size_t i = begin; i < end; ++i) {
      TORCH_CHECK_VALUE(
          columns.labels[i] >= 0 && columns.labels[i] < num_classes,
          rules.image(image), ": expected labels in [0, ", num_classes,
          "), got ", columns.labels[i], " for box ", i - begin);
    }
  }
}

Rows joined(const std::vector<std::vector<std::int32_t>>& of_images) {
  std::size_t size = 0;
  for (const auto& own : of_images) size += own.size();
  at::Tensor all = at::empty({static_cast<std::int64_t>(size)}, at::kInt);
  auto* to = all.mutable_data_ptr<std::int32_t>();
  for (const auto& own : of_images) to = std::copy(own.begin(), own.end(), to);
  return Rows(all);
}

}  // namespace

DetectedPairs::State DetectedPairs::observe(
    const ImageObjectsList& preds, const ImageObjectsList& target) const {
  TORCH_CHECK_VALUE(preds.size() == target.size(),
                    "expected preds and target of as many images, got ",
                    preds.size(), " and ", target.size());
  ReadRules found_rules{"preds", /*is_detected=*/true, rules_.format,
                        validate_};
  ReadRules object_rules{"target", /*is_detected=*/false, rules_.format,
                         validate_};
  found_rules.shape = object_rules.shape = rules_.shape;
  std::vector<double> sizes;
  if (rules_.coordinates == BoxCoordinates::kNormalized) {
    sizes = detection::read_image_sizes(target, object_rules);
    found_rules.sizes = object_rules.sizes = &sizes;
  }
  const ObjectColumns found = read_objects(preds, found_rules);
  const ObjectColumns objects = read_objects(target, object_rules);
  if (rules_.shape == ObjectShape::kSegm) {
    check_mask_sizes(found, found_rules, objects, object_rules);
  }
  // Not left to validate_args: labels are places in the matrix.
  check_labels(found, found_rules, rules_.num_classes);
  check_labels(objects, object_rules, rules_.num_classes);
  std::vector<std::vector<std::int32_t>> places(preds.size());
  at::parallel_for(0, static_cast<std::int64_t>(preds.size()), kGrain,
                   [&](std::int64_t begin, std::int64_t end) {
                     detection::ConfusedPairs pairs(rules_, found, objects);
                     for (auto i = static_cast<std::size_t>(begin);
                          i < static_cast<std::size_t>(end); ++i) {
                       pairs.add(i, places[i]);
                     }
                   });
  State state;
  state.num_classes = rules_.num_classes + 1;
  state.pairs = joined(places);
  // A matrix for every batch where it costs next to nothing; else pairs.
  const std::int64_t cells = state.num_classes * state.num_classes;
  if (cells <= std::max(kSmallMatrix, state.pairs.size())) {
    state.counts = state.matrix();
    if (!state.counts.defined()) {
      state.counts =
          at::zeros({state.num_classes, state.num_classes}, at::kLong);
    }
    state.pairs = Rows();
  }
  return state;
}

}  // namespace tally
