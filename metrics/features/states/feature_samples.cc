#include "tally/metrics/features/states/feature_samples.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <c10/util/bit_cast.h>

#include <array>
#include <cstdint>

#include "tally/metrics/common/hash.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/features/inputs/checked_samples.h"
#include "tally/metrics/features/states/logit_samples.h"

namespace tally {
namespace {

namespace features = internal::features;

// So many numbers are worth another thread.
constexpr std::int64_t kGrain = 32768;
// A number's hash waits for that of the one before it: so many rows at a time
// take hardly longer than one.
constexpr std::int64_t kTogether = 8;

template <std::int64_t kRows, class T>
void hash_rows(const T* from, std::int64_t dims, std::int64_t* to) {
  std::array<std::uint64_t, kRows> hashes{};
  for (std::int64_t i = 0; i < dims; ++i) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const double value =
          static_cast<double>(from[row * dims + i]) + 0.0;  // -0 as 0
      hashes[row] =
          internal::mixed(hashes[row] + c10::bit_cast<std::uint64_t>(value));
    }
  }
  for (std::int64_t row = 0; row < kRows; ++row) {
    to[row] = static_cast<std::int64_t>(hashes[row]);
  }
}

}  // namespace

FeatureSamples::State FeatureSamples::observe(const at::Tensor& features,
                                              const at::Tensor& real,
                                              const Keys& ids) const {
  const auto samples =
      features::separated(features, real, ids.tensor(), options_);
  return {features::kept_features(samples.real),
          features::kept_features(samples.generated),
          features::kept_ids(samples.real),
          features::kept_ids(samples.generated)};
}

Rows features::kept_features(const Samples& samples) {
  const at::ScalarType dtype = samples.features.scalar_type();
  const bool is_narrow =
      dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
  return Rows(samples.features.to(is_narrow ? at::kFloat : at::kDouble));
}

Rows features::kept_ids(const Samples& samples) {
  return Rows(samples.ids.defined() ? samples.ids
                                    : hashes_of(samples.features));
}

at::Tensor features::hashes_of(const at::Tensor& rows) {
  const at::Tensor values =
      rows.detach().to(at::kCPU).resolve_neg().contiguous();
  const std::int64_t dims = values.size(1);
  at::Tensor hashes = at::empty({values.size(0)}, at::kLong);
  std::int64_t* const to = hashes.mutable_data_ptr<std::int64_t>();
  internal::visit_values(values, [&](const auto* from) {
    at::parallel_for(0, values.size(0), 1 + kGrain / dims,
                     [&](std::int64_t begin, std::int64_t end) {
                       std::int64_t row = begin;
                       for (; row + kTogether <= end; row += kTogether) {
                         hash_rows<kTogether>(from + row * dims, dims,
                                              to + row);
                       }
                       for (; row < end; ++row) {
                         hash_rows<1>(from + row * dims, dims, to + row);
                       }
                     });
  });
  return hashes.to(rows.device());
}

features::RowOrder features::order_of(const Rows& rows, const Rows& ids) {
  TORCH_CHECK_VALUE(rows.size() == ids.size(),
                    "expected as many ids as features in the state, got ",
                    ids.size(), " and ", rows.size());
  if (rows.size() == 0) return {};
  const at::Tensor features = rows.tensor().to(at::kCPU);
  const at::Tensor keys = ids.tensor().to(at::kCPU);
  TORCH_CHECK_VALUE(
      features.dim() == 2 && at::isFloatingType(features.scalar_type()) &&
          keys.dim() == 1 && keys.scalar_type() == at::kLong,
      "expected features [N, D] and int64 ids [N] in the state, got ",
      features.scalar_type(), " ", features.sizes(), " and ",
      keys.scalar_type(), " ", keys.sizes());
  return {features, keys,
          keys.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/false)};
}

features::OrderedRows features::ordered(const Rows& rows, const Rows& ids) {
  const RowOrder found = order_of(rows, ids);
  if (found.size() == 0) return {};
  return {found.rows.index_select(0, found.order).to(at::kDouble),
          found.ids.index_select(0, found.order)};
}

features::OrderedSamples features::ordered(const FeatureSamples::State& state) {
  OrderedSamples samples{ordered(state.real, state.real_ids),
                         ordered(state.generated, state.generated_ids)};
  if (samples.real.size() > 0 && samples.generated.size() > 0) {
    TORCH_CHECK_VALUE(
        samples.real.rows.size(1) == samples.generated.rows.size(1),
        "expected real and generated features of one number of columns, got ",
        samples.real.rows.size(1), " and ", samples.generated.rows.size(1));
  }
  return samples;
}

LogitSamples::State LogitSamples::observe(const at::Tensor& logits,
                                          const Keys& ids) const {
  const auto samples = internal::features::checked_samples(
      "logits", logits, ids.tensor(), options_);
  return {internal::features::kept_features(samples),
          internal::features::kept_ids(samples)};
}

}  // namespace tally
