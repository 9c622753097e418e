#include "tally/metrics/classification/stat_scores.h"

#include <ATen/EmptyTensor.h>

#include <cmath>
#include <limits>

namespace tally {

namespace classification = internal::classification;

namespace {

constexpr int kScores = 5;

void add_scores(const classification::ClassCounts& c, double factor,
                double* out) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double scores[kScores] = {c.tp, c.fp(), c.tn(), c.fn(), c.target};
  for (int i = 0; i < kScores; ++i) {
    out[i] += c.nans > 0 ? nan : factor * scores[i];
  }
}

at::Tensor as_counts(const classification::CountRows& rows,
                     const at::Tensor& values) {
  if (rows.is_weighted() || values.isnan().any().item().toBool()) return values;
  return values.to(at::kLong);
}

at::Tensor scores_of(const classification::CountRows& rows, Average average) {
  switch (average) {
    case Average::kMicro:
      return as_counts(rows,
                       rows.values(kScores, [](const auto& row, double* out) {
                         std::fill_n(out, kScores, 0);
                         add_scores(row.sum(), 1, out);
                       }));
    case Average::kNone:
      return as_counts(rows,
                       rows.values({rows.classes(), kScores},
                                   [](const auto& row, double* out) {
                                     for (const auto& counts : row.classes) {
                                       std::fill_n(out, kScores, 0);
                                       add_scores(counts, 1, out);
                                       out += kScores;
                                     }
                                   }));
    default:
      return rows.values(kScores, [&](const auto& row, double* out) {
        const double targets = row.sum().target;
        std::fill_n(out, kScores, 0);
        for (const auto& counts : row.classes) {
          add_scores(counts,
                     average == Average::kMacro
                         ? 1.0 / static_cast<double>(rows.classes())
                         : classification::divide(counts.target, targets, 0),
                     out);
        }
      });
  }
}

}  // namespace

at::Tensor BinaryStatScores::evaluate(const State& state) const {
  return scores_of(classification::rows_of(state, options().multidim_average()),
                   Average::kMicro);
}

at::Tensor MulticlassStatScores::evaluate(const State& state) const {
  return scores_of(classification::rows_of(state, options()),
                   options().average());
}

at::Tensor MultilabelStatScores::evaluate(const State& state) const {
  if (options().averages_samples()) {
    const classification::LabelledSamples samples =
        classification::samples_of(state);
    const at::Tensor scores =
        scores_of(samples.rows, Average::kMicro).to(at::kDouble);
    const at::Tensor& weights = samples.weights;
    if (!weights.defined()) return scores.mean(0);
    return scores.mul(weights.unsqueeze(1)).sum(0).div(weights.sum());
  }
  return scores_of(classification::rows_of(state, options()),
                   static_cast<Average>(options().average()));
}

}  // namespace tally
