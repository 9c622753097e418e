#pragma once

#include <c10/util/Exception.h>

#include <optional>
#include <type_traits>

#include "tally/metrics/common/block_sums.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/fused.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"
#include "tally/metrics/regression/states/fused_errors.h"
#include "tally/state/detected.h"
#include "tally/state/fresh_tensor.h"

/// The loops of ErrorSums.
namespace tally::internal::regression {

template <class Error>
using DomainOf = decltype(std::declval<const Error&>().domain());

template <class Error>
using SumsOf = decltype(std::declval<const Error&>().sums(
    std::declval<const float*>(), std::declval<const float*>(),
    std::int64_t{}));

template <class Options>
using OutputsOf = decltype(std::declval<const Options&>().num_outputs());

/// Sums the elements [begin, end); `weight_at(i)` is the weight of an element.
template <bool kWeighted, class Error, class T, class WeightAt>
PlainSums sum_errors(const Error& error, const T* preds, const T* target,
                     std::int64_t begin, std::int64_t end,
                     const WeightAt& weight_at) {
  PlainSums sums;
  const auto term = [&](std::int64_t i) {
    const auto p = static_cast<double>(preds[i]);
    const auto t = static_cast<double>(target[i]);
    if constexpr (kHas<DomainOf, Error>) sums.valid &= error.valid(p, t);
    return error(p, t);
  };
  if constexpr (!kWeighted && kHas<SumsOf, Error>) {
    std::optional<PlainSums> fast =
        error.sums(preds + begin, target + begin, end - begin);
    if (!fast) {
      fast = kernel_sums(error, preds + begin, target + begin, end - begin);
    }
    if (fast) return *fast;
  }
  if constexpr (!kWeighted && !kHas<ScaleOf, Error>) {
    sums.sum =
        sum_terms(end - begin, [&](std::int64_t i) { return term(begin + i); });
    sums.weight = static_cast<double>(end - begin);
  } else {
    for (std::int64_t i = begin; i < end; ++i) {
      double weight = weight_at(i);
      sums.sum += weight * term(i);
      if constexpr (kHas<ScaleOf, Error>) {
        weight *= error.scale(static_cast<double>(target[i]));
      }
      sums.weight += weight;
    }
  }
  return sums;
}

/// Adds to sums [outputs]; returns their common weight.
template <class Error, class T, class WeightAt>
PlainSums sum_output_errors(const Error& error, const T* preds, const T* target,
                            std::int64_t rows, std::int64_t outputs,
                            const WeightAt& weight_at, double* sums) {
  PlainSums total;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double weight = weight_at(row);
    total.weight += weight;
    for (std::int64_t i = 0; i < outputs; ++i) {
      const auto p = static_cast<double>(*preds++);
      const auto t = static_cast<double>(*target++);
      if constexpr (kHas<DomainOf, Error>) total.valid &= error.valid(p, t);
      sums[i] += weight * error(p, t);
    }
  }
  return total;
}

template <class Error>
void check_domain(const Error& error, bool valid, const Samples& samples) {
  if constexpr (kHas<DomainOf, Error>) {
    TORCH_CHECK_VALUE(valid, "expected ", error.domain(), ", got ",
                      first_invalid(samples.preds, samples.target,
                                    [&](double preds, double target) {
                                      return error.valid(preds, target);
                                    }));
  }
}

template <class Error>
ErrorState plain_error_sums(const Error& error, const Samples& samples,
                            std::int64_t outputs, bool validate) {
  const std::int64_t rows = samples.preds.numel() / outputs;
  ErrorState state;
  double* output_sums = nullptr;
  if (outputs > 1) {
    state.output_sums = fresh_zeros({outputs}, at::kDouble);
    output_sums = state.output_sums.mutable_data_ptr<double>();
  }
  const auto one = [](std::int64_t) { return 1.0; };
  const PlainSums sums = visit_values(
      samples.preds, samples.target, [&](const auto* p, const auto* t) {
        const auto sums_with = [&](const auto& weight_at, auto weighted) {
          if (output_sums != nullptr) {
            return sum_output_errors(error, p, t, rows, outputs, weight_at,
                                     output_sums);
          }
          return sum_blocks(rows, [&](std::int64_t begin, std::int64_t end) {
            return sum_errors<decltype(weighted)::value>(error, p, t, begin,
                                                         end, weight_at);
          });
        };
        if (!samples.weight.defined()) return sums_with(one, std::false_type());
        const at::Tensor weight = samples.weight.to(at::kDouble);
        const double* const w = weight.const_data_ptr<double>();
        return sums_with([w](std::int64_t i) { return w[i]; },
                         std::true_type());
      });
  if (validate) check_domain(error, sums.valid, samples);
  state.sum = sums.sum;
  state.weight = sums.weight;
  return state;
}

