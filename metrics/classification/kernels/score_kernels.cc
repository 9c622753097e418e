#include "tally/metrics/classification/kernels/score_kernels.h"

#include <algorithm>
#include <cstddef>

#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/classification/kernels/score_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "tally/metrics/common/compress-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
bool count_some(const T* scores, std::int64_t size, const T* cuts,
                std::int64_t cut_count, std::int64_t* at_least) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto odd = hn::IsNaN(hn::Zero(d));
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto score = hn::LoadU(d, scores + i);
    odd = hn::Or(odd, hn::IsNaN(score));
    for (std::int64_t k = 0; k < cut_count; ++k) {
      at_least[k] += static_cast<std::int64_t>(
          hn::CountTrue(d, hn::Ge(score, hn::Set(d, cuts[k]))));
    }
  }
  bool nan = !hn::AllFalse(d, odd);
  for (; i < size; ++i) {
    nan |= scores[i] != scores[i];
    for (std::int64_t k = 0; k < cut_count; ++k) {
      at_least[k] += scores[i] >= cuts[k];
    }
  }
  return nan;
}

bool CountFloats(const float* scores, std::int64_t size, const float* cuts,
                 std::int64_t cut_count, std::int64_t* at_least) {
  return count_some(scores, size, cuts, cut_count, at_least);
}
bool CountDoubles(const double* scores, std::int64_t size, const double* cuts,
                  std::int64_t cut_count, std::int64_t* at_least) {
  return count_some(scores, size, cuts, cut_count, at_least);
}

CodeCounts CountCodes(const std::uint8_t* codes, std::int64_t size) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d64);
  auto bits = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto code = hn::LoadU(d, codes + i);
    bits = hn::Or(bits, code);
    sum = hn::Add(sum, hn::SumsOf8(code));
  }
  CodeCounts counts;
  counts.positives =
      static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(d64, sum)));
  counts.larger = !hn::AllTrue(
      d, hn::Eq(hn::AndNot(hn::Set(d, std::uint8_t{1}), bits), hn::Zero(d)));
  for (; i < size; ++i) {
    counts.positives += codes[i];
    counts.larger |= codes[i] > 1;
  }
  return counts;
}

bool NarrowLabels(const std::int64_t* labels, std::int64_t size,
                  std::uint8_t* codes) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* const words = reinterpret_cast<const std::uint64_t*>(labels);
  auto bits = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto label = hn::LoadU(d, words + i);
    bits = hn::Or(bits, label);
    hn::StoreU(hn::TruncateTo(d8, label), d8, codes + i);
  }
  bool fine = hn::AllTrue(
      d, hn::Eq(hn::AndNot(hn::Set(d, std::uint64_t{1}), bits), hn::Zero(d)));
  for (; i < size; ++i) {
    fine &= words[i] <= 1;
    codes[i] = static_cast<std::uint8_t>(words[i]);
  }
  return fine;
}

template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
hn::VFromD<D> load_codes(D d, const std::uint8_t* codes) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D>(), codes));
}
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
hn::VFromD<D> load_codes(D d, const std::uint8_t* codes) {
  return hn::PromoteTo(d, load_codes(hn::Rebind<std::uint32_t, D>(), codes));
}

// Where a score goes: the number of cuts that are not above it.
template <class T>
HWY_INLINE std::int64_t part_of(T score, const T* cuts,
                                std::int64_t cut_count) {
  std::int64_t part = 0;
  // A branch would be guessed wrong.
  for (std::int64_t k = 0; k < cut_count; ++k) part += score >= cuts[k];
  return part;
}

template <class T, class Key>
void pack_some(const T* scores, const std::uint8_t* codes, std::int64_t size,
               const T* cuts, std::int64_t cut_count, Key** next,
               [[maybe_unused]] Key* const* ends) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  std::int64_t i = 0;
#if TALLY_HAS_SELECT
  // Whole vectors, of which the next ones overwrite what is too much.
  const auto put = [&](hn::VFromD<decltype(du)> key, auto mask,
                       std::int64_t part) HWY_ATTR {
    const auto own = selected(du, key, hn::RebindMask(du, mask));
    if (ends[part] - next[part] >= lanes) {
      hn::StoreU(own.lanes, du, next[part]);
    } else {
      HWY_ALIGN Key last[HWY_MAX_BYTES / sizeof(Key)];
      hn::Store(own.lanes, du, last);
      std::copy_n(last, own.count, next[part]);
    }
    next[part] += own.count;
  };
