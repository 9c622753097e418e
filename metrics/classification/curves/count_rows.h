#pragma once

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/places.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {

// Rows that are worth a thread and a histogram of so many buckets.
inline std::int64_t rows_per_thread(std::int64_t curves, std::int64_t buckets) {
  constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  // With fewer scores for each bucket than these a histogram more costs more
  // than it saves.
  constexpr std::int64_t kScoresPerBucket = 8;
  return std::max(kGrain, kScoresPerBucket * buckets) / curves + 1;
}

template <class Fill>
CurveState CurveRules::count_rows(std::int64_t rows, const Fill& fill) const {
  // With fewer scores for each bucket than these tables side by side do not
  // pay.
  constexpr std::int64_t kScoresPerBucket = 8;
  // Histograms that stay in the cache next to the core.
  constexpr std::int64_t kSpread = 1024;
  const std::int64_t curves = shape_.curves;
  const std::int64_t scores = rows * curves;
  const Lookup lookup(grid_, scores);
  CurveState state = binned_state(scores);
  if (!state.histogram.defined()) {
    const at::Tensor places = state.places.tensor();
    auto* const begin = places.mutable_data_ptr<std::int32_t>();
    PlaceSink sink(begin, curves, state.columns);
    fill(0, rows, lookup, sink);
    state.places = Rows(places.narrow(0, 0, sink.end() - begin));
    return state;
  }
  const std::int64_t buckets = state.histogram.numel();
  auto* const histogram = state.histogram.mutable_data_ptr<std::int64_t>();
  const auto fill_some = [&](std::int64_t begin, std::int64_t end,
                             std::int64_t* counts) {
    HistogramSink sink(
        counts, curves, state.columns,
        buckets <= kSpread && kScoresPerBucket * buckets <= end - begin);
    fill(begin, end, lookup, sink);
    sink.flush();
  };
  const std::int64_t grain = rows_per_thread(curves, buckets);
  if (rows < 2 * grain || at::in_parallel_region() ||
      at::get_num_threads() == 1) {
    fill_some(0, rows, histogram);
    return state;
  }
  std::mutex mutex;
  std::atomic<bool> refused{false};
  at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> own(buckets);
    try {
      fill_some(begin, end, own.data());
    } catch (const c10::Error&) {
      refused = true;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    for (std::int64_t i = 0; i < buckets; ++i) histogram[i] += own[i];
  });
  if (refused) {
    // The first of all is what the error should be about.
    fill_some(0, rows, histogram);
  }
  return state;
}

template <class Fill>
CurveState CurveRules::weigh_rows(std::int64_t rows, const Fill& fill) const {
  const std::int64_t scores = rows * shape_.curves;
  const Lookup lookup(grid_, scores);
  CurveState state;
  state.curves = shape_.curves;
  state.columns = grid_.size() + 2;
  if (!fills_histogram(scores)) {
    const at::Tensor places = fresh_tensor({scores}, at::kInt);
    const at::Tensor weights = fresh_tensor({scores}, at::kDouble);
    auto* const begin = places.mutable_data_ptr<std::int32_t>();
    WeightedPlaceSink sink(begin, weights.mutable_data_ptr<double>(),
                           state.columns);
    fill(0, rows, lookup, sink);
    const std::int64_t count = sink.end() - begin;
    state.weighted_places = Rows(places.narrow(0, 0, count));
    state.weights = Rows(weights.narrow(0, 0, count));
    return state;
  }
  const std::int64_t buckets = 2 * state.curves * state.columns;
  const std::int64_t threads =
      at::in_parallel_region() ? 1 : at::get_num_threads();
  const std::int64_t parts = std::clamp<std::int64_t>(
      rows / rows_per_thread(state.curves, buckets), 1, threads);
  // Added in their order, so that the sums are the same each time.
  const at::Tensor sums = fresh_zeros({parts, buckets}, at::kDouble);
  auto* const data = sums.mutable_data_ptr<double>();
  const auto fill_some = [&](std::int64_t begin, std::int64_t end,
                             std::int64_t part) {
    WeightSumSink sink(data + part * buckets, state.columns);
    fill(begin, end, lookup, sink);
  };
  std::atomic<bool> refused{false};
  at::parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      try {
        fill_some(rows * part / parts, rows * (part + 1) / parts, part);
      } catch (const c10::Error&) {
        refused = true;
      }
    }
  });
  // The first of all is what the error should be about.
  if (refused) fill_some(0, rows, 0);
  state.weighted_histogram =
      (parts == 1 ? sums : sums.sum(0)).view({state.curves, 2, state.columns});
  return state;
}

}  // namespace tally::internal::classification
