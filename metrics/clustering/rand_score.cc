#include "tally/metrics/clustering/rand_score.h"

#include <limits>

#include "tally/metrics/clustering/kernels/pairs_of_samples.h"
#include "tally/metrics/tables/contingency.h"

namespace tally {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

at::Tensor RandScore::evaluate(const State& state) const {
  const auto table = internal::tables::contingency_of(state);
  if (table.total == 0) return internal::scalar_tensor(kNaN);
  const internal::clustering::PairsOfSamples pairs(table);
  const double disagreeing = pairs.preds_only + pairs.target_only;
  if (disagreeing == 0) return internal::scalar_tensor(1.0);
  const double agreeing = pairs.both + pairs.none;
  return internal::scalar_tensor(agreeing / (agreeing + disagreeing));
}

at::Tensor AdjustedRandScore::evaluate(const State& state) const {
  const auto table = internal::tables::contingency_of(state);
  if (table.total == 0) return internal::scalar_tensor(kNaN);
  const internal::clustering::PairsOfSamples pairs(table);
  const auto [tp, fp, fn, tn] = pairs;
  if (fp == 0 && fn == 0) return internal::scalar_tensor(1.0);
  // The difference is of products that are not larger than what divides it:
  // rounding them costs no more than the last digits of the score.
  return internal::scalar_tensor(
      2 * (tp * tn - fn * fp) /
      ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)));
}

}  // namespace tally
