#include "tally/metrics/classification/kernels/bin_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/classification/kernels/bin_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// bucket(scores) gives the buckets of a vector of scores as int32.
template <class D, class Bucket>
bool for_each_place(D d, const float* scores, const std::uint8_t* codes,
                    std::int64_t size, std::int64_t columns,
                    std::uint32_t* places, const Bucket& bucket) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f);
  const auto zero = hn::Zero(d);
  const auto width = hn::Set(di, static_cast<std::int32_t>(columns));
  auto fine = hn::Eq(zero, zero);
  const auto look = [&](auto score, auto positive) {
    // Not of NaN.
    const auto inside = hn::And(hn::Ge(score, zero), hn::Le(score, one));
    fine = hn::And(fine, inside);
    const auto place = bucket(hn::IfThenElseZero(inside, score));
    const auto more = hn::And(width, hn::Neg(positive));
    return hn::BitCast(du, hn::Add(place, more));
  };
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto positive = codes == nullptr
                              ? hn::Zero(di)
                              : hn::PromoteTo(di, hn::LoadU(d8, codes + i));
    hn::StoreU(look(hn::LoadU(d, scores + i), positive), du, places + i);
  }
  for (; i < size; ++i) {
    const auto positive =
        hn::Set(di, codes == nullptr ? 0 : std::int32_t{codes[i]});
    places[i] = hn::GetLane(look(hn::Set(d, scores[i]), positive));
  }
  return hn::AllTrue(d, fine);
}

bool UniformPlaces(const float* scores, const std::uint8_t* codes,
                   std::int64_t size, double scale, std::int64_t columns,
                   std::uint32_t* places) {
  // A product of 24 and 29 bits is exact, and a threshold, rounded to 53 bits,
  // is never on the other side of a float than the true one.
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> d;
  const hn::Rebind<std::int32_t, decltype(dd)> di;
  const auto factor = hn::Set(dd, scale);
  const auto one = hn::Set(di, 1);
  return for_each_place(
      d, scores, codes, size, columns, places, [=](auto score) {
        const auto product = hn::Mul(hn::PromoteTo(dd, score), factor);
        return hn::Add(hn::DemoteTo(di, product), one);
      });
}

bool ListedPlaces(const float* scores, const std::uint8_t* codes,
                  std::int64_t size, const EdgeTable& table,
                  std::int64_t columns, std::uint32_t* places) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const float* const edges = table.float_edges();
  // -1 where the score reaches the edge at this place.
  const auto reached = [=](auto score, auto place) {
    const auto edge = hn::GatherIndex(d, edges, place);
    return hn::BitCast(di, hn::VecFromMask(d, hn::Le(edge, score)));
  };
  if (table.steps() > EdgeTable::kFewSteps) {
    return for_each_place(
        d, scores, codes, size, columns, places, [=, &table](auto score) {
          auto bucket = hn::Zero(di);
          for (std::int32_t half = table.halves(); half > 0; half /= 2) {
            const auto more = hn::Set(di, half);
            const auto last = hn::Add(bucket, hn::Set(di, half - 1));
            bucket = hn::Add(bucket, hn::And(more, reached(score, last)));
          }
          return bucket;
        });
  }
  const auto* const cells =
      reinterpret_cast<const std::int32_t*>(table.cells());
  const auto scale = hn::Set(d, table.scale());
  return for_each_place(
      d, scores, codes, size, columns, places, [=, &table](auto score) {
        const auto cell = hn::ConvertTo(di, hn::Mul(score, scale));
        auto bucket = hn::GatherIndex(di, cells, cell);
        for (std::int64_t step = 0; step < table.steps(); ++step) {
          bucket = hn::Sub(bucket, reached(score, bucket));
        }
        return bucket;
      });
}

template <class T>
bool are_inside(const T* scores, std::int64_t size) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, T{1});
  const auto zero = hn::Zero(d);
  auto fine = hn::Eq(zero, zero);
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto score = hn::LoadU(d, scores + i);
    fine = hn::And(fine, hn::And(hn::Ge(score, zero), hn::Le(score, one)));
  }
  bool rest = true;
  for (; i < size; ++i) rest &= scores[i] >= 0 && scores[i] <= 1;
  return rest && hn::AllTrue(d, fine);
}

bool FloatsAreInside(const float* scores, std::int64_t size) {
  return are_inside(scores, size);
}
bool DoublesAreInside(const double* scores, std::int64_t size) {
  return are_inside(scores, size);
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(UniformPlaces);
HWY_EXPORT(ListedPlaces);
HWY_EXPORT(FloatsAreInside);
HWY_EXPORT(DoublesAreInside);

namespace {

// Cells are halved until there are few thresholds in each, or as many as fit
// into the cache next to the core beside all else.
constexpr std::int64_t kLeastCells = 1024;
constexpr std::int64_t kMostCells = 8192;

}  // namespace

EdgeTable::EdgeTable(const double* edges, std::int64_t count)
    : edges_(edges, edges + count) {
  for (const double edge : edges_) {
    auto single = static_cast<float>(edge);
    if (single < edge) {
      single = std::nextafter(single, std::numeric_limits<float>::infinity());
    }
    float_edges_.push_back(single);
  }
  while (2 * std::int64_t{halves_} <= count) halves_ *= 2;
  float_edges_.resize(2 * std::int64_t{halves_},
                      std::numeric_limits<float>::infinity());
  std::int64_t cells = kLeastCells;
  fill_cells(count, cells);
  while (steps_ > kFewSteps && cells < kMostCells) {
    fill_cells(count, cells *= 2);
  }
}

void EdgeTable::fill_cells(std::int64_t count, std::int64_t cells) {
  scale_ = static_cast<double>(cells);
  steps_ = 0;
  // One for 1, and what ends it.
  cells_.resize(cells + 2);
  cells_.back() = static_cast<std::uint32_t>(count);
  std::uint32_t k = 0;
  for (std::int64_t cell = 0; cell <= cells; ++cell) {
    const std::uint32_t before = k;
    while (k < count && edges_[k] <= static_cast<double>(cell) / scale_) ++k;
    cells_[cell] = k;
    steps_ = std::max<std::int64_t>(steps_, k - before);
  }
}

bool uniform_places(const float* scores, const std::uint8_t* codes,
                    std::int64_t size, double scale, std::int64_t columns,
                    std::uint32_t* places) {
  return HWY_DYNAMIC_DISPATCH(UniformPlaces)(scores, codes, size, scale,
                                             columns, places);
}

bool listed_places(const float* scores, const std::uint8_t* codes,
                   std::int64_t size, const EdgeTable& table,
                   std::int64_t columns, std::uint32_t* places) {
  return HWY_DYNAMIC_DISPATCH(ListedPlaces)(scores, codes, size, table, columns,
                                            places);
}

bool are_probabilities(const float* scores, std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(FloatsAreInside)(scores, size);
}
bool are_probabilities(const double* scores, std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(DoublesAreInside)(scores, size);
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
