#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tally/metrics/collection.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/sample_metrics.h"

// Ranks that do not do the same: real processes over Gloo, which on its own
// would abort, return garbage, or shift results by one.

namespace tally {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using sync::GradientFlow;
using sync::SyncError;
using sync::SyncErrorCode;
using tally::testkit::kAtOnce;
using tally::testkit::SampleCat;
using tally::testkit::SampleCorrelation;
using tally::testkit::SampleMeanSquaredError;
using tally::testkit::SampleTensorSum;
using tally::testkit::sync_error_of;
using ::testing::AnyOf;
using ::testing::HasSubstr;

at::Tensor number(double value) { return at::full({2}, value, at::kDouble); }

struct Kind {
  at::Tensor most, odd;
};

RANKS_TEST(RankDifferencesTest, StatesOfAnotherKindAreAMismatchOnAllRanks, 2,
           3) {
  const int last = self.size() - 1;
  const std::vector<Kind> kinds = {
      {at::ones({4}, at::kFloat), at::ones({4}, at::kInt)},
      {at::ones({4}, at::kFloat), at::ones({4}, at::kDouble)},
      {at::ones({4}), at::ones({6})},
      {at::ones({2, 3}), at::ones({3, 2})},
      {at::ones({6}), at::ones({2, 3})},
      {at::ones({200'000}), at::ones({2, 100'000})},
      {at::ones({200'000}, at::kFloat), at::ones({100'000}, at::kDouble)},
  };
  for (const Kind& kind : kinds) {
    SampleTensorSum metric;
    metric.update(self.rank() == last ? kind.odd : kind.most);
    const std::string before = metric.serialize();
    const SyncError error = sync_error_of([&] { metric.compute(); }).value();
    EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
    EXPECT_EQ(error.details().peers, std::vector<int>{last});
    EXPECT_EQ(error.details().metric, "SampleTensorSum");
    EXPECT_EQ(metric.serialize(), before);
    metric.reset();
    metric.update(number(1));
    EXPECT_TRUE(metric.compute().equal(number(self.size())));
  }
  SampleCat rows;
  rows.update(at::ones({2, 2}, self.rank() == 0 ? at::kLong : at::kDouble));
  EXPECT_EQ(sync_error_of([&] { rows.compute(); }).value().code(),
            SyncErrorCode::kMismatch);
}

// The same names as SampleMeanSquaredError, with another reduction.
struct OtherError {
  static constexpr const char* kName = "SampleError";
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum, Merge::kMax)("total", total); }
  };
  State observe(const at::Tensor& preds, const at::Tensor&) const {
    return {Number(preds.sum()), preds.numel()};
  }
};
struct OtherMeanSquaredError final
    : MetricOf<OtherMeanSquaredError, OtherError, at::Tensor> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleMeanSquaredError";
  at::Tensor evaluate(const State& s) const { return s.sum; }
};

RANKS_TEST(RankDifferencesTest,
           OtherMetricsOrdersAndOptionsAreAMismatchOnAllRanks, 2, 3) {
  const bool odd = self.rank() == self.size() - 1;
  const auto expect_mismatch = [&](MetricCollection& metrics) {
    metrics.update(number(1), number(2));
    const SyncError error = sync_error_of([&] { metrics.compute(); }).value();
    EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
    EXPECT_EQ(error.details().peers, std::vector<int>{self.size() - 1});
    EXPECT_EQ(error.details().phase, "header");
  };
  MetricCollection more;
  more.add("a", SampleMeanSquaredError());
  if (odd) more.add("b", SampleCorrelation());
  expect_mismatch(more);
  MetricCollection order;
  if (odd) order.add("b", SampleCorrelation());
  order.add("a", SampleMeanSquaredError());
  if (!odd) order.add("b", SampleCorrelation());
  expect_mismatch(order);
  MetricCollection option;
  option.add("a", SampleMeanSquaredError(
                      NoOptions(),
                      MetricOptions().nan_policy(odd ? NanPolicy::kError
                                                     : NanPolicy::kPropagate)));
  expect_mismatch(option);
  MetricCollection reduction;
  if (odd) {
    reduction.add("a", OtherMeanSquaredError());
  } else {
    reduction.add("a", SampleMeanSquaredError());
  }
  expect_mismatch(reduction);
  SampleTensorSum metric;
  metric.update(number(1));
  EXPECT_TRUE(metric.compute().equal(number(self.size())));
}

RANKS_TEST(RankDifferencesTest, OneCallTooManyNeverShiftsAValue, 2, 3) {
  self.group()->set_timeout(seconds(2));
  SampleTensorSum sum;
  SampleCat rows;
  sum.update(number(self.rank()));
  rows.update(number(self.rank()));
  const double total = self.size() * (self.size() - 1) / 2;
  const int last = self.size() - 1;
  EXPECT_TRUE(sum.compute().equal(number(total)));
  // The last rank is still at the sum when the others are at the rows.
  const auto compute_another = [&] {
    self.rank() == last ? sum.compute() : rows.compute();
  };
  const SyncError error = sync_error_of(compute_another).value();
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_THAT(error.message(), HasSubstr("rank 0: SampleCat"));
  EXPECT_THAT(error.message(),
              HasSubstr("rank " + std::to_string(last) + ": SampleTensorSum"));
  EXPECT_EQ(rows.compute().size(0), 2 * self.size());
  EXPECT_TRUE(sum.compute().equal(number(total)));
  // At the end nobody answers.
  if (self.rank() > 0) self.wait_for_end(self.rank() - 1);
  const auto start = steady_clock::now();
  EXPECT_THAT(sync_error_of([&] { sum.compute(); }).value().code(),
              AnyOf(SyncErrorCode::kTimeout, SyncErrorCode::kPeerLost));
  EXPECT_LE(steady_clock::now() - start, seconds(2) + kAtOnce);
}

RANKS_TEST(RankDifferencesTest, BackwardOnOneRankIsAMismatchOrATimeout, 2, 3) {
  self.group()->set_timeout(seconds(2));
  SampleTensorSum metric(NoOptions(),
                         MetricOptions().dist_sync_on_step(true).gradient_flow(
                             GradientFlow::kAllRanks));
  const at::Tensor x = number(self.rank()).requires_grad_();
  at::Tensor loss = metric.forward(x).sum();
  const auto go_on = [&] {
    self.rank() == 0 ? loss.backward() : (void)metric.compute();
  };
  const SyncError error = sync_error_of(go_on).value();
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_THAT(error.message(), HasSubstr("rank 0: a backward pass"));
  // The group is usable; a lone backward pass ends it.
  loss = metric.forward(x).sum();
  if (self.rank() > 0) self.wait_for_end(self.rank() - 1);
  const auto start = steady_clock::now();
  const SyncError late = sync_error_of(go_on).value();
  if (self.rank() == 0) {
    EXPECT_EQ(late.code(), SyncErrorCode::kTimeout);
    EXPECT_LE(steady_clock::now() - start, seconds(2) + kAtOnce);
  }
}

}  // namespace
}  // namespace tally
