#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_of.h"

namespace tally {

/// A rate, and what it is made of.
struct ItemRate {
  at::Tensor items_per_second;
  at::Tensor seconds_per_item;
  at::Tensor items;    ///< of all ranks
  at::Tensor seconds;  ///< of the slowest rank

  void visit(ResultParts& parts) {
    parts("items_per_second", items_per_second)(
        "seconds_per_item", seconds_per_item)("items", items)("seconds",
                                                              seconds);
  }
};

/// The observer of Throughput.
class RankTimes {
 public:
  static constexpr const char* kName = "RankTimes";
  static constexpr InputInfo kInputs[] = {
      {"items", InputKind::kReal, "real [...]"},
      {"seconds", InputKind::kReal, "real [...]"},
      {"rank", InputKind::kInteger, "int [...]"}};
  struct State {
    Rows ranks;  // int64, ascending
    Rows items;  // of each rank
    Rows seconds;
    void fields(Fields& f) {
      f("ranks", ranks)("items", items)("seconds", seconds);
    }
    static State merge(const State& a, const State& b);
  };

  RankTimes(const NoOptions&, const MetricOptions&) {}

  template <class M>
  static MetricSampling sampling(const M&) {
    MetricSampling sampling;
    sampling.refusal =
        "the time of the slowest rank is an extreme, and batches of one rank "
        "are not drawn at random; use MeanMetric of the seconds of each item";
    return sampling;
  }

  State observe(const at::Tensor& items, const at::Tensor& seconds,
                const at::Tensor& rank) const;
};

/// Items that several ranks process in a second: all items, divided by the time
/// of the rank that took longest.
///
///     sum_r items_r / max_r seconds_r
///
/// update(items, seconds, rank): numbers, or tensors of one shape of any real
/// dtype (rank: integers), of batches: the items of a batch, how long it took,
/// and the rank that processed it. training::ThroughputTimer measures and knows
/// them.
///
/// Result: items_per_second, seconds_per_item, items and seconds, 0-dim
/// float64; without data rates are NaN and the others 0.
/// State: the sums of each rank.
/// Errors: c10::ValueError for shapes that differ, and for items, seconds and
/// ranks that are negative or, the first two, not finite.
/// Not differentiable; has no interval.
///
/// Example:
///     Throughput throughput;
///     throughput.update(32, 0.5, 0);  // of rank 0
///     throughput.update(32, 0.4, 1);
///     at::Tensor rate = throughput.compute().items_per_second;  // 128
class Throughput final : public MetricOf<Throughput, RankTimes, ItemRate> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "Throughput";
  static constexpr MetricSummary kSummary{
      "Items per second of all ranks, by the time of the slowest rank.",
      "[0, inf)", "", "items per second, images per second, samples per second",
      R"(\sum_r n_r / \max_r t_r)"};

  ItemRate evaluate(const State& state) const;
};

extern template class MetricOf<Throughput, RankTimes, ItemRate>;

}  // namespace tally
