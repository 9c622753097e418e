#include "tally/metrics/sampling.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <string>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/metric.h"

namespace tally {

namespace {

// A bound of a range as its text begins; NaN if it is none.
double bound_of(std::string_view& text) {
  const std::size_t end = text.find_first_of(",])");
  if (end == text.npos) return internal::kNaN;
  std::string_view word = text.substr(0, end);
  text.remove_prefix(end + 1);
  while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
  const bool is_negative = !word.empty() && word.front() == '-';
  if (is_negative) word.remove_prefix(1);
  double bound = internal::kNaN;
  if (word == "inf") {
    bound = internal::kInfinity;
  } else {
    const std::string digits(word);
    char* rest = nullptr;
    bound = std::strtod(digits.c_str(), &rest);
    if (digits.empty() || *rest != 0) bound = internal::kNaN;
  }
  return is_negative ? -bound : bound;
}

}  // namespace

MetricSampling Metric::sampling() const { return {}; }

ValueRange ValueRange::parse(std::string_view text) {
  ValueRange range;
  if (text.empty() || (text.front() != '[' && text.front() != '(')) return {};
  text.remove_prefix(1);
  range.low = bound_of(text);
  range.high = bound_of(text);
  return range.low < range.high ? range : ValueRange();
}

double deciding_rows(const MetricSampling& sampling, const AnyState& state) {
  if (sampling.deciding) return sampling.deciding(state);
  if (sampling.pairs) {
    std::mutex mutex;  // visited from any thread
    double fewest = internal::kNaN;
    sampling.pairs->visit(
        state, [&](std::int64_t, const ScoredSamples& samples) {
          const double own = std::min(samples.positives, samples.negatives);
          const std::lock_guard<std::mutex> lock(mutex);
          if (!(fewest <= own)) fewest = own;
        });
    return fewest == fewest ? fewest : 0;
  }
  if (!sampling.scores) return internal::kNaN;
  double positives = 0;
  for (const ScoreSampling::Kept& kept : sampling.scores->kept(state)) {
    if (kept.target.size() == 0) continue;
    positives += kept.target.tensor().eq(1).sum().item<double>();
  }
  return positives;
}

ScoredSamples scored_samples(const at::Tensor& scores, const at::Tensor& target,
                             const at::Tensor& weight) {
  ScoredSamples samples;
  samples.is_weighted = weight.defined();
  const auto* const score = scores.const_data_ptr<double>();
  const auto* const label = target.const_data_ptr<double>();
  const auto* const weights =
      samples.is_weighted ? weight.const_data_ptr<double>() : nullptr;
  std::vector<std::size_t> order(static_cast<std::size_t>(scores.numel()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
  double last = 0;
  for (const std::size_t row : order) {
    const double w = weights == nullptr ? 1 : weights[row];
    if (w == 0) continue;
    if (samples.groups.empty() || score[row] != last) {
      samples.groups.emplace_back();
      last = score[row];
    }
    ScoreGroup& group = samples.groups.back();
    const bool is_positive = label[row] == 1;
    (is_positive ? group.positives : group.negatives) += w;
    (is_positive ? group.squared_positives : group.squared_negatives) += w * w;
    ++(is_positive ? samples.positives : samples.negatives);
  }
  return samples;
}

namespace internal {

at::Tensor float64_column(Inputs inputs, std::size_t place) {
  const auto* const tensor = inputs[place].as<at::Tensor>();
  if (tensor == nullptr || tensor->dim() != 1 || !tensor->is_cpu() ||
      tensor->isnan().any().item<bool>()) {
    return {};
  }
  return tensor->detach().to(at::kDouble).contiguous();
}

at::Tensor weighted_terms(const at::Tensor& terms, Inputs inputs,
                          std::size_t place) {
  if (inputs.size() <= place || inputs[place].is_none()) {
    return at::stack({terms, at::ones_like(terms)}, 1);
  }
  const at::Tensor weight = float64_column(inputs, place);
  if (!weight.defined() || weight.sizes() != terms.sizes()) return {};
  return at::stack({terms.mul(weight), weight}, 1);
}

}  // namespace internal
}  // namespace tally
