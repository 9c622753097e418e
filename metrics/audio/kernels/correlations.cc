#include "tally/metrics/audio/kernels/correlations.h"

#include <algorithm>
#include <utility>

namespace tally::internal::audio {
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

}  // namespace tally::internal::audio
