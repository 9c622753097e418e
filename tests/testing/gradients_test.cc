#include "tally/testing/gradients.h"

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/testing/thread_ranks.h"

namespace tally::testkit {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<sync::Communicator>;

at::Tensor x() { return at::arange(7, at::kDouble).cos(); }
at::Tensor y() { return at::arange(7, at::kDouble).sin(); }
at::Tensor weight() {
  return at::arange(1, 2, at::kDouble).mul(0.5).requires_grad_();
}

// A call of ExpectGradientsOfOneProcess and its line.
constexpr int kLine = __LINE__ + 6;
void expect_local_mean() {
  const at::Tensor w = weight();
  const auto loss = [&](const Tensors& rows) {
    return rows[0].mul(w).sub(rows[1]).square().mean();
  };
  ExpectGradientsOfOneProcess(loss, {x(), y()}, {{"weight", w}});
}

TEST(GradientsTest, OfALossOverAllRanksAreThoseOfOneProcess) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_thread_ranks(ranks, [](const Group&) {
      const at::Tensor w = weight();
      losses::MetricLoss mse{MeanSquaredError()};
      ExpectGradientsOfOneProcess(
          [&](const Tensors& rows) {
            return mse->forward(rows[0].mul(w), rows[1]);
          },
          {x(), y()}, {{"weight", w}});
    });
  }
  expect_local_mean();
}

TEST(GradientsTest, OfAMeanOnEachRankAreNot) {
  std::vector<std::string> texts(3);
  std::vector<int> lines(3);
  {
    ::testing::TestPartResultArray failures;
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS,
        &failures);
    run_thread_ranks(3, [](const Group&) { expect_local_mean(); });
    ASSERT_EQ(failures.size(), 3);
    for (int i = 0; i < 3; ++i) {
      texts[i] = failures.GetTestPartResult(i).message();
      lines[i] = failures.GetTestPartResult(i).line_number();
    }
  }
  int reports = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i], kLine);
    if (texts[i].find("rank 0 has the report") != texts[i].npos) continue;
    ++reports;
    EXPECT_THAT(texts[i], HasSubstr("over 3 ranks, with an even split, the "
                                    "gradients are not those of one process"));
    EXPECT_THAT(texts[i], HasSubstr("weight"));
  }
  EXPECT_EQ(reports, 1);
}

TEST(GradientsTest, OfALossThatNeedsRowsLeaveIdleRanksOut) {
  run_thread_ranks(3, [](const Group&) {
    losses::MetricLoss mse{MeanSquaredError()};
    ExpectGradientsOfOneProcess(
        [&](const Tensors& rows) {
          TORCH_CHECK_VALUE(rows[0].numel() > 0, "no rows");
          return mse->forward(rows[0], rows[1]);
        },
        {x(), y()}, {}, {}, /*idle_ranks=*/false);
  });
}

TEST(GradientsTest, AreComparedForTheRowsThatAreGiven) {
  run_thread_ranks(2, [](const Group&) {
    losses::MetricLoss mse{MeanSquaredError()};
    std::vector<std::int64_t> seen;
    ExpectGradientsOfOneProcess(
        [&](const Tensors& rows) {
          if (sync::default_communicator()->size() == 2) {
            seen.push_back(rows[0].size(0));
          }
          return mse->forward(rows[0], rows[1]);
        },
        {x(), y()}, {},
        losses::CheckDistributedGradientsOptions().rows({1, 6}));
    const std::int64_t own = sync::default_communicator()->rank() == 0 ? 1 : 6;
    EXPECT_EQ(seen, std::vector<std::int64_t>{own});
  });
}

}  // namespace
}  // namespace tally::testkit
