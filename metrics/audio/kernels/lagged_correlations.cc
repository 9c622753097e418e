#include "tally/metrics/audio/kernels/lagged_correlations.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "tally/metrics/audio/kernels/fourier_transform.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"

namespace tally::internal::audio {
namespace {

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

namespace {

constexpr std::int64_t kLeastBlock = 32;

// A block has as many values as there are lags, and as many zeros behind.
std::int64_t transform_size(std::int64_t lags) {
  std::int64_t block = kLeastBlock;
  while (block < lags) block *= 2;
  return 2 * block;
}

// The values from `begin` on, and zeros.
void copy_block(const std::vector<double>& values, std::int64_t begin,
                std::int64_t count, std::vector<double>& block) {
  const auto size = static_cast<std::int64_t>(values.size());
  const std::int64_t end = std::min(begin + count, size);
  std::fill(block.begin(), block.end(), 0.0);
  if (begin < end) {
    std::copy(values.begin() + begin, values.begin() + end, block.begin());
  }
}

// With T and Z the transforms of a block's t and t + i p, and next that of the
// block behind, adds conj(T) (Z + next): that block is half a transform away,
// which changes the sign of odd frequencies.
void add_products(const ComplexValues& own, const ComplexValues& next,
                  std::int64_t size, ComplexValues& sum) {
  const double* const zr = own.re.data();
  const double* const zi = own.im.data();
  const auto add = [&](std::int64_t k, std::int64_t mirror, double sign) {
    const double tr = 0.5 * (zr[k] + zr[mirror]);
    const double ti = 0.5 * (zi[k] - zi[mirror]);
    const double wr = zr[k] + sign * next.re[k];
    const double wi = zi[k] + sign * next.im[k];
    sum.re[k] += tr * wr + ti * wi;
    sum.im[k] += tr * wi - ti * wr;
  };
  add(0, 0, 1);
  for (std::int64_t k = 1; k + 1 < size; k += 2) {
    add(k, size - k, -1);
    add(k + 1, size - k - 1, 1);
  }
  add(size - 1, 1, -1);
}

}  // namespace

Correlator::Correlator(std::int64_t count)
    : count_(count), transform_(transform_size(count)) {}

Correlations Correlator::correlate(const std::vector<double>& target,
                                   const std::vector<double>& preds) const {
  const std::int64_t size = transform_.size(), block = size / 2;
  const auto time = static_cast<std::int64_t>(target.size());
  ComplexValues own(size), next(size), sum(size), work(size);
  const auto transform = [&](std::int64_t begin, ComplexValues& values) {
    copy_block(target, begin, block, values.re);
    copy_block(preds, begin, block, values.im);
    transform_.transform(values, work);
  };
  transform(0, own);
  for (std::int64_t begin = 0; begin < time; begin += block) {
    transform(begin + block, next);
    add_products(own, next, size, sum);
    std::swap(own, next);
  }
  // Back, by the transform of the conjugate.
  for (double& value : sum.im) value = -value;
  transform_.transform(sum, work);
  const double scale = 1 / static_cast<double>(size);
  Correlations result;
  for (std::int64_t k = 0; k < count_; ++k) {
    result.target.push_back(sum.re[k] * scale);
    result.both.push_back(-sum.im[k] * scale);
  }
  return result;
}

namespace {

// A prediction error below this fraction of the energy is rounding.
constexpr double kSingular = 4 * std::numeric_limits<double>::epsilon();

double dot(const double* a, const double* b, std::int64_t count) {
  return sum_terms(count, [=](std::int64_t i) { return a[i] * b[i]; });
}

}  // namespace

void solve_toeplitz(const double* r, const double* b, std::int64_t size,
                    double* x) {
  std::fill_n(x, size, 0.0);
  if (!(r[0] > 0)) return;
  const auto count = static_cast<std::size_t>(size);
  // The lags from high to low, so that both factors of sums are read forwards.
  std::vector<double> falling(r, r + size);
  std::reverse(falling.begin(), falling.end());
  // The predictor from the past, and that from the future: the same reversed.
  // It starts one place earlier in each step.
  std::vector<double> forward(count), backward(2 * count);
  forward[0] = 1;
  double* back = backward.data() + size;
  back[0] = 1;
  double error = r[0];
  x[0] = b[0] / error;
  for (std::int64_t m = 1; m < size; ++m) {
    const double* const lags = falling.data() + (size - 1 - m);
    const double reflection = -dot(forward.data(), lags, m) / error;
    error *= (1 - reflection) * (1 + reflection);
    if (!(error > kSingular * r[0])) return;
    --back;
    back[0] = 0;
    for (std::int64_t i = 0; i <= m; ++i) {
      const double f = forward[i], g = back[i];
      forward[i] = f + reflection * g;
      back[i] = g + reflection * f;
    }
    const double step = (b[m] - dot(x, lags, m)) / error;
    for (std::int64_t i = 0; i <= m; ++i) x[i] += step * back[i];
  }
}

}  // namespace tally::internal::audio
