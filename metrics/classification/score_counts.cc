#include "tally/metrics/classification/score_counts.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <array>
#include <utility>

namespace tally::internal {
namespace {

// Below this, counting digits costs more than comparing keys.
constexpr std::int64_t kFewKeys = 1024;
constexpr int kDigitBits = 11;
constexpr std::int64_t kDigits = std::int64_t{1} << kDigitBits;

}  // namespace

template <class Key>
void sort_keys(Key* keys, std::int64_t count, Key* spare) {
  if (count < kFewKeys) {
    std::sort(keys, keys + count);
    return;
  }
  constexpr int kPasses = (8 * sizeof(Key) + kDigitBits - 1) / kDigitBits;
  std::array<std::array<std::int64_t, kDigits>, kPasses> counts{};
  for (std::int64_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < kPasses; ++pass) {
      ++counts[pass][(keys[i] >> (pass * kDigitBits)) & (kDigits - 1)];
    }
  }
  Key* from = keys;
  Key* to = spare;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int shift = pass * kDigitBits;
    auto& offsets = counts[pass];
    if (offsets[(keys[0] >> shift) & (kDigits - 1)] == count) continue;
    std::int64_t offset = 0;
    for (std::int64_t& digit : offsets) {
      offset += std::exchange(digit, offset);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      to[offsets[(from[i] >> shift) & (kDigits - 1)]++] = from[i];
    }
    std::swap(from, to);
  }
  if (from != keys) std::copy(from, from + count, keys);
}

template void sort_keys(std::uint32_t*, std::int64_t, std::uint32_t*);
template void sort_keys(std::uint64_t*, std::int64_t, std::uint64_t*);

std::optional<DeviceRankedScores> DeviceRankedScores::of(
    const at::Tensor& scores, const at::Tensor& codes) {
  const at::Tensor kept = codes.ne(2);
  const at::Tensor positive = codes.masked_select(kept);
  // NaN sorts as the highest.
  const auto [sorted, order] =
      scores.masked_select(kept).sort(/*dim=*/0, /*descending=*/true);
  const std::int64_t count = sorted.numel();
  if (count > 0 && sorted.select(0, 0).isnan().item().toBool()) {
    return std::nullopt;
  }
  at::Tensor last = at::ones({count}, positive.options());
  if (count > 1) {
    last.narrow(0, 0, count - 1)
        .copy_(
            sorted.narrow(0, 1, count - 1).ne(sorted.narrow(0, 0, count - 1)));
  }
  DeviceRankedScores ranked;
  ranked.scores_ = sorted.to(at::kDouble).to(at::kCPU);
  ranked.marks_ = positive.index_select(0, order).add_(last, 2).to(at::kCPU);
  ranked.positives_ = positive.sum().item().toLong();
  return ranked;
}

std::optional<BucketedScores> BucketedScores::of(at::Tensor histogram,
                                                 std::int64_t curve) {
  const std::int64_t columns = histogram.size(-1);
  BucketedScores bucketed;
  bucketed.offset_ = curve * 2 * columns;
  bucketed.buckets_ = columns - 1;
  bucketed.histogram_ = std::move(histogram);
  const std::int64_t* const negatives = bucketed.counts();
  const std::int64_t* const positives = negatives + columns;
  if (negatives[columns - 1] != 0 || positives[columns - 1] != 0) {
    return std::nullopt;
  }
  for (std::int64_t i = 0; i < bucketed.buckets_; ++i) {
    bucketed.negatives_ += negatives[i];
    bucketed.positives_ += positives[i];
  }
  return bucketed;
}

void check_state(bool fits) {
  TORCH_CHECK_VALUE(fits, "the state's fields do not fit together");
}

at::Tensor zero_counts(at::IntArrayRef sizes) {
  at::Tensor counts(at::detail::empty_cpu(sizes, at::kLong));
  std::memset(counts.mutable_data_ptr(), 0, counts.nbytes());
  return counts;
}

}  // namespace tally::internal
