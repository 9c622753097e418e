#include "tally/metrics/classification/group_fairness.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/classification/counts/element_counts.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace internal::classification {
namespace {

[[noreturn]] void refuse_group(std::int64_t group, std::int64_t position,
                               std::int64_t num_groups) {
  TORCH_CHECK_INDEX(false, "expected groups in [0, ", num_groups, "), got ",
                    group, " at position ", position);
}

CountRows groups_of(const BinaryGroupCounts::State& state,
                    std::int64_t num_groups) {
  return {CountRows::Layout::kElements, num_groups, false, state.counts, {}};
}

struct Extremes {
  at::Tensor ratio;
  at::Tensor groups;
};

Extremes extremes(const CountRows& rows, ClassValue value) {
  const at::Tensor on_device = rows.averages(Average::kNone, value);
  const at::Tensor rates = on_device.cpu();
  const auto* const data = rates.const_data_ptr<double>();
  std::int64_t low = -1;
  std::int64_t high = -1;
  std::int64_t compared = 0;
  for (std::int64_t g = 0; g < rates.numel(); ++g) {
    if (std::isnan(data[g])) continue;
    ++compared;
    if (low < 0 || data[g] < data[low]) low = g;
    if (high < 0 || data[g] > data[high]) high = g;
  }
  Extremes result{at::Tensor(at::detail::empty_cpu({}, at::kDouble)),
                  at::Tensor(at::detail::empty_cpu({2}, at::kLong))};
  *result.ratio.mutable_data_ptr<double>() =
      compared < 2 || rows.has_nans() ? kNaN : data[low] / data[high];
  auto* const groups = result.groups.mutable_data_ptr<std::int64_t>();
  groups[0] = low;
  groups[1] = high;
  return {result.ratio.to(on_device.device()),
          result.groups.to(on_device.device())};
}

}  // namespace

void check_num_groups(const char* metric, std::int64_t num_groups) {
  TORCH_CHECK_VALUE(num_groups >= 2, metric,
                    ": expected num_groups of at least 2, got ", num_groups);
}

at::Tensor count_groups(const BinaryBatch& batch, const at::Tensor& groups,
                        std::int64_t num_groups) {
  at::Tensor counts = fresh_zeros({kElementCounts, num_groups}, at::kLong);
  auto* const data = counts.mutable_data_ptr<std::int64_t>();
  const auto* const group_of = groups.const_data_ptr<std::int64_t>();
  for_each_element(batch, [=](std::int64_t index, int predicted, int target) {
    const std::int64_t group = group_of[index];
    if (group < 0 || group >= num_groups) {
      refuse_group(group, index, num_groups);
    }
    std::int64_t* const own = data + group;
    if (predicted == kNanElement) {
      ++own[kNans * num_groups];
      return;
    }
    own[kTruePositives * num_groups] += predicted & target;
    own[kPredicted * num_groups] += predicted;
    own[kTarget * num_groups] += target;
    ++own[kTotal * num_groups];
  });
  return counts;
}

at::Tensor count_groups_by_tensors(const BinaryBatch& batch,
                                   const at::Tensor& groups,
                                   std::int64_t num_groups) {
  const ElementTensors elements = element_tensors(batch);
  const at::Tensor outside =
      groups.lt(0).logical_or(groups.ge(num_groups)).logical_and(elements.kept);
  if (batch.rules().validate_args || batch.is_plain()) {
    if (const auto index = first_true(outside)) {
      refuse_group(groups.reshape(-1).select(0, *index).item().toLong(), *index,
                   num_groups);
    }
  }
  const at::Tensor kept = elements.kept.logical_and(outside.logical_not());
  const at::Tensor counted = kept.logical_and(elements.nan.logical_not());
  const at::Tensor places =
      groups.masked_fill(kept.logical_not(), 0).reshape(-1);
  const auto by_group = [&](const at::Tensor& mask) {
    return at::zeros({num_groups}, places.options())
        .scatter_add(0, places, mask.reshape(-1).to(at::kLong));
  };
  const at::Tensor predicted = elements.predicted.logical_and(counted);
  const at::Tensor target = elements.target.logical_and(counted);
  return at::stack({by_group(predicted.logical_and(target)),
                    by_group(predicted), by_group(target), by_group(counted),
                    by_group(elements.nan.logical_and(kept))});
}

}  // namespace internal::classification

namespace classification = internal::classification;

BinaryGroupCounts::State BinaryGroupCounts::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& groups) const {
  const classification::BinaryBatch batch(rules_, preds, target);
  internal::check_integral("groups", groups);
  internal::check_same_shape("groups", groups, "target", target);
  const at::Tensor indexes = classification::dense(groups.to(at::kLong));
  return {batch.is_plain()
              ? classification::count_groups(batch, indexes, num_groups_)
              : classification::count_groups_by_tensors(batch, indexes,
                                                        num_groups_)};
}

at::Tensor BinaryGroupStatRates::evaluate(const State& state) const {
  const std::int64_t groups = options().num_groups();
  return classification::groups_of(state, groups)
      .values({groups, 4}, [](const auto& row, double* out) {
        for (const classification::ClassCounts& c : row.classes) {
          for (const double count : {c.tp, c.fp(), c.tn(), c.fn()}) {
            *out++ = c.nans > 0 ? internal::kNaN
                                : classification::divide(count, c.total,
                                                         internal::kNaN);
          }
        }
      });
}

void Fairness::visit(ResultParts& parts) {
  if (demographic_parity.defined()) {
    parts("demographic_parity", demographic_parity);
    parts("demographic_parity_groups", demographic_parity_groups,
          {Dimension::kPair});
  }
  if (equal_opportunity.defined()) {
    parts("equal_opportunity", equal_opportunity);
    parts("equal_opportunity_groups", equal_opportunity_groups,
          {Dimension::kPair});
  }
}

Fairness BinaryFairness::evaluate(const State& state) const {
  const classification::CountRows rows =
      classification::groups_of(state, options().num_groups());
  Fairness result;
  if (options().task() != FairnessTask::kEqualOpportunity) {
    const auto [ratio, groups] = classification::extremes(
        rows, [](const classification::ClassCounts& c) {
          return c.predicted / c.total;
        });
    result.demographic_parity = ratio;
    result.demographic_parity_groups = groups;
  }
  if (options().task() != FairnessTask::kDemographicParity) {
    const auto [ratio, groups] = classification::extremes(
        rows, [](const classification::ClassCounts& c) {
          return classification::divide(c.tp, c.target, internal::kNaN);
        });
    result.equal_opportunity = ratio;
    result.equal_opportunity_groups = groups;
  }
  return result;
}

template class MetricOf<BinaryGroupStatRates, BinaryGroupCounts, at::Tensor,
                        BinaryGroupStatRatesOptions>;
template class MetricOf<BinaryFairness, BinaryGroupCounts, Fairness,
                        BinaryFairnessOptions>;

}  // namespace tally
