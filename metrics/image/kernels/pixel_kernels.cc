#include "tally/metrics/image/kernels/pixel_kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/pair_kernels.h"
#include "tally/metrics/common/plain_values.h"

namespace tally::internal::image {
namespace {

constexpr double kRight = 1.57079632679489661923;

int sign(double value) { return (value > 0) - (value < 0); }

struct RelativeErrors {
  std::vector<double> means;  // of the target's channels
  double root = 0;            // of the mean of relative errors
};

template <class T>
RelativeErrors relative_errors(const T* const* images, const Planes& planes) {
  RelativeErrors result;
  const std::int64_t size = planes.plane();
  const auto count = static_cast<double>(size);
  double sum = 0;
  for (std::int64_t c = 0; c < planes.channels; ++c) {
    const T* const preds = images[0] + c * size;
    const T* const target = images[1] + c * size;
    const double mean = sum_terms(size,
                                  [=](std::int64_t i) {
                                    return static_cast<double>(target[i]);
                                  }) /
                        count;
    sum += regression::squared_error_sum(preds, target, size) / count /
           (mean * mean);
    result.means.push_back(mean);
  }
  result.root = std::sqrt(sum / static_cast<double>(planes.channels));
  return result;
}

// Of a pixel's spectra u and v, a = u |v| and b = v |u|: twice the angle whose
// tangent is |a - b| / |a + b|.
struct Angle {
  double u = 0, v = 0;             // lengths
  double apart = 0, together = 0;  // |a - b|, |a + b|
  bool are_equal = true;

  double value() const {
    if (apart == 0 && together == 0) return are_equal ? 0 : kRight;
    return 2 * std::atan2(apart, together);
  }
};

template <class T>
Angle angle_at(const T* u, const T* v, std::int64_t channels,
               std::int64_t step) {
  Angle angle;
  double uu = 0, vv = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto a = static_cast<double>(u[c * step]);
    const auto b = static_cast<double>(v[c * step]);
    uu += a * a;
    vv += b * b;
    angle.are_equal &= a == b;
  }
  angle.u = std::sqrt(uu);
  angle.v = std::sqrt(vv);
  double apart = 0, together = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double a = static_cast<double>(u[c * step]) * angle.v;
    const double b = static_cast<double>(v[c * step]) * angle.u;
    apart += (a - b) * (a - b);
    together += (a + b) * (a + b);
  }
  angle.apart = std::sqrt(apart);
  angle.together = std::sqrt(together);
  return angle;
}

// Of one channel: the error, by how much differences across the borders of
// blocks are above others, and how much each of them counts.
struct BlockedError {
  double error = 0;
  double excess = 0;
  double of_across = 0, of_within = 0;
  double weight = 0;

  double value() const { return error + weight * std::max(excess, 0.0); }
};

template <class T>
BlockedError blocked_error(const BlockedKernel& kernel, const T* const* images,
                           const Planes& planes) {
  const std::int64_t height = planes.height, width = planes.width;
  const std::int64_t block = kernel.block_size;
  const T* const x = images[0];
  double across = 0, all = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    const T* const row = x + y * width;
    all += regression::squared_error_sum(row + 1, row, width - 1);
    for (std::int64_t i = block; i < width; i += block) {
      const double step =
          static_cast<double>(row[i]) - static_cast<double>(row[i - 1]);
      across += step * step;
    }
  }
  all += regression::squared_error_sum(x + width, x, (height - 1) * width);
  for (std::int64_t y = block; y < height; y += block) {
    across += regression::squared_error_sum(x + y * width, x + (y - 1) * width,
                                            width);
  }
  // Counted as Yim and Bovik do.
  const auto lines = [&](std::int64_t length, std::int64_t others) {
    return static_cast<double>(others) *
               (static_cast<double>(length) / static_cast<double>(block)) -
           1;
  };
  const auto count = static_cast<double>(planes.plane());
  const double count_across = lines(width, height) + lines(height, width);
  const double count_all =
      2 * count - static_cast<double>(height) - static_cast<double>(width);
  BlockedError found;
  found.error =
      regression::squared_error_sum(images[0], images[1], planes.plane()) /
      count;
  found.of_across = 1 / count_across;
  found.of_within = 1 / (count_all - count_across);
  found.excess = across * found.of_across - (all - across) * found.of_within;
  found.weight = std::log2(static_cast<double>(block)) /
                 std::log2(static_cast<double>(std::min(height, width)));
  return found;
}

}  // namespace