#endif
  const bool by_vectors = TALLY_HAS_SELECT || cut_count == 0;
  for (; by_vectors && i + lanes <= size; i += lanes) {
    const auto score = hn::LoadU(d, scores + i);
    // The sum has no negative zero.
    const auto bits = hn::BitCast(di, hn::Add(score, zero));
    const auto low = hn::Xor(bits, hn::BroadcastSignBit(bits));
    const auto key = hn::Or(hn::ShiftLeft<1>(hn::BitCast(du, low)),
                            load_codes(du, codes + i));
    if (cut_count == 0) {
      hn::StoreU(key, du, *next);
      *next += lanes;
      continue;
    }
#if TALLY_HAS_SELECT
    auto above = hn::Ge(score, hn::Set(d, cuts[0]));
    put(key, hn::Not(above), 0);
    for (std::int64_t k = 1; k < cut_count; ++k) {
      const auto higher = hn::Ge(score, hn::Set(d, cuts[k]));
      put(key, hn::AndNot(higher, above), k);
      above = higher;
    }
    put(key, above, cut_count);
#endif
  }
  constexpr int kSign = 8 * sizeof(Key) - 1;
  for (; i < size; ++i) {
    const Key key = ordered_bits(scores[i]);
    *next[part_of(scores[i], cuts, cut_count)]++ =
        (key & ~(Key{1} << kSign)) << 1 | codes[i];
  }
}

void PackFloats(const float* scores, const std::uint8_t* codes,
                std::int64_t size, const float* cuts, std::int64_t cut_count,
                std::uint32_t** next, std::uint32_t* const* ends) {
  pack_some(scores, codes, size, cuts, cut_count, next, ends);
}
void PackDoubles(const double* scores, const std::uint8_t* codes,
                 std::int64_t size, const double* cuts, std::int64_t cut_count,
                 std::uint64_t** next, std::uint64_t* const* ends) {
  pack_some(scores, codes, size, cuts, cut_count, next, ends);
}

RankSum SumRanks(const float* scores, std::int64_t size,
                 const RankTable& table) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto first = hn::Set(du, table.keys()[0]);
  const auto last_cell = hn::Set(du, table.last_cell());
  const auto sign = hn::Set(du, 0x80000000u);
  const auto one = hn::Set(du, 1u);
  auto odd = hn::IsNaN(hn::Zero(d));
  // Both ranks of each score.
  const auto ranks = [&](auto score) {
    odd = hn::Or(odd, hn::IsNaN(score));
    const auto bits = hn::BitCast(di, hn::Add(score, hn::Zero(d)));
    const auto flip = hn::Or(hn::BitCast(du, hn::BroadcastSignBit(bits)), sign);
    const auto key = hn::Xor(hn::BitCast(du, bits), flip);
    const auto cell = hn::Min(
        hn::ShiftRightSame(hn::Sub(hn::Max(key, first), first), table.shift()),
        last_cell);
    auto below = hn::GatherIndex(du, table.cells(), hn::BitCast(di, cell));
    for (std::int64_t step = 0; step < table.steps(); ++step) {
      // The mask is -1.
      const auto next =
          hn::GatherIndex(du, table.keys(), hn::BitCast(di, below));
      below =
          hn::Add(hn::Add(below, one), hn::VecFromMask(du, hn::Gt(next, key)));
    }
    // The key before, which is the score's if any is.
    const auto before = hn::Sub(hn::Max(below, one), one);
    const auto tie =
        hn::Eq(hn::GatherIndex(du, table.keys(), hn::BitCast(di, before)), key);
    if (table.all_distinct()) {
      return hn::Add(below, hn::IfThenElse(tie, before, below));
    }
    const auto least = hn::IfThenElse(tie, before, below);
    return hn::Add(hn::GatherIndex(du, table.counts(), hn::BitCast(di, below)),
                   hn::GatherIndex(du, table.counts(), hn::BitCast(di, least)));
  };
  RankSum result;
  HWY_ALIGN std::uint32_t part[HWY_MAX_BYTES / sizeof(std::uint32_t)];
  std::int64_t i = 0;
  while (i + lanes <= size) {
    // So many sums of two ranks fit into 32 bits.
    const std::int64_t end = std::min(size, i + (lanes << 15));
    auto sum = hn::Zero(du);
    for (; i + lanes <= end; i += lanes) {
      sum = hn::Add(sum, ranks(hn::LoadU(d, scores + i)));
    }
    hn::Store(sum, du, part);
    for (std::int64_t lane = 0; lane < lanes; ++lane) result.sum += part[lane];
  }
  for (; i < size; ++i) {
    result.sum += hn::GetLane(ranks(hn::Set(d, scores[i])));
  }
  result.nan = !hn::AllFalse(d, odd);
  return result;
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(CountFloats);
HWY_EXPORT(CountDoubles);
HWY_EXPORT(CountCodes);
HWY_EXPORT(NarrowLabels);
HWY_EXPORT(PackFloats);
HWY_EXPORT(PackDoubles);
HWY_EXPORT(SumRanks);

