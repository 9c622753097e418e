// Sorts a few keys in registers, compiled once per vector target: include after
// <hwy/foreach_target.h>.

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#if defined(TALLY_METRICS_SORT_NETWORK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_METRICS_SORT_NETWORK_INL_H_
#undef TALLY_METRICS_SORT_NETWORK_INL_H_
#else
#define TALLY_METRICS_SORT_NETWORK_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Keys are arranged in 16 rows of equal length. Columns are sorted by Green's
// network, then runs of 1, 2, 4... columns are merged by pairs: M. Blacher et
// al., "Fast and robust vectorized in-place sorting of primitive types", 2021.
template <class Key>
class SortNetwork {
  using D = hn::ScalableTag<Key>;
  static constexpr int kLanes = hn::MaxLanes(D());
  static constexpr int kRows = 16;

 public:
  static constexpr std::int64_t kMost = std::int64_t{kRows} * kLanes;

  // Sorts 16 * columns keys, and reads and writes up to kLanes past them.
  // REQUIRES: columns is a power of 2, at most kLanes.
  static HWY_NOINLINE void sort(Key* keys, std::int64_t columns) {
    V rows[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      rows[i] = encoded(hn::LoadU(D(), keys + i * columns));
    }
    sort_columns(rows);
    if (columns >= 2) merge<2>(rows);
    if constexpr (kLanes >= 4) {
      if (columns >= 4) merge<4>(rows);
    }
    if constexpr (kLanes >= 8) {
      if (columns >= 8) merge<8>(rows);
    }
    if constexpr (kLanes >= 16) {
      if (columns >= 16) merge<16>(rows);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      hn::StoreU(decoded(rows[i]), D(), keys + i * columns);
    }
  }

 private:
  // AVX2 compares wide lanes as signed integers.
  static constexpr bool kIsSigned = HWY_TARGET == HWY_AVX2 && sizeof(Key) == 8;
  using Lane = std::conditional_t<kIsSigned, hwy::MakeSigned<Key>, Key>;
  using DLane = hn::ScalableTag<Lane>;
  using V = hn::VFromD<DLane>;

  static HWY_INLINE hn::VFromD<D> flipped(hn::VFromD<D> v) {
    if constexpr (kIsSigned) {
      return hn::Xor(v, hn::Set(D(), Key{1} << (8 * sizeof(Key) - 1)));
    } else {
      return v;
    }
  }
  static HWY_INLINE V encoded(hn::VFromD<D> v) {
    return hn::BitCast(DLane(), flipped(v));
  }
  static HWY_INLINE hn::VFromD<D> decoded(V v) {
    return flipped(hn::BitCast(D(), v));
  }

  static HWY_INLINE void order(V& low, V& high) {
    if constexpr (kIsSigned) {
      const auto swap = hn::Gt(low, high);
      const V a = low;
      low = hn::IfThenElse(swap, high, a);
      high = hn::IfThenElse(swap, a, high);
    } else {
      const V a = low;
      low = hn::Min(a, high);
      high = hn::Max(a, high);
    }
  }

  static HWY_INLINE void sort_columns(V (&v)[kRows]) {
    constexpr std::int8_t kPairs[60][2] = {
        {0, 1},   {2, 3},   {4, 5},   {6, 7},   {8, 9},   {10, 11}, {12, 13},
        {14, 15}, {0, 2},   {1, 3},   {4, 6},   {5, 7},   {8, 10},  {9, 11},
        {12, 14}, {13, 15}, {0, 4},   {1, 5},   {2, 6},   {3, 7},   {8, 12},
        {9, 13},  {10, 14}, {11, 15}, {0, 8},   {1, 9},   {2, 10},  {3, 11},
        {4, 12},  {5, 13},  {6, 14},  {7, 15},  {5, 10},  {6, 9},   {3, 12},
        {7, 11},  {13, 14}, {4, 8},   {1, 2},   {1, 4},   {7, 13},  {2, 8},
        {11, 14}, {2, 4},   {5, 6},   {9, 10},  {11, 13}, {3, 8},   {7, 12},
        {3, 5},   {6, 8},   {7, 9},   {10, 12}, {3, 4},   {5, 6},   {7, 8},
        {9, 10},  {11, 12}, {6, 7},   {8, 9}};
#pragma GCC unroll 60
    for (int i = 0; i < 60; ++i) order(v[kPairs[i][0]], v[kPairs[i][1]]);
  }

  // Lane i of the result is lane i ^ kBits.
  template <int kBits>
  static HWY_INLINE V swapped(V v) {
    static constexpr int kWidth = sizeof(Key) / 4;
    alignas(64) static constexpr auto kPlaces = [] {
      struct {
        std::uint32_t lanes[kLanes * kWidth] = {};
      } places;
      for (int i = 0; i < kLanes * kWidth; ++i) {
        places.lanes[i] = i ^ (kBits * kWidth);
      }
      return places;
    }();
    const hn::ScalableTag<std::uint32_t> d;
    return hn::BitCast(
        DLane(), hn::TableLookupLanes(hn::BitCast(d, v),
                                      hn::SetTableIndices(d, kPlaces.lanes)));
  }

  // Orders lanes i and i ^ kBits where kBit is set in the latter.
  template <int kBits, int kBit>
  static HWY_INLINE V ordered_lanes(V v) {
    V high = swapped<kBits>(v);
    order(v, high);
    const DLane d;
    const auto is_high = hn::TestBit(hn::Iota(d, 0), hn::Set(d, Lane{kBit}));
    return hn::IfThenElse(is_high, high, v);
  }
  template <int kBit>
  static HWY_INLINE V merged_lanes(V v) {
    if constexpr (kBit > 0) {
      return merged_lanes<kBit / 2>(ordered_lanes<kBit, kBit>(v));
    } else {
      return v;
    }
  }

  // Merges pairs of runs of kColumns / 2 columns.
  template <int kColumns>
  static HWY_INLINE void merge(V (&v)[kRows]) {
    merge_rows<kColumns, 16>(v);
    merge_rows<kColumns, 8>(v);
    merge_rows<kColumns, 4>(v);
    merge_rows<kColumns, 2>(v);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      v[i] = merged_lanes<kColumns / 4>(
          ordered_lanes<kColumns - 1, kColumns / 2>(v[i]));
    }
  }
  template <int kColumns, int kSpan>
  static HWY_INLINE void merge_rows(V (&v)[kRows]) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if (i % kSpan >= kSpan / 2) v[i] = swapped<kColumns - 1>(v[i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if (i % kSpan < kSpan / 2) {
        order(v[i], v[i - i % kSpan + kSpan - 1 - i % kSpan]);
      }
    }
  }
};

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
