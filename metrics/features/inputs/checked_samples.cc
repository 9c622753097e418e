#include "tally/metrics/features/inputs/checked_samples.h"

#include <ATen/ops/empty.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally::internal::features {
namespace {

void check_rows(const char* input, const at::Tensor& values,
                const char* features_input, const at::Tensor& features) {
  check_integral(input, values);
  check_real(input, values);
  TORCH_CHECK_VALUE(values.dim() == 1 && values.size(0) == features.size(0),
                    "expected ", input, " of shape [", features.size(0),
                    "], one for each row of ", features_input, ", got ",
                    values.sizes(),
                    shape_hint(features_input, features.sizes().slice(0, 1),
                               input, values.sizes()));
}

// REQUIRES: int64 on the CPU.
c10::ArrayRef<std::int64_t> numbers_in(const at::Tensor& flags) {
  return {flags.const_data_ptr<std::int64_t>(),
          static_cast<std::size_t>(flags.numel())};
}

void check_flags(const at::Tensor& flags) {
  for (const std::int64_t flag : numbers_in(flags)) {
    TORCH_CHECK_VALUE(flag == 0 || flag == 1,
                      "expected real to be 1 (real) or 0 (generated), got ",
                      flag);
  }
}

at::Tensor rows_of(const at::Tensor& all,
                   const std::vector<std::int64_t>& places) {
  if (!is_plain(all)) {
    return all.index_select(0, tensor_of(places).to(all.device()));
  }
  std::vector<std::int64_t> sizes = all.sizes().vec();
  const std::size_t row = all.nbytes() / static_cast<std::size_t>(sizes[0]);
  sizes[0] = static_cast<std::int64_t>(places.size());
  at::Tensor rows = at::empty(sizes, all.options());
  const auto* const from = static_cast<const char*>(all.const_data_ptr());
  auto* to = static_cast<char*>(rows.mutable_data_ptr());
  for (const std::int64_t place : places) {
    std::memcpy(to, from + static_cast<std::size_t>(place) * row, row);
    to += row;
  }
  return rows;
}

// The rows whose flag is 0, or those whose flag is not.
Samples rows_with(const Samples& all, const at::Tensor& flags, bool is_zero) {
  const auto numbers = numbers_in(flags);
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if ((numbers[i] == 0) == is_zero) {
      places.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (places.size() == numbers.size()) return all;
  return {rows_of(all.features, places),
          all.ids.defined() ? rows_of(all.ids, places) : at::Tensor()};
}

Samples none_of(const Samples& all) {
  return {all.features.narrow(0, 0, 0),
          all.ids.defined() ? all.ids.narrow(0, 0, 0) : at::Tensor()};
}

}  // namespace

Samples checked_samples(const char* input, const at::Tensor& features,
                        const at::Tensor& ids, const MetricOptions& options,
                        at::Tensor* flags) {
  check_real(input, features);
  TORCH_CHECK_VALUE(features.dim() == 2 && features.size(1) > 0, "expected ",
                    input, " of shape [N, D], D at least 1, got ",
                    features.sizes());
  if (flags) {
    check_integral("real", *flags);
    check_real("real", *flags);
    if (flags->dim() != 0) check_rows("real", *flags, input, features);
  }
  if (ids.defined()) check_rows("ids", ids, input, features);
  if (flags) {
    *flags = flags->to(at::kCPU, at::kLong).contiguous();
    if (options.validate_args()) check_flags(*flags);
  }
  const Samples all{features, ids.defined()
                                  ? ids.to(features.device(), at::kLong)
                                  : at::Tensor()};
  if (options.nan_policy() == NanPolicy::kPropagate || !has_nan(features)) {
    return all;
  }
  const at::Tensor nan = features.detach().isnan().any(1).to(at::kCPU);
  TORCH_CHECK_VALUE(options.nan_policy() == NanPolicy::kIgnore, "expected ",
                    input, " without NaN, got some in row ",
                    nan.to(at::kByte).argmax().item().toLong());
  const at::Tensor kept = nan.logical_not();
  if (flags && flags->dim() != 0) *flags = flags->masked_select(kept);
  return rows_with(all, kept.to(at::kLong), /*is_zero=*/false);
}

RealAndGenerated separated(const at::Tensor& features, const at::Tensor& real,
                           const at::Tensor& ids,
                           const MetricOptions& options) {
  at::Tensor flags = real;
  const Samples all =
      checked_samples("features", features, ids, options, &flags);
  if (flags.dim() == 0) {
    return flags.item().toLong() != 0 ? RealAndGenerated{all, none_of(all)}
                                      : RealAndGenerated{none_of(all), all};
  }
  return {rows_with(all, flags, /*is_zero=*/false),
          rows_with(all, flags, /*is_zero=*/true)};
}

at::Tensor rows_without_nan(const at::Tensor& a, const at::Tensor& b,
                            const char* what, NanPolicy policy) {
  if (policy == NanPolicy::kPropagate || a.numel() == 0) return {};
  const at::Tensor nan = a.detach().isnan().flatten(1).any(1).logical_or(
      b.detach().isnan().flatten(1).any(1));
  if (!nan.any().item().toBool()) return {};
  TORCH_CHECK_VALUE(policy == NanPolicy::kIgnore, "expected ", what,
                    " without NaN, got some in row ",
                    nan.to(at::kByte).argmax().item().toLong());
  return nan.logical_not().nonzero().squeeze(1);
}

WidePairs wide_pairs(const at::Tensor& a, const at::Tensor& b, const char* what,
                     NanPolicy policy) {
  const at::Tensor kept = rows_without_nan(a, b, what, policy);
  const auto wide = [&](const at::Tensor& rows) {
    return (kept.defined() ? rows.index_select(0, kept) : rows)
        .to(at::kDouble)
        .contiguous();
  };
  return {wide(a), wide(b)};
}

}  // namespace tally::internal::features