bool count_at_least(const float* scores, std::int64_t size, const float* cuts,
                    std::int64_t cut_count, std::int64_t* at_least) {
  return HWY_DYNAMIC_DISPATCH(CountFloats)(scores, size, cuts, cut_count,
                                           at_least);
}
bool count_at_least(const double* scores, std::int64_t size, const double* cuts,
                    std::int64_t cut_count, std::int64_t* at_least) {
  return HWY_DYNAMIC_DISPATCH(CountDoubles)(scores, size, cuts, cut_count,
                                            at_least);
}

CodeCounts count_codes(const std::uint8_t* codes, std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(CountCodes)(codes, size);
}

bool narrow_labels(const std::int64_t* labels, std::int64_t size,
                   std::uint8_t* codes) {
  return HWY_DYNAMIC_DISPATCH(NarrowLabels)(labels, size, codes);
}
bool narrow_labels(const std::uint8_t* labels, std::int64_t size,
                   std::uint8_t* codes) {
  std::copy_n(labels, size, codes);
  return !count_codes(labels, size).larger;
}

void pack_samples(const float* scores, const std::uint8_t* codes,
                  std::int64_t size, const float* cuts, std::int64_t cut_count,
                  std::uint32_t** next, std::uint32_t* const* ends) {
  HWY_DYNAMIC_DISPATCH(PackFloats)
  (scores, codes, size, cuts, cut_count, next, ends);
}
void pack_samples(const double* scores, const std::uint8_t* codes,
                  std::int64_t size, const double* cuts, std::int64_t cut_count,
                  std::uint64_t** next, std::uint64_t* const* ends) {
  HWY_DYNAMIC_DISPATCH(PackDoubles)
  (scores, codes, size, cuts, cut_count, next, ends);
}

RankTable::RankTable(const std::uint32_t* keys, std::int64_t count)
    : counts_(1) {
  constexpr std::uint32_t kCells = 1024;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) {
      keys_.push_back(keys[i]);
      counts_.push_back(counts_.back());
    }
    ++counts_.back();
  }
  all_distinct_ = static_cast<std::int64_t>(keys_.size()) == count;
  const std::uint32_t first = count > 0 ? keys_.front() : 0;
  const std::uint32_t range = count > 0 ? keys_.back() - first : 0;
  while (range >> shift_ >= kCells) ++shift_;
  // One more for what is behind them all.
  cells_.resize((range >> shift_) + 2);
  for (const std::uint32_t key : keys_) ++cells_[((key - first) >> shift_) + 1];
  for (std::size_t cell = 1; cell < cells_.size(); ++cell) {
    steps_ = std::max<std::int64_t>(steps_, cells_[cell]);
    cells_[cell] += cells_[cell - 1];
  }
  keys_.push_back(~std::uint32_t{0});
}

RankSum sum_ranks(const float* scores, std::int64_t size,
                  const RankTable& table) {
  return HWY_DYNAMIC_DISPATCH(SumRanks)(scores, size, table);
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
