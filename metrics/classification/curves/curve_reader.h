#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/places.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/classification/kernels/bin_kernels.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {

/// Common parts of reading batches of labels and of classes. Lives while one
/// batch is read; the rules must outlive it.
class CurveReader {
 public:
  explicit CurveReader(const CurveRules& rules)
      : shape_(rules.shape),
        grid_(rules.grid),
        input_(rules.input),
        ignore_index_(rules.ignore_index),
        nan_policy_(rules.nan_policy),
        validate_args_(rules.validate_args),
        checks_scores_(rules.checks_scores) {}

 protected:
  /// Looks up the scores of one batch in the thresholds.
  class Lookup {
   public:
    Lookup(const ThresholdGrid& grid, std::int64_t scores);
    /// False, with meaningless places, if a score is not in [0, 1]. Codes may
    /// be absent.
    bool places(const float* scores, const std::uint8_t* codes,
                std::int64_t size, std::uint32_t* places) const;
    bool places(const double* scores, const std::uint8_t* codes,
                std::int64_t size, std::uint32_t* places) const;

   private:
    template <class Score, class Bucket>
    bool fill_places(const Score* scores, const std::uint8_t* codes,
                     std::int64_t size, std::uint32_t* places,
                     const Bucket& bucket) const;

    const ThresholdGrid& grid_;
    std::optional<EdgeTable> table_;
  };

  /// The state of a batch of rows, one score per curve: its histogram, or
  /// places if that is smaller. fill(begin, end, lookup, sink) passes some rows
  /// to a sink (see places.h); from several threads if there is much to do.
  template <class Fill>
  CurveState count_rows(std::int64_t rows, const Fill& fill) const;
  /// The same for rows with weights, to sinks that take them.
  template <class Fill>
  CurveState weigh_rows(std::int64_t rows, const Fill& fill) const;
  /// With capacity for `count` places, or a histogram of zeros.
  CurveState binned_state(std::int64_t count) const;
  /// Whether a batch of `count` places should be counted immediately.
  bool fills_histogram(std::int64_t count) const;
  /// The bin of a score that is not in [0, 1].
  std::int64_t bucket_outside(double score, std::int64_t position) const;
  std::int64_t bucket(double score, std::int64_t position) const {
    return score >= 0 && score <= 1 ? grid_.bucket(score)
                                    : bucket_outside(score, position);
  }
  /// On any device: the histogram of probabilities [N, curves], given masks of
  /// that shape for positive and counted ones (all if undefined), and optional
  /// weights [N].
  CurveState histogram_of(const at::Tensor& probabilities,
                          const at::Tensor& positive, const at::Tensor& kept,
                          const at::Tensor& weights,
                          std::int64_t per_position) const;

  /// Whether scores with a NaN are counted; throws under kError.
  bool takes_nan(const char* input, std::int64_t position) const;
  bool takes_score(double score, std::int64_t position) const {
    check_score(score, position);
    return nan_policy_ == NanPolicy::kPropagate || score == score ||
           takes_nan("preds", position);
  }
  void check_score(double score, std::int64_t position) const {
    if (checks_scores_ && (score < 0 || score > 1)) {
      refuse_probability(score, position, /*any_allowed=*/true);
    }
  }
  /// For scores [N, curves] on any device with a mask of counted ones (all if
  /// undefined): throws c10::ValueError for the first that is not a
  /// probability.
  void check_range(const at::Tensor& scores, const at::Tensor& kept,
                   std::int64_t per_position) const;
  bool takes_weight(double weight, std::int64_t row) const {
    return weight != 0 && (weight == weight || takes_nan("weight", row));
  }

  /// Weights, if there are any, as contiguous float64 [N]. c10::TypeError or
  /// c10::ValueError unless they are real numbers of the shape of `target`, and
  /// with validate_args for the first below 0.
  at::Tensor row_weights(const at::Tensor& weight, const char* target_input,
                         const at::Tensor& target) const;
  /// On any device: the mask of positions of `target` that are counted
  /// according to their target, optional weight and scores, given where those
  /// are NaN; an undefined tensor for all. Throws under kError.
  at::Tensor kept_positions(const at::Tensor& target, const at::Tensor& weights,
                            c10::function_ref<at::Tensor()> undefined) const;
  /// The exact state of the rows at these positions, or of all, with optional
  /// weights.
  static CurveState exact_rows(const at::Tensor& preds,
                               const at::Tensor& target,
                               const at::Tensor& weights,
                               const at::Tensor& positions);

 private:
  // `kept` (all if undefined), with the shape of `like`, without the rows
  // excluded by their weight.
  at::Tensor keep_weighted(const at::Tensor& kept, const at::Tensor& weights,
                           const at::Tensor& like) const;

 protected:
  CurveShape shape_;
  const ThresholdGrid& grid_;
  ScoreKind input_;
  std::optional<std::int64_t> ignore_index_;
  NanPolicy nan_policy_;
  bool validate_args_;
  bool checks_scores_;
};

// Number of rows worth a thread and a histogram with this number of bins.
inline std::int64_t rows_per_thread(std::int64_t curves, std::int64_t buckets) {
  constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  // With fewer scores per bin, an additional histogram costs more than it
  // saves.
  constexpr std::int64_t kScoresPerBucket = 8;
  return std::max(kGrain, kScoresPerBucket * buckets) / curves + 1;
}

template <class Fill>
CurveState CurveReader::count_rows(std::int64_t rows, const Fill& fill) const {
  // With fewer scores per bin, parallel tables do not pay off.
  constexpr std::int64_t kScoresPerBucket = 8;
  // Histograms that stay in the cache next to the core.
  constexpr std::int64_t kSpread = 1024;
  const std::int64_t curves = shape_.curves;
  const std::int64_t scores = rows * curves;
  const Lookup lookup(grid_, scores);
  CurveState state = binned_state(scores);
  if (!state.unweighted.histogram.defined()) {
    const at::Tensor places = state.unweighted.places.tensor();
    auto* const begin = places.mutable_data_ptr<std::int32_t>();
    PlaceSink sink(begin, curves, state.columns);
    fill(0, rows, lookup, sink);
    state.unweighted.places = Rows(places.narrow(0, 0, sink.end() - begin));
    return state;
  }
  const std::int64_t buckets = state.unweighted.histogram.numel();
  auto* const histogram =
      state.unweighted.histogram.mutable_data_ptr<std::int64_t>();
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
    // The error should report the first invalid value.
    fill_some(0, rows, histogram);
  }
  return state;
}

template <class Fill>
CurveState CurveReader::weigh_rows(std::int64_t rows, const Fill& fill) const {
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
    state.weighted.places = Rows(places.narrow(0, 0, count));
    state.weights = Rows(weights.narrow(0, 0, count));
    return state;
  }
  const std::int64_t buckets = 2 * state.curves * state.columns;
  const std::int64_t threads =
      at::in_parallel_region() ? 1 : at::get_num_threads();
  const std::int64_t parts = std::clamp<std::int64_t>(
      rows / rows_per_thread(state.curves, buckets), 1, threads);
  // Added in order, so that sums are reproducible.
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
  // The error should report the first invalid value.
  if (refused) fill_some(0, rows, 0);
  state.weighted.histogram =
      (parts == 1 ? sums : sums.sum(0)).view({state.curves, 2, state.columns});
  return state;
}

}  // namespace tally::internal::classification
