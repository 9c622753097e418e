#include "tally/metrics/classification/f_score.h"

#include <c10/util/Exception.h>

#include <cmath>

namespace tally {
namespace internal::classification {

void check_beta(const char* metric, double beta) {
  TORCH_CHECK_VALUE(beta >= 0 && std::isfinite(beta), metric,
                    ": expected beta of at least 0, got ", beta);
}

}  // namespace internal::classification

namespace classification = internal::classification;

namespace {

auto value_with(double beta, double zero) {
  return [=](const classification::ClassCounts& c) {
    const double b2 = beta * beta;
    return classification::divide((1 + b2) * c.tp, b2 * c.target + c.predicted,
                                  zero);
  };
}

}  // namespace

at::Tensor BinaryFBetaScore::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro,
                value_with(options().beta(), options().zero_division()));
}

at::Tensor BinaryF1Score::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(1, options().zero_division()));
}

at::Tensor MulticlassFBetaScore::evaluate(const State& state) const {
  return classification::average_classes(
      state, options(),
      value_with(options().beta(), options().zero_division()));
}

at::Tensor MulticlassF1Score::evaluate(const State& state) const {
  return classification::average_classes(
      state, options(), value_with(1, options().zero_division()));
}

at::Tensor MultilabelFBetaScore::evaluate(const State& state) const {
  return classification::average_labels(
      state, options(),
      value_with(options().beta(), options().zero_division()));
}

at::Tensor MultilabelF1Score::evaluate(const State& state) const {
  return classification::average_labels(
      state, options(), value_with(1, options().zero_division()));
}

}  // namespace tally
