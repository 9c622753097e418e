#include "tally/metrics/classification/counts/element_counts.h"

#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <type_traits>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/classification/kernels/count_kernels.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace internal::classification {
namespace {

// The types that count_kernels.h has loops for.
template <class Pred, class Label>
constexpr bool kHasKernel =
    std::is_same_v<Pred, float>&& std::is_same_v<Label, std::int64_t>;

// What the inner loops need of a batch, in the scores' type.
template <class Pred>
struct ElementRules {
  explicit ElementRules(const BinaryBatch& batch)
      : threshold(static_cast<Pred>(batch.threshold())),
        ignore_index(batch.rules().ignore_index.value_or(0)),
        has_ignore_index(batch.rules().ignore_index.has_value()),
        checks_range(batch.checks_range()),
        refuses_nan(batch.rules().nan_policy == NanPolicy::kError),
        counts_nan(batch.rules().nan_policy == NanPolicy::kPropagate) {}

  Pred threshold;
  std::int64_t ignore_index;
  bool has_ignore_index;
  bool checks_range;
  bool refuses_nan;
  bool counts_nan;
};

// One element without a branch; `refused` if its values need a closer look.
struct Element {
  bool positive;
  bool target;
  bool counted;
  bool nan;
  bool refused;
};

template <class Pred, class Label>
inline Element element(const ElementRules<Pred>& rules, Pred pred,
                       Label label) {
  const auto target = static_cast<std::int64_t>(label);
  const bool kept = !(rules.has_ignore_index && target == rules.ignore_index);
  bool refused = static_cast<std::uint64_t>(target) > 1;
  bool positive;
  bool nan = false;
  if constexpr (std::is_floating_point_v<Pred>) {
    positive = pred > rules.threshold;
    nan = pred != pred;
    refused |= rules.checks_range && (pred < 0 || pred > 1);
    refused |= rules.refuses_nan && nan;
  } else {
    positive = pred != 0;
    refused |= static_cast<std::uint64_t>(pred) > 1;
  }
  return {positive, target == 1, kept && !nan, kept && nan && rules.counts_nan,
          kept && refused};
}

// The elements of one label that follow each other. Whether none is refused.
template <class Pred, class Label>
bool count_run(const ElementRules<Pred>& rules, const Pred* preds,
               const Label* targets, std::int64_t size, std::int64_t* counts,
               std::int64_t stride) {
  std::int64_t tp = 0, predicted = 0, target = 0, total = 0, nans = 0;
  bool refused = false;
  for (std::int64_t i = 0; i < size; ++i) {
    const Element e = element(rules, preds[i], targets[i]);
    tp += e.counted && e.positive && e.target;
    predicted += e.counted && e.positive;
    target += e.counted && e.target;
    total += e.counted;
    nans += e.nan;
    refused |= e.refused;
  }
  counts[kTruePositives * stride] += tp;
  counts[kPredicted * stride] += predicted;
  counts[kTarget * stride] += target;
  counts[kTotal * stride] += total;
  counts[kNans * stride] += nans;
  return !refused;
}

// One element of each label.
template <class Pred, class Label>
bool count_labels(const ElementRules<Pred>& rules, const Pred* preds,
                  const Label* targets, std::int64_t labels,
                  std::int64_t* counts) {
  bool refused = false;
  for (std::int64_t l = 0; l < labels; ++l) {
    const Element e = element(rules, preds[l], targets[l]);
    counts[kTruePositives * labels + l] += e.counted && e.positive && e.target;
    counts[kPredicted * labels + l] += e.counted && e.positive;
    counts[kTarget * labels + l] += e.counted && e.target;
    counts[kTotal * labels + l] += e.counted;
    counts[kNans * labels + l] += e.nan;
    refused |= e.refused;
  }
  return !refused;
}

// Throws what is wrong with a batch of which an element was refused.
void refuse_elements(const BinaryBatch& batch) {
  for_each_element(batch, [](std::int64_t, int, int) {});
}

// Of a mask [samples, labels, positions], or of weights under it, by row and
// label.
at::Tensor sums_by_label(const at::Tensor& mask, const at::Tensor& weight,
                         bool samplewise) {
  const at::Tensor values =
      weight.defined() ? mask.to(at::kDouble).mul(weight) : mask;
  return samplewise ? values.sum(2) : values.sum(at::IntArrayRef({0, 2}));
}

}  // namespace

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

