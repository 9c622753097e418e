#include "tally/metrics/classification/counts/multilabel_counts.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/element_counts.h"
#include "tally/metrics/classification/inputs/checks.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

namespace {

// Rows of counts [positions, kElementCounts, 1] with their weights behind the
// counts; that of a NaN is 0.
at::Tensor with_weights(const at::Tensor& counts, const at::Tensor& weight,
                        NanPolicy nan_policy) {
  at::Tensor weights = weight.reshape({-1, 1, 1});
  const at::Tensor total = counts.narrow(1, classification::kTotal, 1);
  const at::Tensor nans = counts.narrow(1, classification::kNans, 1);
  const at::Tensor bad = weights.isnan().logical_and(total.add(nans).gt(0));
  if (nan_policy == NanPolicy::kError) {
    if (const auto index = classification::first_true(bad)) {
      classification::refuse_nan("weight", *index);
    }
  }
  if (nan_policy == NanPolicy::kPropagate) nans.add_(bad);
  weights = weights.masked_fill(weights.isnan(), 0);
  return at::cat({counts.to(at::kDouble), weights}, 1);
}

}  // namespace

MultilabelCounts::State MultilabelCounts::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MultilabelBatch batch(rules_, num_labels_, preds,
                                              target, weight);
  State state;
  if (weight.defined() && samplewise_) {
    classification::refuse_weight("multidim_average samplewise");
  }
  if (weight.defined() && !averages_samples_) {
    if (batch.is_plain()) {
      state.sums = internal::fresh_zeros(
          {classification::kElementCounts, num_labels_}, at::kDouble);
      classification::sum_element_weights(
          batch, state.sums.mutable_data_ptr<double>());
    } else {
      state.sums = classification::count_elements_by_tensors(batch, false);
    }
    return state;
  }
  at::Tensor rows;
  if (averages_samples_) {
    if (batch.is_plain()) {
      rows = internal::fresh_zeros({batch.samples() * batch.positions(),
                                    classification::kElementCounts, 1},
                                   at::kLong);
      classification::count_elements_of_positions(
          batch, rows.mutable_data_ptr<std::int64_t>());
    } else {
      rows = classification::count_positions_by_tensors(batch);
    }
  } else if (batch.is_plain()) {
    c10::SmallVector<std::int64_t, 3> sizes{classification::kElementCounts,
                                            num_labels_};
    if (samplewise_) sizes.insert(sizes.begin(), batch.samples());
    rows = internal::fresh_zeros(sizes, at::kLong);
    classification::count_elements(batch, samplewise_,
                                   rows.mutable_data_ptr<std::int64_t>());
  } else {
    rows = classification::count_elements_by_tensors(batch, samplewise_);
  }
  if (weight.defined()) {
    state.weighted_samples =
        Rows(with_weights(rows, batch.weight(), rules_.nan_policy));
  } else if (samplewise_ || averages_samples_) {
    state.samples = Rows(rows);
  } else {
    state.counts = std::move(rows);
  }
  return state;
}

classification::LabelledSamples classification::samples_of(
    const MultilabelCounts::State& state) {
  const auto layout = CountRows::Layout::kElements;
  const at::Tensor plain = state.samples.tensor();
  const at::Tensor weighted = state.weighted_samples.tensor();
  if (!weighted.defined()) return {{layout, 1, true, plain, {}}, {}};
  at::Tensor counts = weighted.narrow(1, 0, kElementCounts);
  at::Tensor weights = weighted.select(1, kElementCounts).reshape(-1);
  if (plain.defined()) {
    counts = at::cat({counts, plain.to(at::kDouble)});
    weights = at::cat({weights, at::ones({plain.size(0)}, weights.options())});
  }
  return {{layout, 1, true, {}, counts.contiguous()}, weights};
}

}  // namespace tally
