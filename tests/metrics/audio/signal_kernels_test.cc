#include "tally/metrics/audio/kernels/signal_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tally/tests/metrics/audio/signals.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally::internal::audio {
namespace {

constexpr Means kMeans{0.25, -0.5};
constexpr double kScale = 0.75;

template <class T>
std::vector<T> signal(std::int64_t count, std::uint64_t seed) {
  const std::vector<double> values = testkit::noise(count, seed);
  return {values.begin(), values.end()};
}

template <class T>
void check_sums(std::int64_t count) {
  const std::vector<T> preds = signal<T>(count, 1),
                       target = signal<T>(count, 2);
  ChannelSums expected;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double p = preds[i] - kMeans.preds, t = target[i] - kMeans.target;
    expected += {t * t, p * t, std::pow(kScale * t - p, 2)};
    sum += preds[i];
  }
  const Channel<T> channel{preds.data(), target.data(), count};
  const ChannelSums found = channel_sums(channel, kMeans, kScale);
  EXPECT_NEAR(found.target, expected.target, 1e-13);
  EXPECT_NEAR(found.products, expected.products, 1e-13);
  EXPECT_NEAR(found.noise, expected.noise, 1e-13);
  EXPECT_NEAR(sum_of(preds.data(), count), sum, 1e-13);
}

template <class T>
void check_combination(std::int64_t count) {
  const std::vector<T> preds = signal<T>(count, 1),
                       target = signal<T>(count, 2);
  std::vector<T> found(static_cast<std::size_t>(count) + 1, T{7});
  combine(Channel<T>{preds.data(), target.data(), count}, kMeans, 2, -3,
          found.data());
  for (std::int64_t i = 0; i < count; ++i) {
    const double expected =
        2 * (preds[i] - kMeans.preds) - 3 * (target[i] - kMeans.target);
    EXPECT_NEAR(found[i], expected, sizeof(T) == 4 ? 1e-6 : 1e-14);
  }
  EXPECT_EQ(found[count], T{7});
}

TEST(SignalKernelsTest, TakeAnyNumberOfValues) {
  testkit::for_each_vector_target([] {
    for (std::int64_t count = 0; count < 70; ++count) {
      SCOPED_TRACE(count);
      check_sums<float>(count);
      check_sums<double>(count);
      check_combination<float>(count);
      check_combination<double>(count);
    }
  });
}

}  // namespace
}  // namespace tally::internal::audio
