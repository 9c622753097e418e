#include "tally/metrics/classification/confusion_matrix.h"

#include <ATen/ops/full.h>

#include <cmath>
#include <limits>

#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
    out[i] =
        c.nans > 0 ? kNaN : classification::divide(counts[i], divisors[i], 0);
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
  return normalize == Normalize::kNone && !rows.is_weighted() &&
                 !values.isnan().any().item().toBool()
             ? values.to(at::kLong)
             : values;
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
  const std::int64_t classes = options().num_classes();
  at::Tensor counts = state.matrix();
  if (state.sums.defined()) {
    counts = counts.defined() ? counts.add(state.sums) : state.sums;
  }
  if (!counts.defined())
    counts = internal::fresh_zeros({classes, classes}, at::kLong);
  if (state.nans.value() > 0) {
    return at::full({classes, classes}, kNaN,
                    counts.options().dtype(at::kDouble));
  }
  at::Tensor divisors;
  switch (options().normalize()) {
    case Normalize::kNone:
      return counts;
    case Normalize::kTrue:
      divisors = counts.sum(1, /*keepdim=*/true);
      break;
    case Normalize::kPred:
      divisors = counts.sum(0, /*keepdim=*/true);
      break;
    case Normalize::kAll:
      divisors = counts.sum();
      break;
  }
  // Where the divisor is 0, so are the counts.
  return counts.to(at::kDouble).div(divisors.masked_fill(divisors.eq(0), 1));
}

}  // namespace tally
