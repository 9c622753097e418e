#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/audio/kernels/active_frames.h"
#include "tally/metrics/audio/kernels/resampler.h"
#include "tally/metrics/audio/short_time_objective_intelligibility.h"
#include "tally/testing/gradients.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/audio/signals.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::made;
using ::tally::testkit::refusal_of;
using ::tally::testkit::value_of;
using ::testing::HasSubstr;

using Stoi = ShortTimeObjectiveIntelligibility;
using Options = ShortTimeObjectiveIntelligibilityOptions;

Options extended(std::int64_t rate) { return Options(rate).extended(true); }

// Also: the mean has the same bits for any split.
TEST(IntelligibilityTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  options.split_rtol = 0;
  // "pystoi to 1e-5".
  options.rtol = 1e-7;
  // A thousand values each: see below.
  options.skip_gradients = {"default"};
  testkit::check_metric<Stoi>("audio/ShortTimeObjectiveIntelligibility",
                              options);
}

// By pystoi: peers/audio.py --long.
TEST(IntelligibilityTest, AtCommonRates) {
  struct Row {
    std::int64_t rate, count;
    double value, extended_value;
  };
  for (const Row& row : {Row{8000, 12000, 0.974573822166, 0.835467521174},
                         Row{10000, 12000, 0.984590235532, 0.882941076221},
                         Row{16000, 16000, 0.987902917419, 0.880447979247},
                         Row{44100, 44100, 0.98875201247, 0.871717580267},
                         Row{48000, 48000, 0.989173228218, 0.880768445808}}) {
    const auto [preds, target] = made(row.count);
    EXPECT_NEAR(value_of<Stoi>(preds, target, Options(row.rate)), row.value,
                1e-9)
        << row.rate;
    EXPECT_NEAR(value_of<Stoi>(preds, target, extended(row.rate)),
                row.extended_value, 1e-9)
        << row.rate;
  }
}

// "ESTOI of a silent estimate: choose 0"; "STOI, silent x or y: 0".
TEST(IntelligibilityTest, SilenceIsZero) {
  const at::Tensor signal = made(6000).target;
  const at::Tensor silence = at::zeros({6000}, at::kDouble);
  for (const Options& options : {Options(10000), extended(10000)}) {
    Stoi stoi(Options(options).count_silent(true));
    EXPECT_EQ(stoi.forward(silence, signal).value.item<double>(), 0);
    EXPECT_EQ(stoi.forward(signal, silence).value.item<double>(), 0);
    EXPECT_EQ(stoi.forward(silence, silence).value.item<double>(), 0);
    EXPECT_EQ(stoi.compute().silent.item<std::int64_t>(), 2);
  }
}

// "at least 4097 samples at 10 kHz"; "under 256 samples: exception".
TEST(IntelligibilityTest, TooShortSignalsAreDefined) {
  const auto [preds, target] = made(4097);
  const auto of = [&, p = preds, t = target](std::int64_t count) {
    const at::Tensor loud = t.add(0.25).narrow(0, 0, count);
    return value_of<Stoi>(p.narrow(0, 0, count), loud, Options(10000));
  };
  EXPECT_GT(of(4097), 0.1);
  for (const std::int64_t count : {4096, 512, 257, 256, 255, 1}) {
    EXPECT_EQ(of(count), 1e-5) << count;
  }
}

TEST(IntelligibilityTest, InfiniteSignalsAreNaN) {
  const at::Tensor signal = made(8000).target;
  at::Tensor infinite = signal.clone();
  infinite[3500] = std::numeric_limits<double>::infinity();
  for (const Options& options : {Options(8000), extended(8000)}) {
    EXPECT_TRUE(std::isnan(value_of<Stoi>(signal, infinite, options)));
    EXPECT_TRUE(std::isnan(value_of<Stoi>(infinite, signal, options)));
  }
}

TEST(IntelligibilityTest, AnEstimateThatIsItsReferenceHasOne) {
  const at::Tensor signal = made(8000).target;
  EXPECT_NEAR(value_of<Stoi>(signal.mul(3), signal, Options(10000)), 1, 1e-12);
  EXPECT_NEAR(value_of<Stoi>(signal.mul(3), signal, extended(10000)), 1, 1e-12);
}

TEST(ActiveFramesTest, FortyDecibelsBelowTheLoudestAreLeftOut) {
  const std::vector<double> loud(1024, 1.0);
  const auto kept_of = [&](double level) {
    std::vector<double> signal = loud;
    signal.resize(2049, level);
    return internal::audio::active_frames(signal.data(), 2049).kept.size();
  };
  // Frames 0 to 7 have some of the loud part.
  EXPECT_EQ(kept_of(0.0101), 15);
  EXPECT_EQ(kept_of(0.01 * (1 + 1e-12)), 8);
  EXPECT_EQ(kept_of(0.01), 8);
  EXPECT_EQ(kept_of(0.0099), 8);
}

