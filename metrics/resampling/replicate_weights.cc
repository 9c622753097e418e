#include "tally/metrics/resampling/replicate_weights.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <vector>

#include "tally/metrics/resampling/weight_kernels.h"

namespace tally {

namespace intervals = internal::intervals;

using intervals::PhiloxStream;

ReplicateWeights::ReplicateWeights(std::int64_t seed, WeightKind kind,
                                   std::int64_t replicates)
    : numbers_(seed, kind == WeightKind::kPoisson
                         ? PhiloxStream::kPoisson
                         : PhiloxStream::kDoubleOrNothing),
      kind_(kind),
      replicates_(replicates) {
  TORCH_CHECK_VALUE(replicates > 0, "expected at least 1 replicate, got ",
                    replicates);
}

std::int64_t ReplicateWeights::stride() const {
  constexpr std::int64_t kUnit = intervals::kBitsPerBlock;
  return (replicates_ + kUnit - 1) / kUnit * kUnit;
}

void ReplicateWeights::fill(const std::int64_t* ids, std::int64_t count,
                            std::uint8_t* weights) const {
  (kind_ == WeightKind::kPoisson
       ? intervals::poisson_weights
       : intervals::bit_weights)(numbers_.key(), ids, count, stride(), weights);
}

void ReplicateWeights::add(const std::int64_t* ids, std::int64_t count,
                           std::uint32_t* sums) const {
  const std::int64_t width = stride();
  if (kind_ == WeightKind::kDoubleOrNothing) {
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(width), 0);
    intervals::count_bits(numbers_.key(), ids, count, width, bits.data());
    for (std::int64_t i = 0; i < width; ++i) {
      sums[i] += 2 * bits[static_cast<std::size_t>(i)];
    }
    return;
  }
  constexpr std::int64_t kRows = 31;
  std::vector<std::uint8_t> weights(static_cast<std::size_t>(kRows * width));
  for (std::int64_t i = 0; i < count; i += kRows) {
    const std::int64_t some = std::min(kRows, count - i);
    fill(ids + i, some, weights.data());
    intervals::add_weights(weights.data(), some, width, sums);
  }
}

at::Tensor ReplicateWeights::operator()(const SampleIds& ids) const {
  at::Tensor weights = at::empty({ids.size(), replicates_}, at::kByte);
  auto* row = weights.mutable_data_ptr<std::uint8_t>();
  std::vector<std::uint8_t> own(static_cast<std::size_t>(stride()));
  for (const std::int64_t id : ids.values()) {
    fill(&id, 1, own.data());
    row = std::copy_n(own.data(), replicates_, row);
  }
  return weights;
}

}  // namespace tally
