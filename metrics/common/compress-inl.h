// Partitioning of vector lanes by a mask, compiled once per vector target:
// include after <hwy/foreach_target.h>.
//
// Highway 1.0.3 has the same, but its tables for AVX2 and for wide lanes are
// copied to the stack at every call, and processors with compress instructions
// use those that write to memory, which AMD's execute in microcode.

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#if defined(TALLY_METRICS_COMPRESS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_METRICS_COMPRESS_INL_H_
#undef TALLY_METRICS_COMPRESS_INL_H_
#else
#define TALLY_METRICS_COMPRESS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether the following is available.
#undef TALLY_HAS_SELECT
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define TALLY_HAS_SELECT 1
#else
#define TALLY_HAS_SELECT 0
#endif

#if HWY_TARGET == HWY_AVX2

// For each mask of `lanes` lanes, the set ones followed by the others, as
// indices of 32-bit lanes.
template <std::size_t kLanes>
struct PartTable {
  alignas(64) std::uint8_t places[std::size_t{1} << kLanes][8] = {};

  constexpr PartTable() {
    constexpr std::size_t kWidth = 8 / kLanes;
    for (std::size_t mask = 0; mask < std::size_t{1} << kLanes; ++mask) {
      std::size_t to = 0;
      for (const std::size_t bit : {1, 0}) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          if ((mask >> lane & 1) != bit) continue;
          for (std::size_t k = 0; k < kWidth; ++k) {
            places[mask][to++] = static_cast<std::uint8_t>(lane * kWidth + k);
          }
        }
      }
    }
  }
};
inline constexpr PartTable<8> kParts8;
inline constexpr PartTable<4> kParts4;

template <class D>
HWY_INLINE __m256i places_of(D d, hn::MFromD<D> mask) {
  const __m256i lanes = hn::VecFromMask(d, mask).raw;
  const std::uint8_t* places;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    places = kParts8.places[_mm256_movemask_ps(_mm256_castsi256_ps(lanes))];
  } else {
    places = kParts4.places[_mm256_movemask_pd(_mm256_castsi256_pd(lanes))];
  }
  return _mm256_cvtepu8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places)));
}

#endif  // HWY_AVX2

#if TALLY_HAS_SELECT

template <class V>
struct Selected {
  V lanes;
  std::int64_t count;
};

// The lanes, of unsigned numbers, that are set in `mask`, followed by arbitrary
// ones.
template <class D>
HWY_INLINE Selected<hn::VFromD<D>> selected(D d, hn::VFromD<D> v,
                                            hn::MFromD<D> mask) {
  using V = hn::VFromD<D>;
  const auto count = static_cast<std::int64_t>(hn::CountTrue(d, mask));
#if HWY_TARGET == HWY_AVX2
  return {V{_mm256_permutevar8x32_epi32(v.raw, places_of(d, mask))}, count};
#else
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return {V{_mm512_maskz_compress_epi32(mask.raw, v.raw)}, count};
  } else {
    return {V{_mm512_maskz_compress_epi64(mask.raw, v.raw)}, count};
  }
#endif
}

// Writes a vector to `low` with the lanes not set in `mask` first, and one to
// `high` with the others last. Returns the number of the former. REQUIRES: the
// vectors are the same or do not overlap.
template <class D>
HWY_INLINE std::int64_t store_parted(D d, hn::VFromD<D> v, hn::MFromD<D> mask,
                                     hn::TFromD<D>* low, hn::TFromD<D>* high) {
  const auto lows = selected(d, v, hn::Not(mask));
  hn::StoreU(lows.lanes, d, low);
#if HWY_TARGET == HWY_AVX2
  hn::StoreU(lows.lanes, d, high);
#else
  const auto highs = selected(d, v, mask);
  hn::BlendedStore(highs.lanes,
                   hn::FirstN(d, static_cast<std::size_t>(highs.count)), d,
                   high + lows.count);
#endif
  return lows.count;
}

#endif  // TALLY_HAS_SELECT

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
