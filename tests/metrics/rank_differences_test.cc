#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tally/metrics/collection.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/process_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

// Ranks that do not do the same: real processes over Gloo, which on its own
// would abort, return garbage, or shift results by one.

namespace tally {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using sync::GradientFlow;
using sync::SyncError;
using sync::SyncErrorCode;
using tally::testkit::kAtOnce;
using tally::testkit::ProcessRank;
using tally::testkit::ProcessRanks;
using tally::testkit::SampleCat;
using tally::testkit::SampleCorrelation;
using tally::testkit::SampleMeanSquaredError;
using tally::testkit::SampleTensorSum;
using ::testing::AnyOf;
using ::testing::HasSubstr;

at::Tensor number(double value) { return at::full({2}, value, at::kDouble); }

// What `call` throws, which is to be a SyncError.
template <class Call>
SyncError error_of(const Call& call) {
  try {
    call();
  } catch (const SyncError& error) {
    return error;
  }
  throw std::logic_error("expected a SyncError, got none");
}

void expect_success(ProcessRanks& ranks) {
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
  }
}

class RankDifferencesTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Ranks, RankDifferencesTest, ::testing::Values(2, 3),
                         [](const auto& param) {
                           return "Of" + std::to_string(param.param);
                         });

struct Kind {
  at::Tensor most, odd;
};

TEST_P(RankDifferencesTest, StatesOfAnotherKindAreAMismatchOnAllRanks) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(seconds(10));
    const MetricOptions options = MetricOptions().communicator(group);
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
      SampleTensorSum metric(NoOptions(), options);
      metric.update(self.rank() == last ? kind.odd : kind.most);
      const std::string before = metric.serialize();
      const SyncError error = error_of([&] { metric.compute(); });
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_EQ(error.details().peers, std::vector<int>{last});
      EXPECT_EQ(error.details().metric, "SampleTensorSum");
      EXPECT_EQ(metric.serialize(), before);
      metric.reset();
      metric.update(number(1));
      EXPECT_TRUE(metric.compute().equal(number(self.size())));
    }
    SampleCat rows(NoOptions(), options);
    rows.update(at::ones({2, 2}, self.rank() == 0 ? at::kLong : at::kDouble));
    EXPECT_EQ(error_of([&] { rows.compute(); }).code(),
              SyncErrorCode::kMismatch);
  });
  expect_success(ranks);
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

TEST_P(RankDifferencesTest,
       OtherMetricsOrdersAndOptionsAreAMismatchOnAllRanks) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(seconds(10));
    const bool odd = self.rank() == self.size() - 1;
    const auto expect_mismatch = [&](MetricCollection& metrics) {
      metrics.update(number(1), number(2));
      const SyncError error = error_of([&] { metrics.compute(); });
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_EQ(error.details().peers, std::vector<int>{self.size() - 1});
      EXPECT_EQ(error.details().phase, "header");
    };
    const MetricOptions options = MetricOptions().communicator(group);
    MetricCollection more(options);
    more.add("a", SampleMeanSquaredError());
    if (odd) more.add("b", SampleCorrelation());
    expect_mismatch(more);
    MetricCollection order(options);
    if (odd) order.add("b", SampleCorrelation());
    order.add("a", SampleMeanSquaredError());
    if (!odd) order.add("b", SampleCorrelation());
    expect_mismatch(order);
    MetricCollection option(options);
    option.add("a", SampleMeanSquaredError(
                        NoOptions(),
                        MetricOptions().nan_policy(
                            odd ? NanPolicy::kError : NanPolicy::kPropagate)));
    expect_mismatch(option);
    MetricCollection reduction(options);
    if (odd) {
      reduction.add("a", OtherMeanSquaredError());
    } else {
      reduction.add("a", SampleMeanSquaredError());
    }
    expect_mismatch(reduction);
    SampleTensorSum metric(NoOptions(), options);
    metric.update(number(1));
    EXPECT_TRUE(metric.compute().equal(number(self.size())));
  });
  expect_success(ranks);
}

TEST_P(RankDifferencesTest, OneCallTooManyNeverShiftsAValue) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(seconds(2));
    const MetricOptions options = MetricOptions().communicator(group);
    SampleTensorSum sum(NoOptions(), options);
    SampleCat rows(NoOptions(), options);
    sum.update(number(self.rank()));
    rows.update(number(self.rank()));
    const double total = self.size() * (self.size() - 1) / 2;
    const int last = self.size() - 1;
    EXPECT_TRUE(sum.compute().equal(number(total)));
    // The last rank is still at the sum when the others are at the rows.
    const SyncError error =
        error_of([&] { self.rank() == last ? sum.compute() : rows.compute(); });
    EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
    EXPECT_THAT(error.message(), HasSubstr("rank 0: SampleCat"));
    EXPECT_THAT(error.message(), HasSubstr("rank " + std::to_string(last) +
                                           ": SampleTensorSum"));
    EXPECT_EQ(rows.compute().size(0), 2 * self.size());
    EXPECT_TRUE(sum.compute().equal(number(total)));
    self.ready();
    self.wait_go();
    // At the end nobody answers.
    EXPECT_THAT(error_of([&] { sum.compute(); }).code(),
                AnyOf(SyncErrorCode::kTimeout, SyncErrorCode::kPeerLost));
  });
  ranks.wait_ready();
  const auto start = steady_clock::now();
  ranks.go(0);
  EXPECT_EQ(ranks.join(0).exit_code, ProcessRanks::kOk);
  EXPECT_LE(steady_clock::now() - start, seconds(2) + kAtOnce);
  for (int r = 1; r < GetParam(); ++r) {
    ranks.go(r);
    EXPECT_EQ(ranks.join(r).exit_code, ProcessRanks::kOk);
  }
}

TEST_P(RankDifferencesTest, BackwardOnOneRankIsAMismatchOrATimeout) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(seconds(2));
    SampleTensorSum metric(NoOptions(),
                           MetricOptions()
                               .communicator(group)
                               .dist_sync_on_step(true)
                               .gradient_flow(GradientFlow::kAllRanks));
    const at::Tensor x = number(self.rank()).requires_grad_();
    at::Tensor loss = metric.forward(x).sum();
    const SyncError error = error_of(
        [&] { self.rank() == 0 ? loss.backward() : (void)metric.compute(); });
    EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
    EXPECT_THAT(error.message(), HasSubstr("rank 0: a backward pass"));
    // The group is usable; a lone backward pass ends it.
    loss = metric.forward(x).sum();
    self.ready();
    if (self.rank() != 0) self.wait_go();
    const auto start = steady_clock::now();
    const SyncError late = error_of(
        [&] { self.rank() == 0 ? loss.backward() : (void)metric.compute(); });
    if (self.rank() == 0) {
      EXPECT_EQ(late.code(), SyncErrorCode::kTimeout);
      EXPECT_LE(steady_clock::now() - start, seconds(2) + kAtOnce);
    }
  });
  ranks.wait_ready();
  EXPECT_EQ(ranks.join(0).exit_code, ProcessRanks::kOk);
  for (int r = 1; r < GetParam(); ++r) {
    ranks.go(r);
    EXPECT_EQ(ranks.join(r).exit_code, ProcessRanks::kOk);
  }
}

}  // namespace
}  // namespace tally
