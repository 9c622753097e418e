#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tally/metrics/average.h"
#include "tally/metrics/classification/counts/class_counts.h"
#include "tally/metrics/sampling.h"
#include "tally/state/detected.h"

/// What metrics over counts say about their rows; see MetricSampling.
namespace tally::internal::classification {

/// A quotient of counts, and what the value is of it.
struct CountRate {
  Proportion (*share)(const ClassCounts&);
  double (*value)(double share) = nullptr;  ///< null: the share
  /// In kMicro over classes, where a row is either correct or not, the value by
  /// the fraction that is; null: none.
  double (*micro)(double correct) = nullptr;
  /// Whether this is so with top_k, where a row may be predicted several times.
  bool counts_targets = false;
  /// The rows that decide the value, where they are not those of the share.
  double (*deciding)(const ClassCounts&) = nullptr;

  double deciding_rows(const ClassCounts& counts) const {
    return deciding == nullptr ? share(counts).n : deciding(counts);
  }
};

inline constexpr auto kSame = [](double p) { return p; };
inline constexpr auto kComplement = [](double p) { return 1 - p; };

inline constexpr CountRate kAccuracyRate{
    [](const ClassCounts& c) -> Proportion {
      return {c.tp + c.tn(), c.total};
    },
};
inline constexpr CountRate kErrorRate{
    [](const ClassCounts& c) -> Proportion {
      return {c.fp() + c.fn(), c.total};
    },
};
inline constexpr CountRate kRecallRate{[](const ClassCounts& c) -> Proportion {
                                         return {c.tp, c.target};
                                       },
                                       nullptr, kSame, true};
inline constexpr CountRate kMissRate{kRecallRate.share, kComplement,
                                     kComplement, true};
inline constexpr CountRate kPrecisionRate{
    [](const ClassCounts& c) -> Proportion {
      return {c.tp, c.predicted};
    },
    nullptr, kSame};
inline constexpr CountRate kSpecificityRate{
    [](const ClassCounts& c) -> Proportion {
      return {c.tn(), c.total - c.target};
    }};
inline constexpr CountRate kNegativePredictiveRate{
    [](const ClassCounts& c) -> Proportion {
      return {c.tn(), c.total - c.predicted};
    }};
inline constexpr auto kPositives = [](const ClassCounts& c) {
  return c.target;
};
inline constexpr CountRate kJaccardRate{
    [](const ClassCounts& c) -> Proportion {
      return {c.tp, c.predicted + c.fn()};
    },
    nullptr, [](double p) { return p / (2 - p); }, false, kPositives};
inline constexpr CountRate kF1Rate{kJaccardRate.share,
                                   [](double p) { return 2 * p / (1 + p); },
                                   kSame, false, kPositives};

/// The rate of counts as ClassValue; `otherwise` where it divides by 0.
inline auto share_of(const CountRate& rate, double otherwise) {
  return [=](const ClassCounts& c) {
    const Proportion share = rate.share(c);
    return divide(share.successes, share.n, otherwise);
  };
}

template <class Options>
using ZeroDivisionOf = decltype(std::declval<const Options&>().zero_division());

/// The same by a metric's option; 0 where it has none.
template <class Options>
auto share_by(const Options& options, const CountRate& rate) {
  if constexpr (kHas<ZeroDivisionOf, Options>) {
    return share_of(rate, options.zero_division());
  } else {
    (void)options;
    return share_of(rate, 0);
  }
}

/// How the value depends on the cells of a table.
struct CountCells {
  /// Whether it is in [-1, 1], not [0, 1].
  bool is_signed = false;
  /// Of two classes, whether both count, or only that of 1.
  bool of_both_classes = false;
};

/// What a metric over counts says in its class: the constants kRate, which
/// implies cells, or kCells, and kAveragedRate, whose mean over classes it is.
struct CountUse {
  std::optional<CountRate> rate;
  std::optional<CountCells> cells;
  std::optional<CountRate> averaged;
};

template <class M>
using RateOf = decltype(M::kRate);
template <class M>
using AveragedRateOf = decltype(M::kAveragedRate);
template <class M>
using CellsOf = decltype(M::kCells);
template <class Options>
using AdjustedOf = decltype(std::declval<const Options&>().adjusted());

template <class M>
CountUse use_of(const M& metric) {
  CountUse use;
  if constexpr (kHas<RateOf, M>) {
    use.rate = M::kRate;
    use.cells = CountCells{};
  }
  if constexpr (kHas<CellsOf, M>) use.cells = M::kCells;
  if constexpr (kHas<AveragedRateOf, M>) use.averaged = M::kAveragedRate;
  if constexpr (kHas<AdjustedOf, typename M::Options>) {
    use.cells->is_signed = metric.options().adjusted();
    if (metric.options().adjusted()) use.averaged.reset();
  }
  (void)metric;
  return use;
}

template <class Options>
using AverageOf = decltype(std::declval<const Options&>().average());

/// The average of a metric's classes or labels.
template <class M>
Average average_of(const M& metric) {
  if constexpr (kHas<AverageOf, typename M::Options>) {
    return metric.options().average();
  } else {
    (void)metric;
    return Average::kMacro;
  }
}

/// The counts of each class or label.
std::vector<ClassCounts> classes_of(const CountRows& rows);

}  // namespace tally::internal::classification
