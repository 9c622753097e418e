#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/cohen_kappa.h"
#include "tally/metrics/classification/confusion_matrix.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/hamming_distance.h"
#include "tally/metrics/classification/jaccard_index.h"
#include "tally/metrics/classification/matthews_corr_coef.h"
#include "tally/metrics/classification/negative_predictive_value.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/classification/specificity.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/intervals/cell_table.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/make_engine.h"

namespace tally::internal::intervals {
namespace {

template <class M>
ValueRange range_of(const M& metric) {
  constexpr ValueRange kSigned{-1, 1};
  if constexpr (std::is_same_v<M, BinaryMatthewsCorrCoef> ||
                std::is_same_v<M, MulticlassMatthewsCorrCoef> ||
                std::is_same_v<M, BinaryCohenKappa> ||
                std::is_same_v<M, MulticlassCohenKappa>) {
    return kSigned;
  } else if constexpr (std::is_same_v<M, BinaryBalancedAccuracy> ||
                       std::is_same_v<M, MulticlassBalancedAccuracy>) {
    return metric.options().adjusted() ? kSigned : ValueRange{};
  } else {
    return {};
  }
}

class CellEngine : public IntervalEngine {
 public:
  CellEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
             ValueRange range)
      : IntervalEngine(std::move(metric), options), range_(range) {}

  IntervalMethod method() const override {
    return options_.method() == IntervalMethod::kAuto
               ? IntervalMethod::kLogitDelta
               : options_.method();
  }
  bool has_bca() const override {
    return method() == IntervalMethod::kPoissonCells;
  }
  Intervals intervals(const AnyState& state, std::int64_t n) const override {
    const FlatResult value = flat_result(*metric_, own_state(state));
    const CellTable table = table_of(state);
    const bool is_delta = method() == IntervalMethod::kLogitDelta;
    return make_intervals(
        value,
        is_delta
            ? delta_bounds(*metric_, table, value, range_, options_.level())
            : poisson_cell_bounds(*metric_, table, value, options_),
        unfilled(n, is_delta ? 0 : options_.replicates()));
  }

 protected:
  /// The state that the metric evaluates.
  virtual AnyState own_state(const AnyState& state) const { return state; }
  virtual CellTable table_of(const AnyState& state) const = 0;

 private:
  ValueRange range_;
};

/// The four cells of binary counts.
class BinaryCellEngine final : public CellEngine {
 public:
  BinaryCellEngine(std::unique_ptr<Metric> metric,
                   const IntervalOptions& options, ValueRange range,
                   bool of_both_classes)
      : CellEngine(std::move(metric), options, range),
        of_both_classes_(of_both_classes) {}

  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs, 1);
    return observe_batch(*metric_, inputs);
  }

 protected:
  CellTable table_of(const AnyState& state) const override {
    const auto& own = state.get<BinaryCounts::State>();
    std::int64_t counts[classification::kElementCounts];
    std::copy_n(own.counts, int{classification::kElementCounts}, counts);
    if (own.device_counts.defined()) {
      const at::Tensor more = own.device_counts.to(at::kCPU).contiguous();
      for (int i = 0; i < classification::kElementCounts; ++i) {
        counts[i] += more.const_data_ptr<std::int64_t>()[i];
      }
    }
    const std::int64_t tp = counts[classification::kTruePositives];
    const std::int64_t fp = counts[classification::kPredicted] - tp;
    const std::int64_t fn = counts[classification::kTarget] - tp;
    const std::int64_t tn = counts[classification::kTotal] - tp - fp - fn;
    CellTable table;
    table.sums = classification::kElementCounts;
    const auto add = [&](std::int64_t count, bool predicted, bool target) {
      const auto id = static_cast<std::int64_t>(2 * target + predicted);
      if (count == 0) return;
      CellTable::Cell cell{id, count, {{classification::kTotal, 1}}};
      if (predicted) cell.adds.emplace_back(classification::kPredicted, 1);
      if (target) cell.adds.emplace_back(classification::kTarget, 1);
      if (predicted && target) {
        cell.adds.emplace_back(classification::kTruePositives, 1);
      }
      table.cells.push_back(std::move(cell));
    };
    add(tn, false, false);
    add(fp, true, false);
    add(fn, false, true);
    add(tp, true, true);
    table.state = [](const std::vector<double>& sums) {
      BinaryCounts::State weighted;
      weighted.sums = tensor_of(sums);
      return AnyState::of(std::move(weighted));
    };
    table.deciding = static_cast<double>(
        of_both_classes_ ? std::min(tp + fp + fn, tn + fp + fn) : tp + fp + fn);
    return table;
  }

 private:
  bool of_both_classes_;
};