template <class Error>
ErrorState fused_error_sums(const Error& error, const ErrorKernel& kernel,
                            const Samples& samples, bool validate) {
  const at::Tensor preds = samples.preds.detach();
  const at::Tensor target = samples.target.detach();
  ErrorState state = plain_error_sums(error, {preds, target, samples.weight},
                                      /*outputs=*/1, validate);
  const at::Tensor sums =
      fused(c10::make_intrusive<FusedErrors<Error>>(error, kernel, state),
            {samples.preds, samples.target});
  state.sum = Number(sums.select(0, 0));
  if constexpr (kHas<ScaleOf, Error>) state.weight = Number(sums.select(0, 1));
  return state;
}

template <class Error>
ErrorState tensor_error_sums(const Error& error, const Samples& samples,
                             std::int64_t outputs, bool validate) {
  const at::Tensor preds = samples.preds.to(at::kDouble);
  const at::Tensor target = samples.target.to(at::kDouble);
  if constexpr (kHas<DomainOf, Error>) {
    if (validate) {
      check_domain(error, error.valid(preds, target).all().item().toBool(),
                   samples);
    }
  }
  at::Tensor errors = error(preds, target);
  at::Tensor weight;
  if (samples.weight.defined()) {
    weight = samples.weight.detach().to(at::kDouble);
    weight = outputs == 1 ? weight.reshape(preds.sizes()) : weight.unsqueeze(1);
    errors = errors.mul(weight);
  }
  ErrorState state;
  if constexpr (kHas<ScaleOf, Error>) {
    const at::Tensor scales = error.scale(target);
    weight = weight.defined() ? scales.mul(weight) : scales;
  }
  state.weight =
      weight.defined() ? Number(weight.sum()) : Number(preds.numel() / outputs);
  if (outputs == 1) {
    state.sum = Number(errors.sum());
  } else {
    state.output_sums = errors.sum(0);
  }
  return state;
}

template <class Error>
ErrorState error_sums(const Error& error, const Samples& samples,
                      std::int64_t outputs, bool validate) {
  if (samples.are_plain()) {
    return plain_error_sums(error, samples, outputs, validate);
  }
  if (outputs == 1 && !samples.weight.defined() &&
      are_fusible({samples.preds, samples.target})) {
    if (const std::optional<ErrorKernel> kernel = kernel_of(error)) {
      return fused_error_sums(error, *kernel, samples, validate);
    }
  }
  return tensor_error_sums(error, samples, outputs, validate);
}

}  // namespace tally::internal::regression

namespace tally {

template <class Error>
ErrorSums<Error>::ErrorSums(const Options& options,
                            const MetricOptions& metric_options)
    : error_(options),
      num_outputs_(1),
      nan_policy_(metric_options.nan_policy()),
      validate_(metric_options.validate_args()) {
  if constexpr (internal::kHas<internal::regression::OutputsOf, Options>) {
    num_outputs_ = options.num_outputs();
  }
}

template <class Error>
ErrorState ErrorSums<Error>::observe(const at::Tensor& preds,
                                     const at::Tensor& target,
                                     const at::Tensor& weight) const {
  internal::regression::check_outputs(preds, target, num_outputs_);
  if (weight.defined()) {
    internal::regression::check_weight(preds, weight, num_outputs_, validate_);
  }
  return internal::regression::observe_by_policy(
      {preds, target, weight}, num_outputs_, nan_policy_,
      [this](const internal::regression::Samples& samples) {
        return internal::regression::error_sums(error_, samples, num_outputs_,
                                                validate_);
      });
}

template <class Error>
at::Tensor ErrorSums<Error>::row_sums(Inputs inputs) const {
  if constexpr (internal::kHas<internal::regression::ScaleOf, Error>) {
    (void)inputs;
    return {};
  } else {
    const at::Tensor preds = internal::float64_column(inputs, 0);
    const at::Tensor target = internal::float64_column(inputs, 1);
    if (num_outputs_ != 1 || !preds.defined() || !target.defined()) return {};
    at::Tensor errors = internal::fresh_tensor({preds.size(0)}, at::kDouble);
    const auto* const p = preds.const_data_ptr<double>();
    const auto* const t = target.const_data_ptr<double>();
    auto* const error = errors.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < preds.size(0); ++i)
      error[i] = error_(p[i], t[i]);
    return internal::weighted_terms(errors, inputs, 2);
  }
}

}  // namespace tally
