#pragma once

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tally/metrics/classification/curve.h"
#include "tally/metrics/classification/places.h"

namespace tally::internal {

template <class Fill>
CurveState CurveRules::count_rows(std::int64_t rows, const Fill& fill) const {
  // So many scores are worth a thread.
  constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  // With fewer scores for each bucket than these a histogram more costs more
  // than it saves.
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
  const std::int64_t grain =
      std::max({kGrain, kScoresPerBucket * buckets}) / curves + 1;
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

}  // namespace tally::internal
