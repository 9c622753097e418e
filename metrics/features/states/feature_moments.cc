#include "tally/metrics/features/states/feature_moments.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/features/inputs/checked_samples.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace features = internal::features;

namespace {

using features::Moments;

// Deviations of each row but the first from the mean of those before it, so
// scaled that the sum of their products is that of the deviations from the mean
// of all (Welford 1962).
at::Tensor scaled_steps(const at::Tensor& rows) {
  const std::int64_t count = rows.size(0) - 1;
  const at::Tensor before =
      at::arange(1, count + 1, rows.options()).unsqueeze(1);
  const at::Tensor means = rows.narrow(0, 0, count).cumsum(0).div(before);
  return rows.narrow(0, 1, count)
      .sub(means)
      .mul(before.div(before.add(1)).sqrt());
}

// The same in one pass, of float64 rows without a graph.
at::Tensor plain_steps(const at::Tensor& rows) {
  const std::int64_t count = rows.size(0) - 1, dims = rows.size(1);
  at::Tensor steps = internal::fresh_tensor({count, dims}, at::kDouble);
  const auto* row = rows.const_data_ptr<double>();
  auto* to = steps.mutable_data_ptr<double>();
  std::vector<double> sums(row, row + dims);
  for (std::int64_t k = 1; k <= count; ++k, to += dims) {
    row += dims;
    const auto before = static_cast<double>(k);
    const double scale = std::sqrt(before / (before + 1));
    for (std::int64_t i = 0; i < dims; ++i) {
      to[i] = (row[i] - sums[i] / before) * scale;
      sums[i] += row[i];
    }
  }
  return steps;
}

void check_fit(const Moments& a, const Moments& b) {
  TORCH_CHECK_VALUE(
      a.mean.sizes() == b.mean.sizes() && a.mean.device() == b.mean.device(),
      "expected features of one number of columns on one device, "
      "got ",
      a.dims(), " on ", a.mean.device(), " and ", b.dims(), " on ",
      b.mean.device());
}

}  // namespace

Moments features::moments_of(const at::Tensor& features) {
  Moments moments;
  moments.total = features.size(0);
  if (moments.total == 0) return moments;
  const at::Tensor wide = features.to(at::kDouble);
  const at::Tensor first = wide.select(0, 0).detach();
  const at::Tensor moved = wide.sub(first);
  const at::Tensor mean = moved.mean(0);
  moments.mean = first.add(mean);
  if (moments.has_rows()) {
    moments.scatter =
        internal::is_plain(moved) ? plain_steps(moved) : scaled_steps(moved);
  } else {
    // Rows may be many: one copy of them less.
    const at::Tensor centered =
        moved.requires_grad() ? moved.sub(mean) : moved.sub_(mean);
    moments.scatter = centered.t().matmul(centered);
  }
  return moments;
}

Moments features::merged(const Moments& a, const Moments& b) {
  if (a.total == 0) return b;
  if (b.total == 0) return a;
  check_fit(a, b);
  Moments all;
  all.total = a.total + b.total;
  const double part =
      static_cast<double>(b.total) / static_cast<double>(all.total);
  const at::Tensor step = b.mean.sub(a.mean);
  all.mean = a.mean.add(step, part);
  std::vector<at::Tensor> rows;
  at::Tensor products;
  for (const Moments* moments : {&a, &b}) {
    if (moments->has_rows()) {
      rows.push_back(moments->scatter);
    } else {
      products = products.defined() ? products.add(moments->scatter)
                                    : moments->scatter;
    }
  }
  rows.push_back(
      step.mul(std::sqrt(static_cast<double>(a.total) * part)).unsqueeze(0));
  const at::Tensor factor = at::cat(rows);
  if (all.has_rows()) {
    all.scatter = factor;
  } else {
    all.scatter = products.defined() ? at::addmm(products, factor.t(), factor)
                                     : factor.t().matmul(factor);
  }
  return all;
}

FeatureMoments::State FeatureMoments::State::merge(const State& a,
                                                   const State& b) {
  State merged{features::merged(a.real, b.real),
               features::merged(a.generated, b.generated)};
  if (merged.real.total > 0 && merged.generated.total > 0) {
    check_fit(merged.real, merged.generated);
  }
  return merged;
}

FeatureMoments::State FeatureMoments::observe(const at::Tensor& features,
                                              const at::Tensor& real) const {
  const auto samples = features::separated(features, real, {}, options_);
  return {features::moments_of(samples.real.features),
          features::moments_of(samples.generated.features)};
}

}  // namespace tally
