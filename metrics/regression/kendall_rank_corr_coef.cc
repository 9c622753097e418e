#include "tally/metrics/regression/kendall_rank_corr_coef.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/regression/inputs/inputs.h"
#include "tally/metrics/regression/kernels/pair_ranks.h"

namespace tally {

namespace regression = internal::regression;

namespace {

using regression::PairCounts;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double tau_of(const PairCounts& counts, KendallVariant variant) {
  if (counts.samples < 2) return kNaN;
  const auto n = static_cast<double>(counts.samples);
  const double pairs = n * (n - 1) / 2;
  const double difference = counts.concordant_less_discordant;
  double tau = difference / pairs;
  if (variant == KendallVariant::kB) {
    tau = difference / std::sqrt(pairs - counts.x.pairs) /
          std::sqrt(pairs - counts.y.pairs);
  } else if (variant == KendallVariant::kC) {
    const auto classes =
        static_cast<double>(std::min(counts.x.distinct, counts.y.distinct));
    tau = 2 * difference / (n * n * (classes - 1) / classes);
  }
  return std::clamp(tau, -1.0, 1.0);
}

double p_value_of(const PairCounts& counts, KendallVariant variant,
                  Alternative alternative) {
  if (counts.samples < 2) return kNaN;
  const auto n = static_cast<double>(counts.samples);
  double variance = n * (n - 1) * (2 * n + 5) / 18;
  if (variant != KendallVariant::kA) {
    variance -= (counts.x.spread + counts.y.spread) / 18;
    variance += 2 * counts.x.pairs * counts.y.pairs / (n * (n - 1));
    // Of two samples there are no triples.
    if (counts.samples > 2) {
      variance +=
          counts.x.triples * counts.y.triples / (9 * n * (n - 1) * (n - 2));
    }
  }
  const double z = counts.concordant_less_discordant / std::sqrt(variance);
  const auto below = [](double value) {
    return std::erfc(-value / std::sqrt(2.0)) / 2;
  };
  switch (alternative) {
    case Alternative::kTwoSided:
      return 2 * below(-std::abs(z));
    case Alternative::kLess:
      return below(z);
    case Alternative::kGreater:
      return below(-z);
  }
  return kNaN;
}

}  // namespace

void KendallRankCorrCoefOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

KendallResult KendallRankCorrCoef::evaluate(const State& state) const {
  const std::int64_t outputs = options().num_outputs();
  at::Tensor tau = regression::undefined_outputs(outputs);
  at::Tensor p_value;
  if (options().t_test()) p_value = regression::undefined_outputs(outputs);
  if (state.preds.defined() && state.target.defined()) {
    const auto columns = [&](const Rows& rows) {
      return rows.tensor().to(at::kCPU).reshape({-1, outputs});
    };
    const at::Tensor preds = columns(state.preds);
    const at::Tensor target = columns(state.target);
    for (std::int64_t i = 0; i < outputs; ++i) {
      const auto counts =
          regression::count_pairs(preds.select(1, i), target.select(1, i));
      if (!counts) continue;
      tau.mutable_data_ptr<double>()[i] = tau_of(*counts, options().variant());
      if (p_value.defined()) {
        p_value.mutable_data_ptr<double>()[i] =
            p_value_of(*counts, options().variant(), options().alternative());
      }
    }
  }
  if (outputs > 1) return {tau, p_value};
  return {tau.squeeze(0), p_value.defined() ? p_value.squeeze(0) : p_value};
}

}  // namespace tally
