#include "tally/metrics/classification/counts/multiclass_confusion.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

#include "tally/state/fresh_tensor.h"
#include "tally/state/sole_owner.h"

namespace tally {
namespace internal::classification {
namespace {

// Up to this many entries a matrix for every batch costs next to nothing.
constexpr std::int64_t kSmallMatrix = 1024;

// On the CPU, each pair that counts and the number of NaN.
template <class Count>
std::int64_t for_each_pair(const MulticlassBatch& batch, const Count& count) {
  const std::int64_t classes = batch.rules().num_classes;
  std::int64_t nans = 0;
  for_each_prediction(batch, [&](std::int64_t, std::int64_t,
                                 std::int64_t predicted, std::int64_t target) {
    if (predicted == kNanClass) {
      ++nans;
    } else {
      count(target * classes + predicted);
    }
  });
  return nans;
}

}  // namespace

void check_matrix_classes(const char* metric, std::int64_t num_classes) {
  TORCH_CHECK_VALUE(num_classes >= 2 && num_classes <= kMostMatrixClasses,
                    metric, ": expected num_classes from 2 to ",
                    kMostMatrixClasses, ", got ", num_classes);
}

MulticlassConfusion::State pairs_of(const MulticlassBatch& batch) {
  const std::int64_t classes = batch.rules().num_classes;
  const std::int64_t size = batch.target().numel();
  MulticlassConfusion::State state;
  state.num_classes = classes;
  if (batch.weight().defined()) {
    state.sums = fresh_zeros({classes, classes}, at::kDouble);
    auto* const sums = state.sums.mutable_data_ptr<double>();
    std::int64_t nans = 0;
    for_each_prediction(
        batch, [&](std::int64_t index, std::int64_t, std::int64_t predicted,
                   std::int64_t target) {
          double weight;
          if (!batch.takes_weight(index, weight)) return;
          if (predicted == kNanClass || weight != weight) {
            ++nans;
          } else {
            sums[target * classes + predicted] += weight;
          }
        });
    state.nans = Number(nans);
    return state;
  }
  if (classes * classes <= std::max(kSmallMatrix, size)) {
    state.counts = fresh_zeros({classes, classes}, at::kLong);
    auto* const counts = state.counts.mutable_data_ptr<std::int64_t>();
    state.nans = Number(
        for_each_pair(batch, [=](std::int64_t pair) { ++counts[pair]; }));
    return state;
  }
  at::Tensor pairs = fresh_tensor({size}, at::kInt);
  auto* next = pairs.mutable_data_ptr<std::int32_t>();
  const auto* const begin = next;
  state.nans = Number(for_each_pair(batch, [&](std::int64_t pair) {
    *next++ = static_cast<std::int32_t>(pair);
  }));
  state.pairs =
      Rows(next - begin == size ? pairs : pairs.narrow(0, 0, next - begin));
  return state;
}

MulticlassConfusion::State pairs_by_tensors(const MulticlassBatch& batch) {
  const std::int64_t classes = batch.rules().num_classes;
  const PredictionTensors labels = prediction_tensors(batch);
  const at::Tensor is_nan = labels.predicted.eq(kNanClass);
  // One place more than there are pairs, for positions that do not count.
  const at::Tensor places =
      labels.target.mul(classes)
          .add(labels.predicted)
          .masked_fill(labels.target.eq(classes).logical_or(is_nan),
                       classes * classes)
          .reshape(-1);
  const bool weighted = labels.weight.defined();
  const at::Tensor ones =
      weighted ? labels.weight.reshape(-1) : at::ones_like(places);
  const at::Tensor counts = at::zeros({classes * classes + 1}, ones.options());
  counts.scatter_add_(0, places, ones);
  MulticlassConfusion::State state;
  state.num_classes = classes;
  state.nans = Number(is_nan.sum());
  (weighted ? state.sums : state.counts) =
      counts.narrow(0, 0, classes * classes).reshape({classes, classes});
  return state;
}

void check_pairs(const at::Tensor& pairs, std::int64_t classes) {
  const auto* const begin = pairs.const_data_ptr<std::int32_t>();
  const bool fit = std::all_of(
      begin, begin + pairs.numel(),
      [=](std::int32_t pair) { return pair >= 0 && pair < classes * classes; });
  TORCH_CHECK_VALUE(fit, "expected pairs of ", classes,
                    " classes in the state, got others");
}

void add_pairs(const at::Tensor& counts, const at::Tensor& pairs) {
  check_pairs(pairs, counts.size(0));
  const auto* const begin = pairs.const_data_ptr<std::int32_t>();
  const auto* const end = begin + pairs.numel();
  auto* const data = counts.mutable_data_ptr<std::int64_t>();
  for (const auto* pair = begin; pair != end; ++pair) ++data[*pair];
}

void add_pairs_by_tensors(const at::Tensor& counts, const at::Tensor& pairs) {
  const at::Tensor places = pairs.to(at::kLong);
  counts.view(-1).scatter_add_(0, places, at::ones_like(places));
}

}  // namespace internal::classification

namespace classification = internal::classification;

MulticlassConfusion::State MulticlassConfusion::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MulticlassBatch batch(rules_, preds, target, weight);
  return batch.target().is_cpu() ? classification::pairs_of(batch)
                                 : classification::pairs_by_tensors(batch);
}

at::Tensor MulticlassConfusion::State::matrix(bool in_place) const {
  if (pairs.size() == 0) return counts;
  const at::Tensor more = pairs.tensor();
  at::Tensor sum = counts;
  if (!sum.defined()) {
    sum =
        at::zeros({num_classes, num_classes}, more.options().dtype(at::kLong));
  } else if (!in_place) {
    sum = sum.clone();
  }
  if (more.is_cpu()) {
    classification::add_pairs(sum, more);
  } else {
    classification::add_pairs_by_tensors(sum, more);
  }
  return sum;
}

void MulticlassConfusion::State::compact() {
  if (pairs.size() < std::max(num_classes * num_classes, std::int64_t{1})) {
    return;
  }
  counts =
      matrix(/*in_place=*/counts.defined() && internal::is_sole_owner(counts));
  pairs = Rows();
}

}  // namespace tally