template <class T>
double VariationKernel::score(const T* const* images,
                              const Planes& planes) const {
  const std::int64_t width = planes.width;
  double sum = 0;
  for (std::int64_t c = 0; c < planes.channels; ++c) {
    const T* const plane = images[0] + c * planes.plane();
    sum += regression::absolute_error_sum(plane + width, plane,
                                          planes.plane() - width);
    for (std::int64_t y = 0; y < planes.height; ++y) {
      const T* const row = plane + y * width;
      sum += regression::absolute_error_sum(row + 1, row, width - 1);
    }
  }
  return sum;
}

template <class T>
void VariationKernel::write_slopes(const T* const* images, const Planes& planes,
                                   double factor, T* const* to) const {
  const std::int64_t width = planes.width;
  for (std::int64_t row = 0; row < planes.channels * planes.height; ++row) {
    const T* const x = images[0] + row * width;
    T* const slope = to[0] + row * width;
    const std::int64_t y = row % planes.height;
    const bool has_above = y > 0, has_below = y + 1 < planes.height;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto here = static_cast<double>(x[i]);
      int sum = 0;
      if (i > 0) sum += sign(here - static_cast<double>(x[i - 1]));
      if (i + 1 < width) sum += sign(here - static_cast<double>(x[i + 1]));
      if (has_above) sum += sign(here - static_cast<double>(x[i - width]));
      if (has_below) sum += sign(here - static_cast<double>(x[i + width]));
      slope[i] = static_cast<T>(factor * sum);
    }
  }
}

template <class T>
double RelativeErrorKernel::score(const T* const* images,
                                  const Planes& planes) const {
  return 100 / ratio * relative_errors(images, planes).root;
}

template <class T>
void RelativeErrorKernel::write_slopes(const T* const* images,
                                       const Planes& planes, double factor,
                                       T* const* to) const {
  const RelativeErrors errors = relative_errors(images, planes);
  const std::int64_t size = planes.plane();
  const auto count = static_cast<double>(size);
  // By the mean of all relative squares; that of the root of 0 counts as 0.
  const double outer = errors.root == 0
                           ? 0
                           : factor * 100 / ratio / (2 * errors.root) /
                                 static_cast<double>(planes.channels);
  for (std::int64_t c = 0; c < planes.channels; ++c) {
    const T* const p = images[0] + c * size;
    const T* const t = images[1] + c * size;
    const double mean = errors.means[c];
    const double slope = 2 * outer / count / (mean * mean);
    if (to[0] != nullptr) {
      for (std::int64_t i = 0; i < size; ++i) {
        to[0][c * size + i] = static_cast<T>(
            slope * (static_cast<double>(p[i]) - static_cast<double>(t[i])));
      }
    }
    if (to[1] != nullptr) {
      const double of_mean =
          -slope / mean / count * regression::squared_error_sum(p, t, size);
      for (std::int64_t i = 0; i < size; ++i) {
        to[1][c * size + i] =
            static_cast<T>(of_mean - slope * (static_cast<double>(p[i]) -
                                              static_cast<double>(t[i])));
      }
    }
  }
}

template <class T>
double AngleKernel::score(const T* const* images, const Planes& planes) const {
  const std::int64_t size = planes.plane();
  const double sum = sum_terms(size, [&](std::int64_t i) {
    return angle_at(images[0] + i, images[1] + i, planes.channels, size)
        .value();
  });
  return sum / static_cast<double>(size);
}

