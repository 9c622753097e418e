#include "tally/metrics/classification/counts/count_sampling.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal::classification {
namespace {

/// Pairs of target and predicted class, from which counts follow.
class ClassPairs final : public MetricOf<ClassPairs, MulticlassConfusion,
                                         at::Tensor, ConfusionStateOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ClassPairs";

  at::Tensor evaluate(const State& state) const { return state.matrix(); }
};

CountRows rows_of_labels(const MultilabelCounts::State& state,
                         std::int64_t num_labels) {
  return {CountRows::Layout::kElements, num_labels, false, state.counts,
          state.sums};
}

/// Without its table.
CellSampling cells_in(const CountCells& cells) {
  CellSampling sampling;
  if (cells.is_signed) sampling.low = -1;
  return sampling;
}

CellTable table_of_two(const ClassCounts& counts, bool of_both_classes) {
  CellTable table;
  table.sums = kElementCounts;
  const auto add = [&](double count, bool predicted, bool target) {
    const auto id = static_cast<std::int64_t>(2 * target + predicted);
    if (count == 0) return;
    CellTable::Cell cell{id, std::llround(count), {{kTotal, 1}}, target};
    if (predicted) cell.adds.emplace_back(kPredicted, 1);
    if (target) cell.adds.emplace_back(kTarget, 1);
    if (predicted && target) cell.adds.emplace_back(kTruePositives, 1);
    table.cells.push_back(std::move(cell));
  };
  add(counts.tn(), false, false);
  add(counts.fp(), true, false);
  add(counts.fn(), false, true);
  add(counts.tp, true, true);
  table.state = [](const std::vector<double>& sums) {
    BinaryCounts::State weighted;
    weighted.sums = tensor_of(sums);
    return AnyState::of(std::move(weighted));
  };
  const double wrong = counts.fp() + counts.fn();
  table.deciding =
      wrong + (of_both_classes ? std::min(counts.tp, counts.tn()) : counts.tp);
  return table;
}

CellTable::Cell cell_of(std::size_t pair, std::int64_t count,
                        std::size_t classes, ClassDistance distance) {
  const std::size_t target = pair / classes;
  const std::size_t predicted = pair % classes;
  CellTable::Cell cell{static_cast<std::int64_t>(pair),
                       count,
                       {{classes + predicted, 1}, {2 * classes + target, 1}},
                       static_cast<std::int64_t>(target)};
  const double steps =
      std::abs(static_cast<double>(target) - static_cast<double>(predicted));
  if (target == predicted) {
    cell.adds.emplace_back(target, 1);
  } else if (distance == ClassDistance::kLinear) {
    cell.adds.emplace_back(3 * classes + 1, steps);
  } else if (distance != ClassDistance::kNone) {
    cell.adds.emplace_back(3 * classes + 1, steps * steps);
  }
  return cell;
}

CellTable table_of_pairs(const AnyState& state, std::size_t classes,
                         ClassDistance distance) {
  CellTable table;
  table.sums = 3 * classes + 2;
  std::vector<double> unions(classes, 0);
  const at::Tensor matrix = state.get<MulticlassConfusion::State>().matrix();
  if (matrix.defined()) {
    const at::Tensor values = matrix.to(at::kCPU).contiguous();
    const auto* const counts = values.const_data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < classes * classes; ++i) {
      if (counts[i] == 0) continue;
      table.cells.push_back(cell_of(i, counts[i], classes, distance));
      const auto count = static_cast<double>(counts[i]);
      unions[i / classes] += count;
      if (i / classes != i % classes) unions[i % classes] += count;
    }
  }
  table.state = [](const std::vector<double>& sums) {
    MulticlassCounts::State weighted;
    weighted.sums = tensor_of(sums);
    return AnyState::of(std::move(weighted));
  };
  for (const double rows : unions) {
    if (rows > 0 && (table.deciding == 0 || rows < table.deciding)) {
      table.deciding = rows;
    }
  }
  return table;
}

/// Each class or label by itself.
RateSampling each_by(const CountRate& rate,
                     std::function<CountRows(const AnyState&)> rows_of,
                     std::int64_t target_dims) {
  RateSampling sampling;
  sampling.proportions = [rate,
                          rows_of = std::move(rows_of)](const AnyState& state) {
    std::vector<Proportion> proportions;
    for (const ClassCounts& counts : classes_of(rows_of(state))) {
      proportions.push_back(rate.share(counts));
    }
    return proportions;
  };
  sampling.value = rate.value;
  sampling.target_dims = target_dims;
  return sampling;
}

/// Both classes of two, in turn the positive one.
std::vector<ClassCounts> both_of(const ClassCounts& counts) {
  ClassCounts other = counts;
  other.tp = counts.tn();
  other.predicted = counts.total - counts.predicted;
  other.target = counts.total - counts.target;
  return {counts, other};
}

double smaller_class(const ClassCounts& counts) {
  return std::min(counts.target, counts.total - counts.target);
}

/// Of the classes with any, the fewest rows that decide the value of one.
double fewest_deciding(const std::vector<ClassCounts>& classes,
                       const CountRate& rate) {
  double fewest = kInfinity;
  for (const ClassCounts& counts : classes) {
    const double own = rate.deciding_rows(counts);
    if (own > 0) fewest = std::min(fewest, own);
  }
  return fewest < kInfinity ? fewest : 0;
}

