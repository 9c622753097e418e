// Tests of a custom metric and a custom loss over ranks.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tally/metrics/metric_of.h>
#include <tally/sync/average_over_ranks.h>
#include <tally/testing/gradients.h>
#include <tally/testing/matchers.h>
#include <tally/testing/metric_laws.h>
#include <tally/testing/ranks_test.h>

using tally::sync::SyncErrorCode;
using tally::testkit::Fault;

// The mean of squared errors larger than a margin.
struct MarginSums {
  struct State {
    tally::Number errors;
    std::int64_t rows = 0;
    void fields(tally::Fields& f) { f("errors", errors)("rows", rows); }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    const at::Tensor errors = at::relu((preds - target).abs() - 0.1);
    return {tally::Number(errors.mul(errors).sum()), preds.numel()};
  }
};
struct MarginError final
    : tally::MetricOf<MarginError, MarginSums, at::Tensor> {
  static constexpr const char* kName = "MarginError";
  at::Tensor evaluate(const State& s) const { return s.errors / s.rows; }
};

TEST(MarginErrorTest, ObeysTheLaws) {
  using tally::testkit::reals;
  tally::testkit::check_metric_laws<MarginError>(
      tally::testkit::batch_of({reals(), reals()}));
}

RANKS_TEST(MarginErrorTest, IsThatOfAllRows, 1, 2, 3) {
  MarginError metric;
  // The last rank has no rows unless it is alone.
  const std::int64_t rows = self.size() - self.rank() - (self.size() > 1);
  metric.update(at::full({rows}, 1.1, at::kDouble), at::zeros({rows}));
  EXPECT_THAT(metric.compute(),
              tally::testkit::Near(at::full({}, 1.0, at::kDouble)));
}

RANKS_TEST(MarginErrorTest, SaysWhenARankIsLost, 3) {
  self.inject(Fault::kill(), /*rank=*/1, /*call=*/0);
  MarginError metric;
  metric.update(at::full({2}, 1.0), at::zeros({2}));
  EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kPeerLost);
}

THREAD_RANKS_TEST(MeanOfAllTest, HasTheGradientsOfOneProcess, 2, 3) {
  const at::Tensor weight = at::full({1}, 2.0, at::kDouble).requires_grad_();
  tally::testkit::ExpectGradientsOfOneProcess(
      [&](const std::vector<at::Tensor>& rows) {
        const at::Tensor errors = rows[0] * weight - 1;
        return tally::sync::average_over_ranks((errors * errors).mean(),
                                               rows[0].size(0));
      },
      {at::arange(6, at::kDouble)}, {{"weight", weight}});
}
