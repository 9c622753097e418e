#include "tally/metrics/clustering/kernels/block_distances.h"

#include <algorithm>
#include <cstddef>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/clustering/kernels/block_distances.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::clustering::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Double = hn::CappedTag<double, static_cast<std::size_t>(kBlock)>;
using Vector = hn::Vec<Double>;

struct Squares {
  static HWY_INLINE Vector add(const Vector difference, const Vector sum) {
    return hn::MulAdd(difference, difference, sum);
  }
  static HWY_INLINE Vector finish(const Vector sum) { return sum; }
};
struct Roots : Squares {
  static HWY_INLINE Vector finish(const Vector sum) { return hn::Sqrt(sum); }
};
struct Absolutes {
  static HWY_INLINE Vector add(const Vector difference, const Vector sum) {
    return hn::Add(hn::Abs(difference), sum);
  }
  static HWY_INLINE Vector finish(const Vector sum) { return sum; }
};
struct Largest {
  static HWY_INLINE Vector add(const Vector difference, const Vector most) {
    return hn::Max(hn::Abs(difference), most);
  }
  static HWY_INLINE Vector finish(const Vector most) { return most; }
};

// Calls visit(offset, distances of each of the points) for all of a block.
template <class Kind, class Visit>
HWY_INLINE void for_each_vector(const double* const* points,
                                const double* block, std::int64_t dims,
                                const Visit& visit) {
  static_assert(kGroup == 4, "one sum for each of the points");
  const Double d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t offset = 0; offset < kBlock; offset += lanes) {
    Vector s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::int64_t i = 0; i < dims; ++i) {
      const Vector other = hn::LoadU(d, block + i * kBlock + offset);
      const auto difference = [&](std::int64_t point) HWY_ATTR {
        return hn::Sub(other, hn::Set(d, points[point][i]));
      };
      s0 = Kind::add(difference(0), s0);
      s1 = Kind::add(difference(1), s1);
      s2 = Kind::add(difference(2), s2);
      s3 = Kind::add(difference(3), s3);
    }
    visit(offset, Kind::finish(s0), Kind::finish(s1), Kind::finish(s2),
          Kind::finish(s3));
  }
}

template <class Kind>
void distances_of(const double* const* points, const double* block,
                  std::int64_t dims, double* distances) {
  const Double d;
  for_each_vector<Kind>(
      points, block, dims,
      [&](std::int64_t offset, const Vector s0, const Vector s1,
          const Vector s2, const Vector s3) HWY_ATTR {
        hn::StoreU(s0, d, distances + offset);
        hn::StoreU(s1, d, distances + kBlock + offset);
        hn::StoreU(s2, d, distances + 2 * kBlock + offset);
        hn::StoreU(s3, d, distances + 3 * kBlock + offset);
      });
}

template <class Kind>
void sums_of(const double* const* points, const double* blocks,
             std::int64_t count, std::int64_t dims, double* sums) {
  const Double d;
  Vector t0 = hn::Zero(d), t1 = t0, t2 = t0, t3 = t0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    for_each_vector<Kind>(
        points, blocks + begin * dims, dims,
        [&](std::int64_t offset, const Vector s0, const Vector s1,
            const Vector s2, const Vector s3) HWY_ATTR {
          const std::int64_t rest =
              std::max(count - begin - offset, std::int64_t{0});
          const auto there = hn::FirstN(
              d, std::min(static_cast<std::size_t>(rest), hn::Lanes(d)));
          t0 = hn::Add(t0, hn::IfThenElseZero(there, s0));
          t1 = hn::Add(t1, hn::IfThenElseZero(there, s1));
          t2 = hn::Add(t2, hn::IfThenElseZero(there, s2));
          t3 = hn::Add(t3, hn::IfThenElseZero(there, s3));
        });
  }
  sums[0] = hn::GetLane(hn::SumOfLanes(d, t0));
  sums[1] = hn::GetLane(hn::SumOfLanes(d, t1));
  sums[2] = hn::GetLane(hn::SumOfLanes(d, t2));
  sums[3] = hn::GetLane(hn::SumOfLanes(d, t3));
}

void block_distances_of_target(Distance distance, const double* const* points,
                               const double* block, std::int64_t dims,
                               double* distances) {
  switch (distance) {
    case Distance::kEuclidean:
      return distances_of<Roots>(points, block, dims, distances);
    case Distance::kSquared:
      return distances_of<Squares>(points, block, dims, distances);
    case Distance::kManhattan:
      return distances_of<Absolutes>(points, block, dims, distances);
    case Distance::kMaximum:
      return distances_of<Largest>(points, block, dims, distances);
  }
}

void sums_of_target(Distance distance, const double* const* points,
                    const double* blocks, std::int64_t count, std::int64_t dims,
                    double* sums) {
  switch (distance) {
    case Distance::kEuclidean:
      return sums_of<Roots>(points, blocks, count, dims, sums);
    case Distance::kSquared:
      return sums_of<Squares>(points, blocks, count, dims, sums);
    case Distance::kManhattan:
      return sums_of<Absolutes>(points, blocks, count, dims, sums);
    case Distance::kMaximum:
      return sums_of<Largest>(points, blocks, count, dims, sums);
  }
}

}  // namespace tally::internal::clustering::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::clustering {

HWY_EXPORT(block_distances_of_target);
HWY_EXPORT(sums_of_target);

void block_distances(Distance distance, const double* const* points,
                     const double* block, std::int64_t dims,
                     double* distances) {
  HWY_DYNAMIC_DISPATCH(block_distances_of_target)
  (distance, points, block, dims, distances);
}

void sums_of_distances(Distance distance, const double* const* points,
                       const double* blocks, std::int64_t count,
                       std::int64_t dims, double* sums) {
  HWY_DYNAMIC_DISPATCH(sums_of_target)
  (distance, points, blocks, count, dims, sums);
}

}  // namespace tally::internal::clustering
#endif  // HWY_ONCE