/// What decides an average over classes, or the value of each of them.
void decide_by_class(MetricSampling& sampling, const CountRate& rate,
                     const std::function<CountRows(const AnyState&)>& rows_of,
                     Average average) {
  sampling.deciding = [rate, rows_of](const AnyState& state) {
    return fewest_deciding(classes_of(rows_of(state)), rate);
  };
  if (average != Average::kMacro) return;
  sampling.has_missing_class = [rate, rows_of](const AnyState& state) {
    const std::vector<ClassCounts> classes = classes_of(rows_of(state));
    return std::any_of(classes.begin(), classes.end(),
                       [&](const ClassCounts& counts) {
                         return rate.deciding_rows(counts) == 0;
                       });
  };
}

}  // namespace

std::vector<ClassCounts> classes_of(const CountRows& rows) {
  std::vector<ClassCounts> classes;
  rows.values({}, [&](const CountsRow& row, double*) {
    classes.assign(row.classes.begin(), row.classes.end());
  });
  return classes;
}

MetricSampling sampling_of(const CountUse& use, const BinaryCounts& samples) {
  const auto rows = [](const AnyState& state) {
    return rows_of(state.get<BinaryCounts::State>(), MultidimAverage::kGlobal);
  };
  MetricSampling sampling;
  if (use.rate) sampling.rate = each_by(*use.rate, rows, /*target_dims=*/1);
  if (use.cells) {
    sampling.cells = cells_in(*use.cells);
    sampling.cells->table =
        [rows, both = use.cells->of_both_classes](const AnyState& state) {
          return table_of_two(classes_of(rows(state)).front(), both);
        };
    if (use.averaged) {
      RateSampling each;
      each.proportions = [rows, rate = *use.averaged](const AnyState& state) {
        std::vector<Proportion> proportions;
        for (const auto& own : both_of(classes_of(rows(state)).front())) {
          proportions.push_back(rate.share(own));
        }
        return proportions;
      };
      sampling.cells->averaged = std::move(each);
    }
  }
  sampling.deciding = [rows, use](const AnyState& state) {
    const ClassCounts counts = classes_of(rows(state)).front();
    if (use.rate) return use.rate->deciding_rows(counts);
    return use.cells && use.cells->of_both_classes ? smaller_class(counts)
                                                   : counts.target;
  };
  sampling.row_sums = [samples](Inputs inputs) -> at::Tensor {
    const auto* const preds = inputs[0].as<at::Tensor>();
    const auto* const target = inputs[1].as<at::Tensor>();
    if ((inputs.size() > 2 && !inputs[2].is_none()) || target->dim() != 1 ||
        !target->is_cpu() || !preds->is_cpu()) {
      return {};
    }
    return samples.observe(*preds, *target)
        .samples.tensor()
        .reshape({target->size(0), -1})
        .to(at::kDouble);
  };
  return sampling;
}

MetricSampling sampling_of(const ClassSampling& of,
                           const MetricOptions& metric_options) {
  MetricSampling sampling;
  const auto rows = [size = of.num_classes](const AnyState& state) {
    const auto& own = state.get<MulticlassCounts::State>();
    return CountRows(CountRows::Layout::kClasses, size, false, own.counts,
                     own.sums);
  };
  const auto& rate = of.use.rate;
  if (rate && of.average == Average::kNone) {
    sampling.rate = each_by(*rate, rows, /*target_dims=*/1);
  } else if (rate && of.average == Average::kMicro && rate->micro != nullptr &&
             (of.counts_once || rate->counts_targets)) {
    sampling.rate = RateSampling();
    sampling.rate->proportions = [rows](const AnyState& state) {
      ClassCounts sum;
      for (const ClassCounts& counts : classes_of(rows(state))) sum += counts;
      return std::vector<Proportion>{kRecallRate.share(sum)};
    };
    sampling.rate->value = rate->micro;
  }
  if (of.use.cells && of.pairs) {
    sampling.cells = cells_in(*of.use.cells);
    sampling.cells->source =
        std::make_shared<const ClassPairs>(*of.pairs, metric_options);
    sampling.cells->table = [classes = static_cast<std::size_t>(of.num_classes),
                             distance = of.distance](const AnyState& state) {
      return table_of_pairs(state, classes, distance);
    };
    std::optional<CountRate> averaged = of.use.averaged;
    if (of.average == Average::kMacro && rate) averaged = rate;
    if (averaged) {
      sampling.cells->averaged = each_by(*averaged, rows, /*target_dims=*/1);
    }
  }
  if (of.average != Average::kMicro) {
    const CountRate deciding =
        rate ? *rate : of.use.averaged.value_or(kRecallRate);
    decide_by_class(sampling, deciding, rows, of.average);
  }
  return sampling;
}

MetricSampling label_sampling(const CountUse& use, std::int64_t num_labels,
                              Average average) {
  MetricSampling sampling;
  const auto rows = [num_labels](const AnyState& state) {
    return rows_of_labels(state.get<MultilabelCounts::State>(), num_labels);
  };
  if (use.rate && average == Average::kNone) {
    sampling.rate = each_by(*use.rate, rows, /*target_dims=*/2);
  }
  if (use.rate && average != Average::kMicro) {
    decide_by_class(sampling, *use.rate, rows, average);
  }
  return sampling;
}

}  // namespace internal::classification
}  // namespace tally
