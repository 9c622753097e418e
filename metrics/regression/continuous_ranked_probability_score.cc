#include "tally/metrics/regression/continuous_ranked_probability_score.h"

#include <ATen/ops/arange.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"
#include "tally/metrics/regression/inputs/inputs.h"
#include "tally/metrics/regression/kernels/row_kernels.h"

namespace tally {

namespace regression = internal::regression;

namespace {

using State = EnsembleScores::State;

// With errors e_0 <= e_1 <= ..., the sum of all |e_i - e_j| is that of
// 2 (2 i - M + 1) e_i.
template <class T>
double sum_of_scores(const T* preds, const T* target, std::int64_t count,
                     std::int64_t members) {
  std::vector<double> errors(members);
  const auto size = static_cast<double>(members);
  double sum = 0;
  for (std::int64_t row = 0; row < count; ++row) {
    const auto t = static_cast<double>(target[row]);
    for (std::int64_t i = 0; i < members; ++i) {
      errors[i] = static_cast<double>(*preds++) - t;
      // Not to be sorted.
      if (std::isnan(errors[i])) return errors[i];
    }
    std::sort(errors.begin(), errors.end());
    double absolute = 0, spread = 0;
    for (std::int64_t i = 0; i < members; ++i) {
      absolute += std::abs(errors[i]);
      spread += static_cast<double>(2 * i - members + 1) * errors[i];
    }
    sum += absolute / size - spread / (size * size);
  }
  return sum;
}

at::Tensor sum_of_scores(const at::Tensor& preds, const at::Tensor& target) {
  const std::int64_t members = preds.size(1);
  const auto size = static_cast<double>(members);
  const at::Tensor errors =
      preds.to(at::kDouble).sub(target.to(at::kDouble).unsqueeze(1));
  const at::Tensor sorted = std::get<0>(errors.sort(1));
  const at::Tensor factors =
      at::arange(members, sorted.options().requires_grad(false))
          .mul(2)
          .sub(static_cast<double>(members - 1));
  return errors.abs()
      .sum(1)
      .div(size)
      .sub(sorted.mul(factors).sum(1).div(size * size))
      .sum();
}

State scores(const at::Tensor& preds, const at::Tensor& target) {
  State state;
  state.total = preds.size(0);
  if (internal::is_plain(preds) && internal::is_plain(target)) {
    state.sum = internal::visit_values(
        preds, target, [&](const auto* p, const auto* t) {
          const std::int64_t members = preds.size(1);
          return members <= regression::kFewMembers
                     ? regression::ensemble_score_sum(p, t, state.total,
                                                      members)
                     : sum_of_scores(p, t, state.total, members);
        });
  } else {
    state.sum = Number(sum_of_scores(preds, target));
  }
  return state;
}

}  // namespace

bool State::has_nan() const { return std::isnan(sum.value()); }

State EnsembleScores::observe(const at::Tensor& preds,
                              const at::Tensor& target) const {
  internal::check_real("preds", preds);
  internal::check_real("target", target);
  internal::check_same_device("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      preds.dim() == 2 && preds.size(1) > 0 && target.dim() == 1 &&
          target.size(0) == preds.size(0),
      "expected preds of shape [N, M], M at least 1, and target of shape [N], "
      "got ",
      preds.sizes(), " and ", target.sizes());
  if (preds.is_cpu() || nan_policy_ == NanPolicy::kPropagate) {
    State state = scores(preds, target);
    if (nan_policy_ == NanPolicy::kPropagate || !state.has_nan()) return state;
  }
  const at::Tensor none;
  const at::Tensor columns = target.unsqueeze(1);
  const regression::KeptSamples kept = regression::handle_nan(
      {preds, columns, none}, regression::kWholeRows, nan_policy_);
  return scores(kept.preds, kept.target.squeeze(1));
}

}  // namespace tally
