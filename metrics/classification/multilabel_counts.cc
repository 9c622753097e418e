#include "tally/metrics/classification/multilabel_counts.h"

#include <ATen/ops/zeros.h>

#include "tally/metrics/classification/binary_counts.h"
#include "tally/metrics/classification/element_counts.h"

namespace tally {

MultilabelCounts::State MultilabelCounts::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const internal::MultilabelBatch batch(rules_, num_labels_, preds, target,
                                        weight);
  State state;
  if (weight.defined()) {
    if (samplewise_) internal::refuse_weight("multidim_average samplewise");
    if (averages_samples_) internal::refuse_weight("average samples");
    if (batch.is_plain()) {
      state.sums =
          at::zeros({internal::kElementCounts, num_labels_}, at::kDouble);
      internal::sum_element_weights(batch,
                                    state.sums.mutable_data_ptr<double>());
    } else {
      state.sums = internal::count_elements_by_tensors(batch, false);
    }
    return state;
  }
  at::Tensor rows;
  if (averages_samples_) {
    if (batch.is_plain()) {
      rows = at::zeros(
          {batch.samples() * batch.positions(), internal::kElementCounts, 1},
          at::kLong);
      internal::count_elements_of_positions(
          batch, rows.mutable_data_ptr<std::int64_t>());
    } else {
      rows = internal::count_positions_by_tensors(batch);
    }
  } else if (batch.is_plain()) {
    c10::SmallVector<std::int64_t, 3> sizes{internal::kElementCounts,
                                            num_labels_};
    if (samplewise_) sizes.insert(sizes.begin(), batch.samples());
    rows = internal::fresh_counts(sizes);
    internal::count_elements(batch, samplewise_,
                             rows.mutable_data_ptr<std::int64_t>());
  } else {
    rows = internal::count_elements_by_tensors(batch, samplewise_);
  }
  if (samplewise_ || averages_samples_) {
    state.samples = Rows(rows);
  } else {
    state.counts = std::move(rows);
  }
  return state;
}

}  // namespace tally
