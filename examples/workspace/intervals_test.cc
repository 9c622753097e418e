// Custom metrics that say what is known of their rows, and have the intervals
// that follow from it.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tally/metrics/classification/balanced_accuracy.h>
#include <tally/metrics/intervals/interval_metric.h>
#include <tally/metrics/intervals/proportions.h>
#include <tally/metrics/metric_of.h>
#include <tally/metrics/sampling.h>

using tally::AnyState;
using tally::Interval;
using tally::IntervalMethod;
using tally::IntervalMetric;
using tally::IntervalOptions;
using testing::ElementsAre;

namespace {

// The fraction of predictions that are close to their target.
struct CloseRows {
  struct State {
    std::int64_t close = 0;
    std::int64_t rows = 0;
    void fields(tally::Fields& f) { f("close", close)("rows", rows); }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    const at::Tensor is_close = preds.sub(target).abs().lt(0.5);
    return {is_close.sum().item<std::int64_t>(), preds.numel()};
  }
};

struct FractionClose final
    : tally::MetricOf<FractionClose, CloseRows, at::Tensor> {
  static constexpr const char* kName = "FractionClose";
  at::Tensor evaluate(const State& state) const {
    return tally::Number(state.close) / state.rows;
  }
  tally::MetricSampling sampling() const override {
    tally::MetricSampling sampling;
    sampling.rate = tally::RateSampling();
    sampling.rate->proportions = [](const AnyState& any) {
      const auto& state = any.get<State>();
      return std::vector<tally::Proportion>{
          {static_cast<double>(state.close), static_cast<double>(state.rows)}};
    };
    return sampling;
  }
};

// Rows by prediction and target, both 0 or 1.
struct FourCells {
  struct State {
    at::Tensor cells;  // float64 [2, 2], by target and prediction
    void fields(tally::Fields& f) { f("cells", cells); }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    return {at::bincount(target.mul(2).add(preds), /*weights=*/{}, 4)
                .to(at::kDouble)
                .reshape({2, 2})};
  }
};

// Youden's J: sensitivity + specificity - 1.
struct Informedness final
    : tally::MetricOf<Informedness, FourCells, at::Tensor> {
  static constexpr const char* kName = "Informedness";
  at::Tensor evaluate(const State& state) const {
    if (!state.cells.defined()) return at::full({}, std::nan(""), at::kDouble);
    return state.cells.diagonal().div(state.cells.sum(1)).sum().sub(1);
  }
  tally::MetricSampling sampling() const override {
    tally::MetricSampling sampling;
    sampling.cells = tally::CellSampling();
    sampling.cells->low = -1;
    sampling.cells->table = [](const AnyState& any) {
      tally::CellTable table;
      table.sums = 4;
      table.state = [](const std::vector<double>& sums) {
        return AnyState::of(
            State{at::tensor(sums, at::kDouble).reshape({2, 2})});
      };
      const at::Tensor& cells = any.get<State>().cells;
      if (!cells.defined()) return table;
      const auto* const counts = cells.const_data_ptr<double>();
      for (std::size_t i = 0; i < table.sums; ++i) {
        const auto count = static_cast<std::int64_t>(counts[i]);
        if (count > 0) {
          table.cells.push_back(
              {static_cast<std::int64_t>(i), count, {{i, 1.0}}});
        }
      }
      table.deciding = counts[1] + counts[2] + std::min(counts[0], counts[3]);
      return table;
    };
    return sampling;
  }
};

struct Answers {
  struct State {
    tally::Rows scores;  // float64
    tally::Rows target;  // float64, 0 and 1
    void fields(tally::Fields& f) { f("scores", scores)("target", target); }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    return {tally::Rows(preds.to(at::kDouble)),
            tally::Rows(target.to(at::kDouble))};
  }
};

// How often a positive has a higher score than a negative.
struct Concordance final : tally::MetricOf<Concordance, Answers, at::Tensor> {
  static constexpr const char* kName = "Concordance";
  at::Tensor evaluate(const State& state) const {
    if (state.scores.size() == 0) {
      return at::full({}, std::nan(""), at::kDouble);
    }
    return at::full({}, tally::delong(samples_of(state)).area, at::kDouble);
  }
  tally::MetricSampling sampling() const override {
    tally::MetricSampling sampling;
    sampling.pairs = tally::PairSampling();
    sampling.pairs->visit = [](const AnyState& any,
                               const tally::PairSampling::Use& use) {
      const auto& state = any.get<State>();
      if (state.scores.size() > 0) use(0, samples_of(state));
    };
    return sampling;
  }

