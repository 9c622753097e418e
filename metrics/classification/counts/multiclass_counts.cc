#include "tally/metrics/classification/counts/multiclass_counts.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace internal::classification {
namespace {

template <class Sum>
Sum distance_of(ClassDistance kind, std::int64_t predicted,
                std::int64_t target) {
  const auto steps = static_cast<Sum>(predicted - target);
  switch (kind) {
    case ClassDistance::kNone:
      return 0;
    case ClassDistance::kLinear:
      return steps < 0 ? -steps : steps;
    default:
      return steps * steps;
  }
}

// Counts a pair of classes, `count` times.
template <class Sum>
void add_pair(std::int64_t target, std::int64_t predicted, Sum count,
              std::int64_t classes, ClassDistance distance, Sum* row) {
  if (predicted == target) row[target] += count;
  row[classes + predicted] += count;
  row[2 * classes + target] += count;
  if (distance != ClassDistance::kNone) {
    row[3 * classes + 1] +=
        count * distance_of<Sum>(distance, predicted, target);
  }
}

template <class Sum, class Weight>
void count_into(const MulticlassBatch& batch, std::int64_t step,
                ClassDistance distance, const Weight& weight_at, Sum* data) {
  const std::int64_t classes = batch.rules().num_classes;
  for_each_prediction(batch, [&](std::int64_t index, std::int64_t sample,
                                 std::int64_t predicted, std::int64_t target) {
    Sum weight = 1;
    if (!weight_at(index, weight)) return;
    Sum* const row = data + sample * step;
    if (predicted == kNanClass || weight != weight) {
      ++row[3 * classes];
      return;
    }
    add_pair(target, predicted, weight, classes, distance, row);
  });
}

template <class Sum>
void add_matrix(const at::Tensor& matrix, std::int64_t classes,
                ClassDistance distance, Sum* row) {
  TORCH_CHECK_VALUE(matrix.numel() == classes * classes, "expected ",
                    classes * classes, " counts in the state, got ",
                    matrix.numel());
  const at::Tensor in_order = matrix.cpu().contiguous();
  const Sum* count = in_order.const_data_ptr<Sum>();
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = 0; j < classes; ++j, ++count) {
      if (*count != 0) add_pair(i, j, *count, classes, distance, row);
    }
  }
}

}  // namespace

at::Tensor count_classes(const MulticlassBatch& batch, bool samplewise,
                         ClassDistance distance) {
  const std::int64_t width =
      CountRows::width(CountRows::Layout::kClasses, batch.rules().num_classes);
  if (batch.weight().defined()) {
    at::Tensor sums = fresh_zeros({width}, at::kDouble);
    count_into(
        batch, /*step=*/0, distance,
        [&](std::int64_t index, double& weight) {
          return batch.takes_weight(index, weight);
        },
        sums.mutable_data_ptr<double>());
    return sums;
  }
  c10::SmallVector<std::int64_t, 2> sizes{width};
  if (samplewise) sizes.insert(sizes.begin(), batch.samples());
  at::Tensor counts = fresh_zeros(sizes, at::kLong);
  count_into(
      batch, samplewise ? width : 0, distance,
      [](std::int64_t, std::int64_t&) { return true; },
      counts.mutable_data_ptr<std::int64_t>());
  return counts;
}

at::Tensor count_classes_by_tensors(const MulticlassBatch& batch,
                                    bool samplewise, ClassDistance distance) {
  const PredictionTensors pairs = prediction_tensors(batch);
  const std::int64_t classes = batch.rules().num_classes;
  const auto in_rows = [&](const at::Tensor& labels) {
    return samplewise ? labels : labels.reshape({1, -1});
  };
  const at::Tensor predicted = in_rows(pairs.predicted);
  const at::Tensor target = in_rows(pairs.target);
  const std::int64_t rows = target.size(0);
  const at::Tensor is_nan = predicted.eq(kNanClass);
  // Each kind of count has a place more than there are classes, for positions
  // that do not count.
  const at::Tensor right =
      target.masked_fill(predicted.ne(target), classes).unsqueeze(1);
  const at::Tensor places =
      at::cat({right, predicted.masked_fill(is_nan, classes).unsqueeze(1),
               target.masked_fill(is_nan, classes).unsqueeze(1)},
              1);
  at::Tensor weight = target.eq(target).to(at::kLong);
  if (pairs.weight.defined()) weight = in_rows(pairs.weight);
  at::Tensor counts = at::zeros({rows, 3, classes + 1}, weight.options());
  counts.scatter_add_(2, places, weight.unsqueeze(1).expand_as(places));
  counts = counts.narrow(2, 0, classes).reshape({rows, 3 * classes});
  at::Tensor steps = predicted.sub(target).masked_fill(is_nan, 0);
  if (distance == ClassDistance::kNone) steps = steps.mul(0);
  if (distance == ClassDistance::kLinear) steps = steps.abs();
  if (distance == ClassDistance::kQuadratic) steps = steps.mul(steps);
  counts =
      at::cat({counts, is_nan.sum(1, /*keepdim=*/true).to(counts.scalar_type()),
               steps.mul(weight).sum(1, /*keepdim=*/true)},
              1);
  return samplewise ? counts : counts.squeeze(0);
}

}  // namespace internal::classification

namespace classification = internal::classification;

MulticlassCounts::State MulticlassCounts::derive(
    const MulticlassConfusion::State& pairs) const {
  const std::int64_t classes = rules_.num_classes;
  const std::int64_t width = classification::CountRows::width(
      classification::CountRows::Layout::kClasses, classes);
  State state;
  c10::Device device = c10::kCPU;
  state.counts = internal::fresh_zeros({width}, at::kLong);
  auto* const counts = state.counts.mutable_data_ptr<std::int64_t>();
  counts[3 * classes] = static_cast<std::int64_t>(pairs.nans.value());
  if (pairs.counts.defined()) {
    device = pairs.counts.device();
    classification::add_matrix(pairs.counts, classes, distance_, counts);
  }
  if (pairs.pairs.size() > 0) {
    device = pairs.pairs.tensor().device();
    const at::Tensor places = pairs.pairs.tensor().cpu();
    classification::check_pairs(places, classes);
    const auto* const place = places.const_data_ptr<std::int32_t>();
    for (std::int64_t i = 0; i < places.numel(); ++i) {
      classification::add_pair<std::int64_t>(place[i] / classes,
                                             place[i] % classes, 1, classes,
                                             distance_, counts);
    }
  }
  if (pairs.sums.defined()) {
    state.sums = internal::fresh_zeros({width}, at::kDouble);
    classification::add_matrix(pairs.sums, classes, distance_,
                               state.sums.mutable_data_ptr<double>());
    device = pairs.sums.device();
  }
  if (!device.is_cpu()) {
    state.counts = state.counts.to(device);
    if (state.sums.defined()) state.sums = state.sums.to(device);
  }
  return state;
}

MulticlassCounts::State MulticlassCounts::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MulticlassBatch batch(rules_, preds, target, weight);
  if (samplewise_ && weight.defined()) {
    classification::refuse_weight("multidim_average samplewise");
  }
  State state;
  at::Tensor rows =
      batch.target().is_cpu()
          ? classification::count_classes(batch, samplewise_, distance_)
          : classification::count_classes_by_tensors(batch, samplewise_,
                                                     distance_);
  if (samplewise_) {
    state.samples = Rows(rows);
  } else if (weight.defined()) {
    state.sums = std::move(rows);
  } else {
    state.counts = std::move(rows);
  }
  return state;
}

}  // namespace tally
