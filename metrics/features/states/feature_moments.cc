#include "tally/metrics/features/states/feature_moments.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/common/row_products.h"
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

// The same of plain rows [count, dims]. Their mean is added to `mean`, which is
// 0.
template <class T>
void fill_steps(const T* rows, std::int64_t count, std::int64_t dims,
                double* mean, double* to) {
  for (std::int64_t k = 1; k < count; ++k, to += dims) {
    const T* const row = rows + k * dims;
    const auto before = static_cast<double>(k);
    const double scale = std::sqrt(before / (before + 1));
    for (std::int64_t i = 0; i < dims; ++i) {
      const double moved =
          static_cast<double>(row[i]) - static_cast<double>(rows[i]);
      to[i] = (moved - mean[i] / before) * scale;
      mean[i] += moved;
    }
  }
  for (std::int64_t i = 0; i < dims; ++i) {
    mean[i] =
        static_cast<double>(rows[i]) + mean[i] / static_cast<double>(count);
  }
}

// Fills in the mean, and the steps or their products.
void set_plain(const at::Tensor& features, Moments& moments) {
  const std::int64_t count = features.size(0), dims = features.size(1);
  moments.mean = internal::fresh_zeros({dims}, at::kDouble);
  const bool has_rows = moments.has_rows();
  moments.scatter =
      internal::fresh_tensor({has_rows ? count - 1 : dims, dims}, at::kDouble);
  auto* const mean = moments.mean.mutable_data_ptr<double>();
  auto* const to = moments.scatter.mutable_data_ptr<double>();
  if (has_rows) {
    internal::visit_values(features, [=](const auto* rows) {
      fill_steps(rows, count, dims, mean, to);
    });
  } else if (features.scalar_type() == at::kFloat) {
    internal::mean_and_scatter(features.const_data_ptr<float>(), count, dims,
                               mean, to);
  } else {
    const at::Tensor wide = features.to(at::kDouble);
    internal::mean_and_scatter(wide.const_data_ptr<double>(), count, dims, mean,
                               to);
  }
}

// The same with a graph, or on a device.
void set_by_tensors(const at::Tensor& features, Moments& moments) {
  const at::Tensor wide = features.to(at::kDouble);
  const at::Tensor first = wide.select(0, 0).detach();
  const at::Tensor moved = wide.sub(first);
  const at::Tensor mean = moved.mean(0);
  moments.mean = first.add(mean);
  if (moments.has_rows()) {
    moments.scatter = scaled_steps(moved);
  } else {
    // Rows may be many: one copy of them less.
    const at::Tensor deviations =
        moved.requires_grad() ? moved.sub(mean) : moved.sub_(mean);
    moments.scatter = deviations.t().matmul(deviations);
  }
}

void check_fit(const Moments& a, const Moments& b) {
  TORCH_CHECK_VALUE(
      a.mean.sizes() == b.mean.sizes() && a.mean.device() == b.mean.device(),
      "expected features of one number of columns on one device, "
      "got ",
      a.dims(), " on ", a.mean.device(), " and ", b.dims(), " on ",
      b.mean.device());
}

// The mean of all, and, [1, D], the step from one mean to the other, so scaled
// that its products are what the scatters lack.
std::pair<at::Tensor, at::Tensor> mean_and_step(const Moments& a,
                                                const Moments& b) {
  const double part =
      static_cast<double>(b.total) / static_cast<double>(a.total + b.total);
  const double scale = std::sqrt(static_cast<double>(a.total) * part);
  if (!internal::is_plain(a.mean) || !internal::is_plain(b.mean)) {
    const at::Tensor step = b.mean.sub(a.mean);
    return {a.mean.add(step, part), step.mul(scale).unsqueeze(0)};
  }
  const std::int64_t dims = a.dims();
  at::Tensor mean = internal::fresh_tensor({dims}, at::kDouble);
  at::Tensor row = internal::fresh_tensor({1, dims}, at::kDouble);
  const auto* const from = a.mean.const_data_ptr<double>();
  const auto* const to = b.mean.const_data_ptr<double>();
  auto* const means = mean.mutable_data_ptr<double>();
  auto* const steps = row.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < dims; ++i) {
    const double step = to[i] - from[i];
    means[i] = from[i] + part * step;
    steps[i] = step * scale;
  }
  return {mean, row};
}

}  // namespace

Moments features::moments_of(const at::Tensor& features) {
  Moments moments;
  moments.total = features.size(0);
  if (moments.total == 0) return moments;
  if (internal::is_plain(features)) {
    set_plain(features, moments);
  } else {
    set_by_tensors(features, moments);
  }
  return moments;
}

Moments features::merged(const Moments& a, const Moments& b) {
  if (a.total == 0) return b;
  if (b.total == 0) return a;
  check_fit(a, b);
  Moments all;
  all.total = a.total + b.total;
  at::Tensor step;
  std::tie(all.mean, step) = mean_and_step(a, b);
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
  rows.push_back(step);
  const at::Tensor factor = at::cat(rows);
  if (all.has_rows()) {
    all.scatter = factor;
  } else if (!products.defined()) {
    all.scatter = factor.t().matmul(factor);
  } else if (rows.size() == 1) {
    // The sum of both, which nobody else has.
    all.scatter = products.addmm_(factor.t(), factor);
  } else {
    all.scatter = at::addmm(products, factor.t(), factor);
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
