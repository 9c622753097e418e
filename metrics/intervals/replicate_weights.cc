#include "tally/metrics/intervals/replicate_weights.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/metrics/intervals/kernels/weight_kernels.h"

namespace tally {
namespace {

using internal::intervals::PhiloxCounter;
using internal::intervals::PhiloxStream;
using internal::intervals::poisson_weights;

constexpr std::int64_t kPoissonPerBlock = 8;
constexpr std::int64_t kBitsPerBlock = 128;

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
  const std::int64_t whole = replicates_ / width;
  if (is_poisson) {
    poisson_weights(numbers_.key(), PhiloxStream::kPoisson, id, whole, weights);
  } else {
    for (std::int64_t block = 0; block < whole; ++block) {
      bit_weights(numbers_(static_cast<std::uint32_t>(block), id),
                  weights + width * block);
    }
  }
  const std::int64_t rest = replicates_ - width * whole;
  if (rest == 0) return;
  std::uint8_t some[kBitsPerBlock];
  const PhiloxCounter words = numbers_(static_cast<std::uint32_t>(whole), id);
  if (is_poisson) {
    internal::intervals::poisson_block(words, some);
  } else {
    bit_weights(words, some);
  }
  std::copy_n(some, rest, weights + width * whole);
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
