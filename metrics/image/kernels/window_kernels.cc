#include "tally/metrics/image/kernels/window_kernels.h"

#include <algorithm>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/image/kernels/window_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::image::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void add_of_target(const double* from, const double* taps, std::int64_t size,
                   std::int64_t step, std::int64_t count, double* to) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  // Four at once for each weight that is loaded.
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
    const double* at = from + i;
    for (std::int64_t k = 0; k < size; ++k, at += step) {
      const auto weight = hn::Set(d, taps[k]);
      a = hn::MulAdd(weight, hn::LoadU(d, at), a);
      b = hn::MulAdd(weight, hn::LoadU(d, at + lanes), b);
      c = hn::MulAdd(weight, hn::LoadU(d, at + 2 * lanes), c);
      e = hn::MulAdd(weight, hn::LoadU(d, at + 3 * lanes), e);
    }
    hn::StoreU(a, d, to + i);
    hn::StoreU(b, d, to + i + lanes);
    hn::StoreU(c, d, to + i + 2 * lanes);
    hn::StoreU(e, d, to + i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Zero(d);
    for (std::int64_t k = 0; k < size; ++k) {
      sum = hn::MulAdd(hn::Set(d, taps[k]), hn::LoadU(d, from + i + k * step),
                       sum);
    }
    hn::StoreU(sum, d, to + i);
  }
  for (; i < count; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < size; ++k) sum += taps[k] * from[i + k * step];
    to[i] = sum;
  }
}

void spread_of_target(const double* from, const double* taps, std::int64_t size,
                      std::int64_t step, std::int64_t count, double* to) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t k = 0; k < size; ++k) {
    double* const at = to + k * step;
    const auto weight = hn::Set(d, taps[k]);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(
          hn::MulAdd(weight, hn::LoadU(d, from + i), hn::LoadU(d, at + i)), d,
          at + i);
    }
    for (; i < count; ++i) at[i] += taps[k] * from[i];
  }
}

void edges_of_target(const double* from, std::int64_t height,
                     std::int64_t width, double* to) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t y = 0; y < height; ++y) {
    const double* const row = from + y * width;
    const double* const up = y > 0 ? row - width : row;
    const double* const down = y + 1 < height ? row + width : row;
    double* const out = to + y * width;
    const auto one = [&](std::int64_t x) {
      const std::int64_t left = std::max<std::int64_t>(x - 1, 0);
      const std::int64_t right = std::min(x + 1, width - 1);
      const double here = row[x];
      double sum = here - up[left];
      sum += here - up[x];
      sum += here - up[right];
      sum += here - row[left];
      sum += here - row[right];
      sum += here - down[left];
      sum += here - down[x];
      sum += here - down[right];
      out[x] = 2 * sum;
    };
    one(0);
    std::int64_t x = 1;
    for (; x + lanes < width; x += lanes) {
      const auto here = hn::LoadU(d, row + x);
      const auto less = [&](const double* other) HWY_ATTR {
        return hn::Sub(here, hn::LoadU(d, other + x));
      };
      auto sum = less(up - 1);
      sum = hn::Add(sum, less(up));
      sum = hn::Add(sum, less(up + 1));
      sum = hn::Add(sum, less(row - 1));
      sum = hn::Add(sum, less(row + 1));
      sum = hn::Add(sum, less(down - 1));
      sum = hn::Add(sum, less(down));
      sum = hn::Add(sum, less(down + 1));
      hn::StoreU(hn::Add(sum, sum), d, out + x);
    }
    for (; x < width; ++x) one(x);
  }
}

}  // namespace tally::internal::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::image {

HWY_EXPORT(add_of_target);
HWY_EXPORT(spread_of_target);
HWY_EXPORT(edges_of_target);

void add_taps(const double* from, const double* taps, std::int64_t size,
              std::int64_t step, std::int64_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(add_of_target)(from, taps, size, step, count, to);
}

void spread_taps(const double* from, const double* taps, std::int64_t size,
                 std::int64_t step, std::int64_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(spread_of_target)(from, taps, size, step, count, to);
}

void write_edges(const double* from, std::int64_t height, std::int64_t width,
                 double* to) {
  HWY_DYNAMIC_DISPATCH(edges_of_target)(from, height, width, to);
}

}  // namespace tally::internal::image
#endif  // HWY_ONCE