TEST(ResamplerTest, TheAdjointIsOne) {
  for (const std::int64_t rate : {8000, 10000, 16000, 44100}) {
    const internal::audio::Resampler resampler(rate, 10000);
    constexpr std::int64_t kCount = 700;
    const std::int64_t size = resampler.size_of(kCount);
    const std::vector<double> x = testkit::noise(kCount, 3);
    const std::vector<double> y = testkit::noise(size, 4);
    std::vector<double> up(static_cast<std::size_t>(size)), down(kCount);
    resampler.resample(x.data(), kCount, up.data());
    resampler.backward(y.data(), kCount, down.data());
    double left = 0, right = 0;
    for (std::int64_t i = 0; i < size; ++i) left += up[i] * y[i];
    for (std::int64_t i = 0; i < kCount; ++i) right += x[i] * down[i];
    EXPECT_NEAR(left, right, 1e-11);
  }
}

TEST(IntelligibilityTest, GradientsAreDerivatives) {
  const auto [preds, target] = made(8000);
  const at::Tensor along_preds = at::randn({8000}, at::kDouble);
  const at::Tensor along_target = at::randn({8000}, at::kDouble);
  for (const bool is_extended : {false, true}) {
    Stoi stoi(Options(8000).extended(is_extended));
    const auto value_at = [&, p = preds, t = target](double step) {
      return stoi.forward(p.add(along_preds, step), t.add(along_target, step))
          .value.item<double>();
    };
    const at::Tensor p = preds.clone().set_requires_grad(true);
    const at::Tensor t = target.clone().set_requires_grad(true);
    stoi.forward(p, t).value.backward();
    const double slope = p.grad().mul(along_preds).sum().item<double>() +
                         t.grad().mul(along_target).sum().item<double>();
    const double numerical = (value_at(1e-7) - value_at(-1e-7)) / 2e-7;
    EXPECT_NEAR(slope, numerical, 1e-4 * std::abs(numerical));
  }
}

TEST(IntelligibilityTest, SilentSignalsHaveFiniteGradients) {
  const at::Tensor signal = made(6000).target;
  for (const Options& options : {Options(10000), extended(10000)}) {
    for (const bool silent_preds : {true, false}) {
      const at::Tensor preds =
          (silent_preds ? at::zeros({6000}, at::kDouble) : signal.clone())
              .set_requires_grad(true);
      Stoi stoi(options);
      stoi.forward(preds,
                   silent_preds ? signal : at::zeros({6000}, at::kDouble))
          .value.backward();
      EXPECT_TRUE(preds.grad().isfinite().all().item<bool>());
    }
  }
}

TEST(IntelligibilityTest, IsALossOverRanks) {
  std::vector<at::Tensor> preds, target;
  for (int n = 0; n < 3; ++n) {
    const auto [p, t] = made(6000 + 10 * n);
    preds.push_back(p.narrow(0, 10 * n, 6000));
    target.push_back(t.narrow(0, 10 * n, 6000));
  }
  const at::Tensor gain = at::full({1}, 0.9, at::kDouble);
  testkit::run_thread_ranks(2, [&](const auto&) {
    const at::Tensor weight = gain.clone().set_requires_grad(true);
    // The count of silent references does no harm.
    losses::MetricLoss loss{Stoi(Options(10000))};
    testkit::ExpectGradientsOfOneProcess(
        [&](const std::vector<at::Tensor>& batch) {
          const at::Tensor mixed = batch[0].mul(weight).add(batch[1].square());
          return loss->forward(mixed, batch[1]);
        },
        {at::stack(preds), at::stack(target)}, {{"gain", weight}});
  });
}

TEST(IntelligibilityTest, BadOptionsAndInputsAreRefused) {
  EXPECT_THAT(refusal_of([] { Stoi stoi(Options(0)); }),
              HasSubstr("ShortTimeObjectiveIntelligibility: expected a "
                        "sampling rate fs from 1 to 384000, got 0"));
  Stoi stoi(Options(10000));
  EXPECT_THAT(refusal_of([&] {
                stoi.update(at::randn({2, 0}), at::randn({2, 0}));
              }),
              HasSubstr("T at least 1"));
  EXPECT_THAT(refusal_of<c10::TypeError>([&] {
                stoi.update(at::zeros({5}, at::kLong), at::randn({5}));
              }),
              HasSubstr("of a floating-point dtype"));
}

}  // namespace
}  // namespace tally
