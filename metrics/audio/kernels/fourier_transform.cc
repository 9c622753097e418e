#include "tally/metrics/audio/kernels/fourier_transform.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace tally::internal::audio {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Parts {
  const double* re;
  const double* im;
  Parts operator+(std::int64_t places) const {
    return {re + places, im + places};
  }
};
struct MutableParts {
  double* re;
  double* im;
  MutableParts operator+(std::int64_t places) const {
    return {re + places, im + places};
  }
};

struct Turn {
  double re, im;
};

// Four values that are `quarter` apart become four that are `stride` apart.
inline void butterfly(std::int64_t count, std::int64_t quarter,
                      const Parts& from, std::int64_t stride,
                      const MutableParts& to, const Turn& w1, const Turn& w2,
                      const Turn& w3) {
  const double* __restrict ar = from.re;
  const double* __restrict ai = from.im;
  double* __restrict yr = to.re;
  double* __restrict yi = to.im;
  const std::int64_t q1 = quarter, q2 = 2 * quarter, q3 = 3 * quarter;
  const std::int64_t s1 = stride, s2 = 2 * stride, s3 = 3 * stride;
  for (std::int64_t q = 0; q < count; ++q) {
    const double sum_r = ar[q] + ar[q + q2], sum_i = ai[q] + ai[q + q2];
    const double gap_r = ar[q] - ar[q + q2], gap_i = ai[q] - ai[q + q2];
    const double more_r = ar[q + q1] + ar[q + q3];
    const double more_i = ai[q + q1] + ai[q + q3];
    // i times the difference of the second and the fourth.
    const double turned_r = ai[q + q3] - ai[q + q1];
    const double turned_i = ar[q + q1] - ar[q + q3];
    yr[q] = sum_r + more_r;
    yi[q] = sum_i + more_i;
    const double br = gap_r - turned_r, bi = gap_i - turned_i;
    yr[q + s1] = br * w1.re - bi * w1.im;
    yi[q + s1] = br * w1.im + bi * w1.re;
    const double cr = sum_r - more_r, ci = sum_i - more_i;
    yr[q + s2] = cr * w2.re - ci * w2.im;
    yi[q + s2] = cr * w2.im + ci * w2.re;
    const double dr = gap_r + turned_r, di = gap_i + turned_i;
    yr[q + s3] = dr * w3.re - di * w3.im;
    yi[q + s3] = dr * w3.im + di * w3.re;
  }
}

}  // namespace

FourierTransform::FourierTransform(std::int64_t size) : size_(size) {
  for (std::int64_t count = size; count >= 4; count /= 4) {
    const std::int64_t quarter = count / 4;
    Turns turns{count, ComplexValues(quarter), ComplexValues(quarter),
                ComplexValues(quarter)};
    for (std::int64_t p = 0; p < quarter; ++p) {
      const auto set = [&](ComplexValues& values, std::int64_t times) {
        const double angle = -2 * kPi * static_cast<double>(times * p) /
                             static_cast<double>(count);
        values.re[p] = std::cos(angle);
        values.im[p] = std::sin(angle);
      };
      set(turns.once, 1);
      set(turns.twice, 2);
      set(turns.thrice, 3);
    }
    turns_.push_back(std::move(turns));
  }
}

// Stockham's passes, which need no permutation.
void FourierTransform::transform(ComplexValues& values,
                                 ComplexValues& work) const {
  work.re.resize(values.re.size());
  work.im.resize(values.im.size());
  std::int64_t stride = 1;
  for (const Turns& turns : turns_) {
    const std::int64_t quarter = turns.count / 4;
    const Parts from{values.re.data(), values.im.data()};
    const MutableParts to{work.re.data(), work.im.data()};
    for (std::int64_t p = 0; p < quarter; ++p) {
      butterfly(stride, stride * quarter, from + stride * p, stride,
                to + 4 * stride * p, {turns.once.re[p], turns.once.im[p]},
                {turns.twice.re[p], turns.twice.im[p]},
                {turns.thrice.re[p], turns.thrice.im[p]});
    }
    std::swap(values, work);
    stride *= 4;
  }
  if (stride == size_) return;
  // Twice as many: pairs are left.
  for (std::int64_t q = 0; q < stride; ++q) {
    const double r = values.re[q], i = values.im[q];
    values.re[q] = r + values.re[q + stride];
    values.im[q] = i + values.im[q + stride];
    values.re[q + stride] = r - values.re[q + stride];
    values.im[q + stride] = i - values.im[q + stride];
  }
}

}  // namespace tally::internal::audio
