#include "tally/metrics/classification/counts/binary_counts.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

BinaryCounts::State BinaryCounts::observe(const at::Tensor& preds,
                                          const at::Tensor& target,
                                          const at::Tensor& weight) const {
  const classification::BinaryBatch batch(rules_, preds, target, weight);
  State state;
  if (samplewise_) {
    if (weight.defined())
      classification::refuse_weight("multidim_average samplewise");
    at::Tensor rows;
    if (batch.is_plain()) {
      rows = internal::fresh_zeros(
          {batch.samples(), classification::kElementCounts, 1}, at::kLong);
      classification::count_elements(batch, /*samplewise=*/true,
                                     rows.mutable_data_ptr<std::int64_t>());
    } else {
      rows =
          classification::count_elements_by_tensors(batch, /*samplewise=*/true);
    }
    state.samples = Rows(rows);
  } else if (!batch.is_plain()) {
    (weight.defined() ? state.sums : state.device_counts) =
        classification::count_elements_by_tensors(batch, /*samplewise=*/false)
            .squeeze(1);
  } else if (weight.defined()) {
    state.sums =
        internal::fresh_zeros({classification::kElementCounts}, at::kDouble);
    classification::sum_element_weights(batch,
                                        state.sums.mutable_data_ptr<double>());
  } else {
    classification::count_elements(batch, /*samplewise=*/false, state.counts);
  }
  return state;
}

namespace internal::classification {

void refuse_weight(const char* option) {
  TORCH_CHECK_VALUE(false, "expected no weight with ", option);
}

CountRows rows_of(const BinaryCounts::State& state,
                  MultidimAverage multidim_average) {
  if (multidim_average == MultidimAverage::kSamplewise) {
    return {CountRows::Layout::kElements, 1, true, state.samples.tensor(), {}};
  }
  if (state.device_counts.defined()) {
    at::Tensor counts = fresh_zeros({kElementCounts}, at::kLong);
    std::copy_n(state.counts, int{kElementCounts},
                counts.mutable_data_ptr<std::int64_t>());
    counts = counts.to(state.device_counts.device()).add(state.device_counts);
    return {CountRows::Layout::kElements, 1, false, counts, state.sums};
  }
  return {CountRows::Layout::kElements, 1, state.counts, state.sums};
}

}  // namespace internal::classification
}  // namespace tally
