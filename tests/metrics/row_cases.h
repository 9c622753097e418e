#pragma once

#include <ATen/ops/arange.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/metrics/slices/named_sets.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/metrics/wrappers/metric_tracker.h"

/// The classes around metrics that accumulate rows: how one is made around a
/// metric, updated, and what it says.
namespace tally::row_cases {

inline constexpr int kBatches = 4;
inline constexpr std::int64_t kRows = 40;  // of each

struct Batch {
  explicit Batch(int number)
      : rows(at::arange(number * kRows, (number + 1) * kRows, at::kLong)) {}
  at::Tensor rows;
  at::Tensor preds = rows.mul(rows).add(rows.floor_divide(3)).remainder(3);
  at::Tensor other = rows.floor_divide(2).remainder(3);
  at::Tensor target = rows.mul(5).add(rows.floor_divide(7)).remainder(3);

  SampleIds ids() const { return SampleIds(rows); }
  SliceKeys keys() const {
    std::vector<std::string> keys;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int64_t row = rows[i].item<std::int64_t>();
      keys.push_back(row % 4 == 0 ? "south" : row < kRows ? "west" : "north");
    }
    return SliceKeys(keys);
  }
};

inline std::string text_of(const at::Tensor& value) {
  std::string text;
  if (!value.defined()) return "undefined";
  const at::Tensor plain = value.to(at::kDouble).reshape(-1).contiguous();
  for (std::int64_t i = 0; i < plain.numel(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%.17g ", plain[i].item<double>());
    text += number;
  }
  return text;
}

inline std::string text_of(const Results& results) {
  std::string text;
  for (const auto& [name, value] : results) {
    text += name + ": " + text_of(value) + "\n";
  }
  return text;
}

inline std::string text_of(const std::vector<SliceResult>& slices) {
  std::string text;
  for (const SliceResult& slice : slices) {
    text += slice.name() + ", " + std::to_string(slice.rows) + ": " +
            text_of(slice.results);
  }
  return text;
}

inline std::string text_of(const std::vector<ComparedSlice>& slices) {
  std::string text;
  for (const ComparedSlice& slice : slices) {
    text += slice.name() + " " + std::to_string(slice.rows) + " " +
            std::to_string(slice.difference) + " " +
            std::to_string(slice.p_value) + "\n";
  }
  return text;
}

inline std::string text_of(const Intervals& intervals) {
  return text_of(intervals.results());
}

inline std::string text_of(const Comparisons& comparisons) {
  std::string text;
  for (const auto& [name, each] : comparisons) {
    text += name + std::to_string(each.n) + ": " + text_of(each.difference) +
            text_of(each.low) + text_of(each.p_value);
  }
  return text;
}

struct Sliced {
  using Object = SlicedMetric;
  static Object make(OwnedMetric metric) {
    SlicedMetric sliced(std::move(metric));
    return sliced;
  }
  static void update(Object& object, const Batch& batch) {
    object.update(batch.keys(), batch.preds, batch.target);
  }
  static std::string value(Object& object) { return text_of(object.compute()); }
};

struct Named {
  using Object = NamedSets;
  static Object make(OwnedMetric metric) {
    return NamedSets({"west", "south", "empty"}, std::move(metric));
  }
  static void update(Object& object, const Batch& batch) {
    const bool is_first = batch.rows[0].item<std::int64_t>() < 2 * kRows;
    object.update(is_first ? "west" : "south", batch.preds, batch.target);
  }
  static std::string value(Object& object) { return text_of(object.compute()); }
};

struct Compared {
  using Object = SliceComparison;
  static Object make(OwnedMetric metric) {
    return SliceComparison(std::move(metric),
                           SliceComparisonOptions().min_rows(2));
  }
  static void update(Object& object, const Batch& batch) {
    object.update(batch.keys(), batch.ids(), batch.preds, batch.target);
  }
  static std::string value(Object& object) { return text_of(object.compute()); }
};

struct OfInterval {
  using Object = IntervalMetric;
  static Object make(OwnedMetric metric) {
    return IntervalMetric(
        std::move(metric),
        IntervalOptions().method(IntervalMethod::kJackknife).blocks(5));
  }
  static void update(Object& object, const Batch& batch) {
    object.update(batch.ids(), batch.preds, batch.target);
  }
  static std::string value(Object& object) { return text_of(object.compute()); }
};

struct OfModels {
  using Object = ModelComparison;
  static Object make(OwnedMetric metric) {
    return ModelComparison(std::move(metric),
                           ModelComparisonOptions()
                               .method(ComparisonMethod::kJackknife)
                               .blocks(5));
  }
  static void update(Object& object, const Batch& batch) {
    object.update(batch.ids(), batch.preds, batch.other, batch.target);
  }
  static std::string value(Object& object) { return text_of(object.compute()); }
};

struct Tracked {
  using Object = MetricTracker;
  static Object make(OwnedMetric metric) {
    MetricTracker tracker(std::move(metric));
    tracker.increment();
    return tracker;
  }
  static void update(Object& object, const Batch& batch) {
    object.update(batch.preds, batch.target);
  }
  static std::string value(Object& object) {
    return text_of(object.compute_all());
  }
};

inline MulticlassAccuracy accuracy(int classes = 3) {
  return MulticlassAccuracy(
      MulticlassAccuracyOptions(classes).average(Average::kMicro));
}

}  // namespace tally::row_cases