template <class T>
void AngleKernel::write_slopes(const T* const* images, const Planes& planes,
                               double factor, T* const* to) const {
  const std::int64_t size = planes.plane();
  const double share = factor / static_cast<double>(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const T* const u = images[0] + i;
    const T* const v = images[1] + i;
    const Angle angle = angle_at(u, v, planes.channels, size);
    const double squares =
        angle.apart * angle.apart + angle.together * angle.together;
    const double outer = squares == 0 ? 0 : 2 * share / squares;
    // Lengths of 0 have a derivative of 0.
    const double of_apart =
        angle.apart == 0 ? 0 : outer * angle.together / angle.apart;
    const double of_together =
        angle.together == 0 ? 0 : outer * angle.apart / angle.together;
    double apart_u = 0, apart_v = 0, together_u = 0, together_v = 0;
    for (std::int64_t c = 0; c < planes.channels; ++c) {
      const auto x = static_cast<double>(u[c * size]);
      const auto y = static_cast<double>(v[c * size]);
      const double a = x * angle.v, b = y * angle.u;
      apart_u += (a - b) * x;
      apart_v += (a - b) * y;
      together_u += (a + b) * x;
      together_v += (a + b) * y;
    }
    for (std::int64_t c = 0; c < planes.channels; ++c) {
      const auto x = static_cast<double>(u[c * size]);
      const auto y = static_cast<double>(v[c * size]);
      const double apart = x * angle.v - y * angle.u;
      const double together = x * angle.v + y * angle.u;
      const double along_u = angle.u == 0 ? 0 : x / angle.u;
      const double along_v = angle.v == 0 ? 0 : y / angle.v;
      if (to[0] != nullptr) {
        to[0][c * size + i] = static_cast<T>(
            of_apart * (apart * angle.v - apart_v * along_u) -
            of_together * (together * angle.v + together_v * along_u));
      }
      if (to[1] != nullptr) {
        to[1][c * size + i] = static_cast<T>(
            of_apart * (apart_u * along_v - apart * angle.u) -
            of_together * (together * angle.u + together_u * along_v));
      }
    }
  }
}

template <class T>
double BlockedKernel::score(const T* const* images,
                            const Planes& planes) const {
  const double value = blocked_error(*this, images, planes).value();
  if (value == 0) return kInfinity;
  return 10 / std::log(10.0) * (2 * std::log(data_range) - std::log(value));
}

template <class T>
void BlockedKernel::write_slopes(const T* const* images, const Planes& planes,
                                 double factor, T* const* to) const {
  const BlockedError found = blocked_error(*this, images, planes);
  const double value = found.value();
  const double outer = value == 0 ? 0 : -10 / std::log(10.0) * factor / value;
  const double of_error = 2 * outer / static_cast<double>(planes.plane());
  const double excess =
      found.excess >= 0 ? 2 * outer * found.weight : 0;  // as clamp_min's
  const double across = excess * found.of_across;
  const double within = -excess * found.of_within;
  const std::int64_t width = planes.width, height = planes.height;
  const auto of_step = [=, block = block_size](std::int64_t place) {
    return place % block == 0 ? across : within;  // from the one before
  };
  for (std::int64_t y = 0; y < height; ++y) {
    const T* const row = images[0] + y * width;
    const T* const target = images[1] + y * width;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto here = static_cast<double>(row[i]);
      const double error = of_error * (here - static_cast<double>(target[i]));
      const std::int64_t at = y * width + i;
      if (to[1] != nullptr) to[1][at] = static_cast<T>(-error);
      if (to[0] == nullptr) continue;
      double sum = error;
      const auto add = [&](std::int64_t step, double slope) {
        sum += slope * (here - static_cast<double>(row[i + step]));
      };
      if (i > 0) add(-1, of_step(i));
      if (i + 1 < width) add(1, of_step(i + 1));
      if (y > 0) add(-width, of_step(y));
      if (y + 1 < height) add(width, of_step(y + 1));
      to[0][at] = static_cast<T>(sum);
    }
  }
}

#define TALLY_PIXEL_KERNEL(Kernel, T)                                        \
  template double Kernel::score(const T* const*, const Planes&) const;       \
  template void Kernel::write_slopes(const T* const*, const Planes&, double, \
                                     T* const*) const;
TALLY_PIXEL_KERNEL(VariationKernel, float)
TALLY_PIXEL_KERNEL(VariationKernel, double)
TALLY_PIXEL_KERNEL(RelativeErrorKernel, float)
TALLY_PIXEL_KERNEL(RelativeErrorKernel, double)
TALLY_PIXEL_KERNEL(AngleKernel, float)
TALLY_PIXEL_KERNEL(AngleKernel, double)
TALLY_PIXEL_KERNEL(BlockedKernel, float)
TALLY_PIXEL_KERNEL(BlockedKernel, double)
#undef TALLY_PIXEL_KERNEL

}  // namespace tally::internal::image