/// Pairs of target and predicted class, for metrics over MulticlassCounts.
class PairCellEngine final : public CellEngine {
 public:
  PairCellEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
                 ValueRange range, MulticlassConfusionMatrix pairs,
                 classification::ClassDistance distance)
      : CellEngine(std::move(metric), options, range),
        pairs_(std::move(pairs)),
        distance_(distance) {}

  AnyState identity() const override { return pairs_.make_state(); }
  StateKey key() const override { return pairs_.state_key(); }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs, 1);
    return observe_batch(pairs_, inputs);
  }

 protected:
  AnyState own_state(const AnyState& state) const override {
    return metric_->derive(state);
  }
  CellTable table_of(const AnyState& state) const override {
    CellTable table;
    const auto classes =
        static_cast<std::size_t>(pairs_.options().num_classes());
    table.sums = 3 * classes + 2;
    std::vector<double> unions(classes, 0);
    const at::Tensor matrix = state.get<MulticlassConfusion::State>().matrix();
    if (matrix.defined()) {
      const at::Tensor values = matrix.to(at::kCPU).contiguous();
      const auto* const counts = values.const_data_ptr<std::int64_t>();
      for (std::size_t i = 0; i < classes * classes; ++i) {
        if (counts[i] == 0) continue;
        const std::size_t target = i / classes;
        const std::size_t predicted = i % classes;
        table.cells.push_back(cell_of(i, counts[i], classes));
        unions[target] += static_cast<double>(counts[i]);
        if (predicted != target) {
          unions[predicted] += static_cast<double>(counts[i]);
        }
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

 private:
  CellTable::Cell cell_of(std::size_t pair, std::int64_t count,
                          std::size_t classes) const {
    const std::size_t target = pair / classes;
    const std::size_t predicted = pair % classes;
    CellTable::Cell cell{static_cast<std::int64_t>(pair),
                         count,
                         {{classes + predicted, 1}, {2 * classes + target, 1}}};
    const double steps =
        std::abs(static_cast<double>(target) - static_cast<double>(predicted));
    if (target == predicted) {
      cell.adds.emplace_back(target, 1);
    } else if (distance_ == classification::ClassDistance::kLinear) {
      cell.adds.emplace_back(3 * classes + 1, steps);
    } else if (distance_ != classification::ClassDistance::kNone) {
      cell.adds.emplace_back(3 * classes + 1, steps * steps);
    }
    return cell;
  }

  MulticlassConfusionMatrix pairs_;
  classification::ClassDistance distance_;
};

}  // namespace

std::unique_ptr<IntervalEngine> cell_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options) {
  std::unique_ptr<IntervalEngine> engine;
  visit_metric<BinaryAccuracy, BinaryBalancedAccuracy, BinaryCohenKappa,
               BinaryF1Score, BinaryFBetaScore, BinaryHammingDistance,
               BinaryJaccardIndex, BinaryMatthewsCorrCoef,
               BinaryNegativePredictiveValue, BinaryPrecision, BinaryRecall,
               BinarySpecificity>(*metric, [&](const auto& m) {
    using M = std::decay_t<decltype(m)>;
    if (m.options().multidim_average() != MultidimAverage::kGlobal) return;
    const ValueRange range = range_of(m);
    constexpr bool kOfBothClasses = std::is_same_v<M, BinaryBalancedAccuracy> ||
                                    std::is_same_v<M, BinaryCohenKappa> ||
                                    std::is_same_v<M, BinaryMatthewsCorrCoef>;
    engine = std::make_unique<BinaryCellEngine>(std::move(metric), options,
                                                range, kOfBothClasses);
  });
  if (engine) return engine;
  visit_metric<MulticlassAccuracy, MulticlassBalancedAccuracy,
               MulticlassCohenKappa, MulticlassF1Score, MulticlassFBetaScore,
               MulticlassHammingDistance, MulticlassJaccardIndex,
               MulticlassMatthewsCorrCoef, MulticlassNegativePredictiveValue,
               MulticlassPrecision, MulticlassRecall, MulticlassSpecificity>(
      *metric, [&](const auto& m) {
        if (!MulticlassCounts::source_options(m.options())) return;
        MulticlassConfusionMatrix pairs(
            MulticlassConfusionMatrixOptions(m.options().num_classes())
                .ignore_index(m.options().ignore_index()),
            m.metric_options());
        const ValueRange range = range_of(m);
        const auto distance = m.options().distance();
        engine = std::make_unique<PairCellEngine>(
            std::move(metric), options, range, std::move(pairs), distance);
      });
  return engine;
}

}  // namespace tally::internal::intervals
