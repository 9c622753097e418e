#include "tally/metrics/text/token_error_rate.h"

namespace tally {
namespace {

double value_of(EditMeasure measure, const EditErrorsState& state) {
  switch (measure) {
    case EditMeasure::kErrorRate:
      return internal::text::error_rate(state);
    case EditMeasure::kMatchErrorRate:
      return internal::text::match_error_rate(state);
    case EditMeasure::kInformationLost:
      return 1 - internal::text::information_preserved(state);
    case EditMeasure::kInformationPreserved:
      return internal::text::information_preserved(state);
  }
  return 0;
}

}  // namespace

at::Tensor TokenErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(value_of(options().measure(), state));
}

}  // namespace tally