void count_elements(const BinaryBatch& batch, bool samplewise,
                    std::int64_t* counts) {
  const std::int64_t labels = batch.labels();
  const std::int64_t positions = batch.positions();
  const bool fine =
      visit_elements(batch, [&](const auto* preds, const auto* targets) {
        using Pred = std::decay_t<decltype(*preds)>;
        const ElementRules<Pred> rules(batch);
        if (labels == 1 && !samplewise) {
          if constexpr (kHasKernel<Pred, std::decay_t<decltype(*targets)>>) {
            PlainCounts plain;
            if (!rules.has_ignore_index &&
                count_plain_run(preds, targets, batch.size(), rules.threshold,
                                rules.checks_range, plain)) {
              counts[kTruePositives] += plain.tp;
              counts[kPredicted] += plain.predicted;
              counts[kTarget] += plain.target;
              counts[kTotal] += batch.size();
              return true;
            }
          }
          return count_run(rules, preds, targets, batch.size(), counts, 1);
        }
        bool ok = true;
        std::int64_t* row = counts;
        std::int64_t n = 0;
        if constexpr (kHasKernel<Pred, std::decay_t<decltype(*targets)>>) {
          if (!rules.has_ignore_index && !samplewise && positions == 1) {
            n = count_plain_rows(preds, targets, batch.samples(), labels,
                                 rules.threshold, rules.checks_range, counts);
            for (std::int64_t l = 0; l < labels; ++l) {
              counts[kTotal * labels + l] += n;
            }
            preds += n * labels;
            targets += n * labels;
          }
        }
        for (; n < batch.samples(); ++n) {
          if (positions == 1) {
            ok &= count_labels(rules, preds, targets, labels, row);
            preds += labels;
            targets += labels;
          } else {
            for (std::int64_t l = 0; l < labels; ++l) {
              ok &=
                  count_run(rules, preds, targets, positions, row + l, labels);
              preds += positions;
              targets += positions;
            }
          }
          if (samplewise) row += kElementCounts * labels;
        }
        return ok;
      });
  if (!fine) refuse_elements(batch);
}

void count_elements_of_positions(const BinaryBatch& batch,
                                 std::int64_t* counts) {
  const std::int64_t positions = batch.positions();
  const std::int64_t row = batch.labels() * positions;
  for_each_element(batch, [&](std::int64_t index, int predicted, int target) {
    const std::int64_t position = index / row * positions + index % positions;
    std::int64_t* const own = counts + position * kElementCounts;
    if (predicted == kNanElement) {
      ++own[kNans];
      return;
    }
    own[kTruePositives] += predicted & target;
    own[kPredicted] += predicted;
    own[kTarget] += target;
    ++own[kTotal];
  });
}

void sum_element_weights(const BinaryBatch& batch, double* sums) {
  const std::int64_t labels = batch.labels();
  for_each_element(batch, [&](std::int64_t index, int predicted, int target) {
    double weight;
    if (!batch.takes_weight(index, weight)) return;
    double* const own = sums + index / batch.positions() % labels;
    if (predicted == kNanElement || weight != weight) {
      ++own[kNans * labels];
      return;
    }
    own[kTruePositives * labels] += predicted & target ? weight : 0;
    own[kPredicted * labels] += predicted ? weight : 0;
    own[kTarget * labels] += target ? weight : 0;
    own[kTotal * labels] += weight;
  });
}

at::Tensor count_elements_by_tensors(const BinaryBatch& batch,
                                     bool samplewise) {
  const ElementTensors elements = element_tensors(batch);
  const auto shaped = [&](const at::Tensor& mask) {
    return mask.reshape({batch.samples(), batch.labels(), batch.positions()});
  };
  at::Tensor weight;
  at::Tensor kept = shaped(elements.kept);
  at::Tensor nan = shaped(elements.nan);
  if (batch.weight().defined()) {
    const at::Tensor bad =
        batch.weight().isnan().unsqueeze(1).logical_and(kept);
    if (batch.rules().nan_policy == NanPolicy::kError) {
      if (const auto i = first_true(bad.any(1))) refuse_nan("weight", *i);
    }
    if (batch.rules().nan_policy == NanPolicy::kIgnore) {
      kept = kept.logical_and(bad.logical_not());
    }
    nan = nan.logical_or(bad).logical_and(kept);
    weight = batch.weight().nan_to_num(0).unsqueeze(1);
  }
  const at::Tensor counted = kept.logical_and(nan.logical_not());
  const at::Tensor predicted = shaped(elements.predicted).logical_and(counted);
  const at::Tensor target = shaped(elements.target).logical_and(counted);
  const auto sum = [&](const at::Tensor& mask) {
    return sums_by_label(mask, weight, samplewise);
  };
  at::Tensor nans = sums_by_label(nan, {}, samplewise);
  if (weight.defined()) nans = nans.to(at::kDouble);
  return at::stack({sum(predicted.logical_and(target)), sum(predicted),
                    sum(target), sum(counted), nans},
                   samplewise ? 1 : 0);
}

at::Tensor count_positions_by_tensors(const BinaryBatch& batch) {
  const ElementTensors elements = element_tensors(batch);
  const auto by_position = [&](const at::Tensor& mask) {
    return mask.reshape({batch.samples(), batch.labels(), batch.positions()})
        .sum(1)
        .reshape({-1, 1});
  };
  const at::Tensor counted =
      elements.kept.logical_and(elements.nan.logical_not());
  const at::Tensor predicted = elements.predicted.logical_and(counted);
  const at::Tensor target = elements.target.logical_and(counted);
  return at::stack(
      {by_position(predicted.logical_and(target)), by_position(predicted),
       by_position(target), by_position(counted), by_position(elements.nan)},
      1);
}

}  // namespace internal::classification

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

}  // namespace tally
