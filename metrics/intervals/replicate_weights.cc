#include "tally/metrics/intervals/replicate_weights.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>

namespace tally {
namespace {

using internal::intervals::PhiloxCounter;
using internal::intervals::PhiloxStream;

constexpr std::int64_t kPoissonPerBlock = 8;
constexpr std::int64_t kBitsPerBlock = 128;
constexpr std::uint32_t kThresholds[] = {24109, 48219, 60273, 64292,
                                         65296, 65497, 65531, 65535};

void poisson_weights(const PhiloxCounter& words, std::uint8_t* weights) {
  for (std::int64_t i = 0; i < kPoissonPerBlock; ++i) {
    const std::uint32_t bits = words[i / 2] >> (16 * (i % 2)) & 0xffff;
    std::uint8_t weight = 0;
    for (const std::uint32_t threshold : kThresholds) {
      weight += bits >= threshold;
    }
    weights[i] = weight;
  }
}

void bit_weights(const PhiloxCounter& words, std::uint8_t* weights) {
  for (std::int64_t i = 0; i < kBitsPerBlock; ++i) {
    weights[i] = static_cast<std::uint8_t>((words[i / 32] >> (i % 32) & 1) * 2);
  }
}

}  // namespace

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

void ReplicateWeights::fill(std::int64_t id, std::uint8_t* weights) const {
  const bool is_poisson = kind_ == WeightKind::kPoisson;
  const std::int64_t width = is_poisson ? kPoissonPerBlock : kBitsPerBlock;
  std::uint8_t some[kBitsPerBlock];
  for (std::int64_t first = 0; first < replicates_; first += width) {
    const PhiloxCounter words =
        numbers_(static_cast<std::uint32_t>(first / width), id);
    const std::int64_t count = std::min(width, replicates_ - first);
    std::uint8_t* const into = count == width ? weights + first : some;
    if (is_poisson) {
      poisson_weights(words, into);
    } else {
      bit_weights(words, into);
    }
    if (count < width) std::copy_n(some, count, weights + first);
  }
}

at::Tensor ReplicateWeights::operator()(const SampleIds& ids) const {
  at::Tensor weights = at::empty({ids.size(), replicates_}, at::kByte);
  auto* row = weights.mutable_data_ptr<std::uint8_t>();
  for (const std::int64_t id : ids.values()) {
    fill(id, row);
    row += replicates_;
  }
  return weights;
}

}  // namespace tally
