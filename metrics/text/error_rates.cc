#include "tally/metrics/text/char_error_rate.h"
#include "tally/metrics/text/edit_distance.h"
#include "tally/metrics/text/match_error_rate.h"
#include "tally/metrics/text/token_edit_distance.h"
#include "tally/metrics/text/token_error_rate.h"
#include "tally/metrics/text/word_error_rate.h"
#include "tally/metrics/text/word_info_lost.h"
#include "tally/metrics/text/word_info_preserved.h"

namespace tally {
namespace {

namespace text = internal::text;

double rate_of(EditMeasure measure, const EditErrorsState& state) {
  switch (measure) {
    case EditMeasure::kErrorRate:
      return text::error_rate(state);
    case EditMeasure::kMatchErrorRate:
      return text::match_error_rate(state);
    case EditMeasure::kInformationLost:
      return 1 - text::information_preserved(state);
    case EditMeasure::kInformationPreserved:
      return text::information_preserved(state);
  }
  return 0;
}

}  // namespace

at::Tensor EditDistance::evaluate(const State& state) const {
  return text::reduce_distances(state, options().reduction());
}

at::Tensor TokenEditDistance::evaluate(const State& state) const {
  return text::reduce_distances(state, options().reduction());
}

at::Tensor CharErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(text::error_rate(state));
}

at::Tensor WordErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(text::error_rate(state));
}

at::Tensor MatchErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(text::match_error_rate(state));
}

at::Tensor WordInfoLost::evaluate(const State& state) const {
  return internal::scalar_tensor(1 - text::information_preserved(state));
}

at::Tensor WordInfoPreserved::evaluate(const State& state) const {
  return internal::scalar_tensor(text::information_preserved(state));
}

at::Tensor TokenErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(rate_of(options().measure(), state));
}

template class MetricOf<CharErrorRate, CharErrors, at::Tensor>;
template class MetricOf<EditDistance, CharEditDistances, at::Tensor>;
template class MetricOf<MatchErrorRate, WordErrors, at::Tensor>;
template class MetricOf<TokenEditDistance, TokenEditDistances, at::Tensor>;
template class MetricOf<TokenErrorRate, TokenErrors, at::Tensor>;
template class MetricOf<WordErrorRate, WordErrors, at::Tensor>;
template class MetricOf<WordInfoLost, WordErrors, at::Tensor>;
template class MetricOf<WordInfoPreserved, WordErrors, at::Tensor>;

}  // namespace tally