 private:
  static tally::ScoredSamples samples_of(const State& state) {
    return tally::scored_samples(state.scores.tensor(), state.target.tensor());
  }
};

template <class M>
Interval interval_of(const at::Tensor& preds, const at::Tensor& target,
                     IntervalMethod method = IntervalMethod::kAuto) {
  IntervalMetric metric(M(), IntervalOptions().method(method));
  metric.update(preds, target);
  return metric.compute().value();
}

double low_of(const Interval& interval) { return interval.low.item<double>(); }
double high_of(const Interval& interval) {
  return interval.high.item<double>();
}

}  // namespace

TEST(CustomIntervalTest, ARateHasWilsons) {
  const at::Tensor target = at::zeros({10});
  const at::Tensor preds = at::cat({at::zeros({8}), at::ones({2})});
  EXPECT_THAT(
      tally::interval_methods(FractionClose()),
      ElementsAre(IntervalMethod::kWilson, IntervalMethod::kClopperPearson,
                  IntervalMethod::kJackknife, IntervalMethod::kPoisson,
                  IntervalMethod::kDoubleOrNothing));
  // 8 of 10.
  const Interval wilson = interval_of<FractionClose>(preds, target);
  EXPECT_EQ(wilson.method, IntervalMethod::kWilson);
  EXPECT_NEAR(low_of(wilson), 0.490162, 1e-6);
  EXPECT_NEAR(high_of(wilson), 0.943318, 1e-6);
  const Interval exact = interval_of<FractionClose>(
      preds, target, IntervalMethod::kClopperPearson);
  EXPECT_NEAR(low_of(exact), 0.443905, 1e-6);
  EXPECT_NEAR(high_of(exact), 0.974789, 1e-6);
}

TEST(CustomIntervalTest, CellsHaveTheDeltaMethod) {
  const at::Tensor target = at::arange(60).remainder(3).eq(0).to(at::kLong);
  const at::Tensor preds =
      target.bitwise_xor(at::arange(60).remainder(7).eq(0).to(at::kLong));
  for (const auto method :
       {IntervalMethod::kAuto, IntervalMethod::kPoissonCells}) {
    const Interval own = interval_of<Informedness>(preds, target, method);
    IntervalMetric same(
        tally::BinaryBalancedAccuracy(
            tally::BinaryBalancedAccuracyOptions().adjusted(true)),
        IntervalOptions().method(method));
    same.update(preds, target);
    const Interval expected = same.compute().value();
    EXPECT_EQ(own.method, expected.method);
    EXPECT_NEAR(low_of(own), low_of(expected), 0.02);
    EXPECT_NEAR(high_of(own), high_of(expected), 0.02);
    EXPECT_LT(low_of(own), own.value.item<double>());
  }
}

TEST(CustomIntervalTest, PairsHaveDeLongs) {
  const at::Tensor scores = at::arange(40, at::kDouble).mul(7).remainder(11);
  const at::Tensor target = at::arange(40).remainder(3).eq(0).to(at::kDouble);
  EXPECT_EQ(interval_of<Concordance>(scores, target).method,
            IntervalMethod::kDelongNewcombe);
  const Interval delong =
      interval_of<Concordance>(scores, target, IntervalMethod::kDelong);
  EXPECT_EQ(delong.method, IntervalMethod::kDelong);
  const auto expected =
      tally::delong_interval(tally::delong(scores, target), 0.95);
  EXPECT_DOUBLE_EQ(low_of(delong), expected.low);
  EXPECT_DOUBLE_EQ(high_of(delong), expected.high);
  EXPECT_EQ(interval_of<Concordance>(scores, target, IntervalMethod::kNewcombe)
                .method,
            IntervalMethod::kNewcombe);
}

TEST(CustomIntervalTest, SaysWhichMethodsThereAre) {
  try {
    IntervalMetric metric(Concordance(),
                          IntervalOptions().method(IntervalMethod::kWilson));
    FAIL() << "expected an error";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.msg(),
                testing::HasSubstr("for which there are delong_newcombe, "
                                   "delong, newcombe, jackknife"));
  }
}
