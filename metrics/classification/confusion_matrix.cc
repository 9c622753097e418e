#include "tally/metrics/classification/confusion_matrix.h"

#include <ATen/EmptyTensor.h>

#include <cmath>

#include "tally/metrics/classification/stat_scores.h"
#include "tally/metrics/common/constants.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

namespace {

at::Tensor as_counts(const classification::CountRows& rows,
                     const at::Tensor& values) {
  if (rows.is_weighted()) return values;
  if (!values.is_cpu() || !values.is_contiguous()) {
    return values.isnan().any().item().toBool() ? values : values.to(at::kLong);
  }
  at::Tensor counts = internal::fresh_tensor(values.sizes(), at::kLong);
  const auto* const value = values.const_data_ptr<double>();
  auto* const count = counts.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    if (std::isnan(value[i])) return values;
    count[i] = static_cast<std::int64_t>(value[i]);
  }
  return counts;
}

// {{tn, fp}, {fn, tp}}.
void fill_matrix(const classification::ClassCounts& c, Normalize normalize,
                 double* out) {
  const double of_zeros = c.total - c.target;
  const double not_predicted = c.total - c.predicted;
  double divisors[4] = {1, 1, 1, 1};
  switch (normalize) {
    case Normalize::kNone:
      break;
    case Normalize::kTrue:
      divisors[0] = divisors[1] = of_zeros;
      divisors[2] = divisors[3] = c.target;
      break;
    case Normalize::kPred:
      divisors[0] = divisors[2] = not_predicted;
      divisors[1] = divisors[3] = c.predicted;
      break;
    case Normalize::kAll:
      for (double& divisor : divisors) divisor = c.total;
      break;
  }
  const double counts[4] = {c.tn(), c.fp(), c.fn(), c.tp};
  for (int i = 0; i < 4; ++i) {
    out[i] = c.nans > 0 ? internal::kNaN
                        : classification::divide(counts[i], divisors[i], 0);
  }
}

// Of each label, or (`single`) without a dimension for the only one.
at::Tensor matrices(const classification::CountRows& rows, Normalize normalize,
                    bool single) {
  const auto fill = [&](const classification::CountsRow& row, double* out) {
    for (const classification::ClassCounts& counts : row.classes) {
      fill_matrix(counts, normalize, out);
      out += 4;
    }
  };
  const at::Tensor values = single ? rows.values({2, 2}, fill)
                                   : rows.values({rows.classes(), 2, 2}, fill);
  return normalize == Normalize::kNone ? as_counts(rows, values) : values;
}

constexpr int kScores = 5;

void add_scores(const classification::ClassCounts& c, double factor,
                double* out) {
  const double scores[kScores] = {c.tp, c.fp(), c.tn(), c.fn(), c.target};
  for (int i = 0; i < kScores; ++i) {
    out[i] += c.nans > 0 ? internal::kNaN : factor * scores[i];
  }
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

at::Tensor BinaryConfusionMatrix::evaluate(const State& state) const {
  return matrices(classification::rows_of(state, options().multidim_average()),
                  options().normalize(), /*single=*/true);
}

at::Tensor MultilabelConfusionMatrix::evaluate(const State& state) const {
  return matrices(classification::rows_of(state, options()),
                  options().normalize(),
                  /*single=*/false);
}

at::Tensor MulticlassConfusionMatrix::evaluate(const State& state) const {
  return classification::confusion_matrix_of(state, options().num_classes(),
                                             options().normalize());
}

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

template class MetricOf<BinaryConfusionMatrix, BinaryCounts, at::Tensor,
                        BinaryConfusionMatrixOptions>;
template class MetricOf<MulticlassConfusionMatrix, MulticlassConfusion,
                        at::Tensor, MulticlassConfusionMatrixOptions>;
template class MetricOf<MultilabelConfusionMatrix, MultilabelCounts, at::Tensor,
                        MultilabelConfusionMatrixOptions>;
template class MetricOf<BinaryStatScores, BinaryCounts, at::Tensor,
                        BinaryStatScoresOptions>;
template class MetricOf<MulticlassStatScores, MulticlassCounts, at::Tensor,
                        MulticlassStatScoresOptions>;
template class MetricOf<MultilabelStatScores, MultilabelCounts, at::Tensor,
                        MultilabelStatScoresOptions>;

}  // namespace tally
