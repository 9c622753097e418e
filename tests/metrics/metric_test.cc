#include "tally/metrics/metric.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using testkit::SampleCat;
using testkit::SampleCorrelation;
using testkit::SampleExtent;
using testkit::SampleMeanSquaredError;
using testkit::SampleStrictSum;
using testkit::SampleTensorSum;

at::Tensor row(double a, double b) {
  at::Tensor tensor = at::full({2}, a, at::kDouble);
  tensor.select(0, 1).fill_(b);
  return tensor;
}

Metric& erased(Metric& metric) { return metric; }

double value_of(const at::Tensor& tensor) { return tensor.item<double>(); }

TEST(MetricTest, GoesThroughItsStates) {
  SampleTensorSum metric;
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
  metric.sync();
  EXPECT_EQ(metric.status(), MetricStatus::kSynced);
  metric.unsync();
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
  metric.update(row(1, 2));
  EXPECT_EQ(metric.status(), MetricStatus::kUpdated);
  EXPECT_EQ(metric.update_count(), 1);
  metric.sync();
  EXPECT_TRUE(metric.is_synced());
  EXPECT_TRUE(metric.compute().equal(row(1, 2)));
  metric.unsync();
  EXPECT_EQ(metric.status(), MetricStatus::kUpdated);
  metric.reset();
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
  EXPECT_EQ(metric.update_count(), 0);
  metric.sync();
  metric.reset();
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
}

TEST(MetricTest, MisuseIsAnErrorWithAName) {
  SampleTensorSum metric;
  SampleTensorSum other;
  metric.update(row(1, 2));
  other.update(row(1, 2));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.unsync(); }),
              HasSubstr("SampleTensorSum: unsync() without sync()"));
  metric.sync();
  const std::string before = metric.serialize();
  const auto refused = [](const char* verb) {
    return "SampleTensorSum: " + std::string(verb) +
           " is not possible while synced; call unsync() first";
  };
  const at::Tensor x = row(1, 2);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.update(x); }),
              HasSubstr(refused("update")));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.forward(x); }),
              HasSubstr(refused("forward")));
  EXPECT_THAT(refusal_of<c10::Error>([&] { erased(metric).update(x); }),
              HasSubstr(refused("update")));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.forward_results(x); }),
              HasSubstr(refused("forward")));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.merge_state(other); }),
              HasSubstr(refused("merge_state")));
  EXPECT_THAT(refusal_of<c10::Error>([&] { other.merge_state(metric); }),
              HasSubstr(refused("merge_state")));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.sync(); }),
              HasSubstr("sync() was called twice"));
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_TRUE(metric.is_synced());
  EXPECT_EQ(other.update_count(), 1);
}

TEST(MetricTest, TypedAndErasedMetricsHaveTheSameCalls) {
  SampleStrictSum metric;
  Metric& any = metric;
  EXPECT_EQ(metric.forward(row(1, 2)).item<double>(), 3);
  EXPECT_EQ(any.forward(row(1, 2)).value().item<double>(), 3);
  EXPECT_EQ(any.forward(row(1, 2)).number(), 3);
  EXPECT_EQ(metric.number(), 9);
  EXPECT_EQ(any.number(), 9);
}

TEST(MetricTest, ChangesOneOption) {
  SampleTensorSum metric;
  metric.set_metric_options(MetricOptions().dist_sync_on_step(true));
  metric.update(row(1, 2));
  metric.with_options([](MetricOptions& o) { o.sync_on_compute(false); });
  EXPECT_FALSE(metric.metric_options().sync_on_compute());
  EXPECT_TRUE(metric.metric_options().dist_sync_on_step());
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                metric.with_options(
                    [](MetricOptions& o) { o.nan_policy(NanPolicy::kIgnore); });
              }),
              HasSubstr("only before the first update"));
  EXPECT_FALSE(metric.metric_options().sync_on_compute());
}

TEST(MetricTest, AnObjectThatFailsStaysAsItWas) {
  SampleStrictSum metric;
  metric.update(row(1, 2));
  const std::string before = metric.serialize();
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.update(row(1, 101)); }),
              HasSubstr("SampleStrictSum"));
  EXPECT_THROW(metric.update(row(1, 101)), c10::ValueError);
  EXPECT_THROW(metric.forward(row(1, 101)), c10::ValueError);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.forward(row(-1, -2)); }),
              HasSubstr("no value below 0"));
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_EQ(value_of(metric.compute()), 3);

  metric.update(row(-5, -5));
  EXPECT_THROW(metric.compute(), c10::Error);
  EXPECT_THROW(metric.compute(), c10::Error) << "a value that there is not";
  metric.update(row(10, 0));
  EXPECT_EQ(value_of(metric.compute()), 3);
}

TEST(MetricTest, InputsOfAnotherKindAreRefused) {
  SampleMeanSquaredError metric;
  const at::Tensor x = row(1, 2);
  EXPECT_THAT(refusal_of<c10::Error>([&] { erased(metric).update(x); }),
              HasSubstr("SampleMeanSquaredError: expected 2 inputs, got 1"));
  EXPECT_THAT(refusal_of<c10::Error>(
                  [&] { erased(metric).update(x, std::string("text")); }),
              HasSubstr("expected input 1 to be an at::Tensor, got a std::"));
  EXPECT_THROW(metric.update(x, at::ones({3})), c10::ValueError);
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
}

TEST(MetricTest, OtherShapesAreRefusedBeforeAnythingChanges) {
  SampleTensorSum metric;
  metric.update(at::ones({2, 3}));
  const std::string before = metric.serialize();
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                metric.update(at::ones({3, 2}));
              }),
              HasSubstr("SampleTensorSum: state 'sum' holds Float [2, 3]"));
  EXPECT_THROW(metric.forward(at::ones({3, 2})), c10::ValueError);
  SampleTensorSum other;
  other.update(at::ones({3, 2}));
  EXPECT_THROW(metric.merge_state(other), c10::ValueError);
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_EQ(metric.update_count(), 1);
}

// A merge that hands on what it got, as a merge of one's own may.
struct Latest {
  static constexpr const char* kName = "Latest";
  struct State {
    at::Tensor value;
    Rows rows;
    void fields(Fields& f) { f("value", value)("rows", rows); }
    static State merge(const State& a, const State& b) {
      return b.value.defined() ? b : a;
    }
  };
  State observe(const at::Tensor& value) const { return {value, Rows(value)}; }
};
class LatestValue final : public MetricOf<LatestValue, Latest, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "LatestValue";
  at::Tensor evaluate(const State& s) const { return s.value; }
};

template <class M>
void expect_no_aliases() {
  M metric;
  const at::Tensor first = row(1, 2);
  const at::Tensor second = row(3, 4);
  const at::Tensor value = metric.forward(first);
  const at::Tensor value_before = value.clone();
  metric.update(second);
  const at::Tensor computed = metric.compute();
  const at::Tensor computed_before = computed.clone();
  metric.update(row(5, 6));
  EXPECT_TRUE(first.equal(row(1, 2))) << M::kName;
  EXPECT_TRUE(second.equal(row(3, 4))) << M::kName;
  EXPECT_TRUE(value.equal(value_before)) << M::kName;
  EXPECT_TRUE(computed.equal(computed_before)) << M::kName;

  const std::string before = metric.serialize();
  first.fill_(-1);
  second.fill_(-1);
  value.fill_(-1);
  const at::Tensor last = metric.compute();
  const at::Tensor last_before = last.clone();
  last.fill_(-1);
  for (const auto& [name, part] : metric.state()) part.fill_(-1);
  EXPECT_EQ(metric.serialize(), before) << M::kName;
  EXPECT_TRUE(metric.compute().equal(last_before)) << M::kName;
}

TEST(MetricTest, NothingHandedInOrOutIsShared) {
  expect_no_aliases<SampleTensorSum>();
  expect_no_aliases<SampleCat>();
  expect_no_aliases<LatestValue>();
}

template <class M, class... Inputs>
void expect_no_graph(const Inputs&... inputs) {
  M metric;
  metric.update(inputs...);
  const auto value = metric.forward_results(inputs...);
  for (const auto& [name, part] : metric.state()) {
    EXPECT_FALSE(part.requires_grad()) << M::kName << ' ' << name;
  }
  for (const auto& [name, part] : value) {
    EXPECT_EQ(part.requires_grad(), M::kIsDifferentiable) << M::kName;
  }
  for (const auto& [name, part] : metric.compute_results()) {
    EXPECT_FALSE(part.requires_grad()) << M::kName << ' ' << name;
  }
}

TEST(MetricTest, NothingAccumulatedKeepsAGraph) {
  const at::Tensor x = row(1, 2).set_requires_grad(true);
  const at::Tensor y = row(2, 5).set_requires_grad(true);
  expect_no_graph<SampleMeanSquaredError>(x, y);
  expect_no_graph<SampleCorrelation>(x, y);
  expect_no_graph<SampleTensorSum>(x);
  expect_no_graph<SampleCat>(x);
  expect_no_graph<SampleExtent>(x);
  expect_no_graph<LatestValue>(x);
  expect_no_graph<SampleStrictSum>(x);
}

TEST(MetricTest, ForwardHasAGradientOnlyWhereOneIsRecorded) {
  at::Tensor x = row(1, 2).set_requires_grad(true);
  SampleMeanSquaredError metric;
  metric.forward(x, at::zeros({2})).backward();
  EXPECT_TRUE(x.grad().equal(row(1, 2)));
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(metric.forward(x, at::zeros({2})).requires_grad());
  EXPECT_EQ(metric.update_count(), 2);
}

TEST(MetricTest, NumbersAreInputsToo) {
  SampleTensorSum metric;
  metric.update(0.25);
  metric.update(0.5F);
  EXPECT_EQ(value_of(metric.compute()), 0.75);
  SampleTensorSum whole;
  whole.update(3);
  EXPECT_EQ(whole.compute().scalar_type(), at::kLong);
}

TEST(MetricTest, MergesOnlyTheSameMetricWithTheSameOptions) {
  SampleTensorSum metric;
  metric.update(row(1, 2));
  const std::string before = metric.serialize();
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.merge_state(metric); }),
              HasSubstr("expected another one, got itself"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.merge_state(SampleCat()); }),
              HasSubstr("expected the same metrics with the same options, of "
                        "SampleTotals("));
  EXPECT_THROW(metric.merge_state(SampleTensorSum(
                   NoOptions(), MetricOptions().validate_args(false))),
               c10::ValueError);
  EXPECT_EQ(metric.serialize(), before);
}

TEST(MetricTest, ClonesAndMovedObjectsGoOnAlone) {
  SampleCat metric;
  metric.set_dtype(at::kFloat);
  metric.update(row(1, 2));
  const auto clone = metric.clone();
  SampleCat moved = std::move(metric);
  moved.update(row(3, 4));
  EXPECT_EQ(clone->update_count(), 1);
  EXPECT_EQ(moved.update_count(), 2);
  const at::Tensor value = clone->compute_results().at("");
  EXPECT_EQ(value.scalar_type(), at::kFloat);
  EXPECT_TRUE(value.equal(row(1, 2).to(at::kFloat)));
  EXPECT_EQ(moved.compute().numel(), 4);
}

TEST(MetricTest, OptionsOfTheStateChangeOnlyBeforeTheFirstUpdate) {
  SampleTensorSum metric;
  const StateKey key = metric.state_key();
  const auto other = MetricOptions().nan_policy(NanPolicy::kError);
  metric.set_metric_options(other);
  EXPECT_NE(metric.state_key(), key);
  metric.update(row(1, 2));
  const std::string before = metric.serialize();
  EXPECT_THAT(refusal_of<c10::Error>(
                  [&] { metric.set_metric_options(MetricOptions()); }),
              HasSubstr("can be changed only before the first update"));
  EXPECT_EQ(metric.metric_options().nan_policy(), NanPolicy::kError);
  EXPECT_EQ(metric.serialize(), before);

  auto sync_options = other;
  metric.set_metric_options(sync_options.sync_on_compute(false));
  EXPECT_FALSE(metric.metric_options().sync_on_compute());
  EXPECT_EQ(metric.serialize(), before);
  metric.sync();
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.set_metric_options(other); }),
              HasSubstr("not possible while synced"));
}

// Adds what its options say.
struct Shifted {
  static constexpr const char* kName = "Shifted";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  Shifted(const NoOptions&, const MetricOptions& o)
      : shift(o.validate_args() ? 0 : 100) {}
  State observe(const at::Tensor& values) const {
    return {Number(values.sum()) + Number(shift)};
  }
  double shift;
};
class ShiftedSum final : public MetricOf<ShiftedSum, Shifted, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ShiftedSum";
  at::Tensor evaluate(const State& s) const { return s.sum; }
};

TEST(MetricTest, RefusedOptionsDoNotReachTheObserver) {
  ShiftedSum metric;
  metric.update(row(1, 2));
  EXPECT_THROW(metric.set_metric_options(MetricOptions().validate_args(false)),
               c10::Error);
  metric.update(row(1, 2));
  EXPECT_EQ(value_of(metric.compute()), 6);
  metric.reset();
  metric.set_metric_options(MetricOptions().validate_args(false));
  metric.update(row(1, 2));
  EXPECT_EQ(value_of(metric.compute()), 103);
}

TEST(MetricTest, ResultsHaveTheDtypeAskedFor) {
  SampleExtent metric;
  metric.update(row(1, 2));
  metric.compute();
  metric.set_dtype(at::kHalf);
  for (const auto& [name, part] : metric.compute_results()) {
    EXPECT_EQ(part.scalar_type(), at::kHalf) << name;
  }
  EXPECT_EQ(metric.forward(row(3, 4)).high.scalar_type(), at::kHalf);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.set_dtype(at::kLong); }),
              HasSubstr("SampleExtent: set_dtype expected a floating-point "
                        "dtype, got Long"));
}

TEST(MetricTest, TellsWhatItIs) {
  const SampleMeanSquaredError metric;
  EXPECT_EQ(metric.name(), "SampleMeanSquaredError");
  EXPECT_EQ(metric.repr(), "SampleMeanSquaredError()");
  EXPECT_TRUE(metric.is_differentiable());
  EXPECT_EQ(metric.higher_is_better(), false);
  EXPECT_EQ(SampleStrictSum().higher_is_better(), std::nullopt);
  EXPECT_FALSE(SampleStrictSum().is_differentiable());
}

TEST(MetricTest, ValuesAreComputedOnceUntilSomethingChanges) {
  SampleStrictSum metric;
  const auto evaluations_of = [&](const auto& change) {
    metric.compute();
    change();
    const int before = SampleStrictSum::evaluations;
    metric.compute();
    metric.compute();
    return SampleStrictSum::evaluations - before;
  };
  SampleStrictSum other;
  other.update(row(1, 2));
  const std::string bytes = other.serialize();
  EXPECT_EQ(evaluations_of([] {}), 0);
  EXPECT_EQ(evaluations_of([&] { metric.update(row(1, 2)); }), 1);
  EXPECT_EQ(evaluations_of([&] { metric.forward(row(1, 2)); }), 1);
  EXPECT_EQ(evaluations_of([&] { metric.merge_state(other); }), 1);
  EXPECT_EQ(evaluations_of([&] { (void)metric.deserialize(bytes); }), 1);
  EXPECT_EQ(evaluations_of([&] { metric.sync(); }), 1);
  EXPECT_EQ(evaluations_of([&] { metric.unsync(); }), 1);
  EXPECT_EQ(evaluations_of([&] { metric.set_dtype(at::kFloat); }), 1);
  EXPECT_EQ(evaluations_of([&] { metric.reset(); }), 1);
  EXPECT_EQ(evaluations_of([&] { (void)metric.deserialize("x"); }), 0);
  metric.set_metric_options(MetricOptions().compute_with_cache(false));
  EXPECT_EQ(evaluations_of([] {}), 2);
}

// Waits inside observe().
struct Waiting {
  static constexpr const char* kName = "Waiting";
  struct State {
    std::int64_t count = 0;
    void fields(Fields& f) { f("count", count); }
  };
  State observe(const at::Tensor&) const {
    entered->set_value();
    leave->get_future().wait();
    return {1};
  }
  static inline std::promise<void>* entered = nullptr;
  static inline std::promise<void>* leave = nullptr;
};
class WaitingCount final : public MetricOf<WaitingCount, Waiting, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "WaitingCount";
  at::Tensor evaluate(const State& s) const { return Number(s.count).tensor(); }
};

TEST(MetricTest, ASecondThreadIsRefused) {
  std::promise<void> entered;
  std::promise<void> leave;
  Waiting::entered = &entered;
  Waiting::leave = &leave;
  WaitingCount metric;
  const at::Tensor x = row(1, 2);
  std::thread thread([&] { metric.update(x); });
  entered.get_future().wait();
  const auto refused = HasSubstr("WaitingCount is used by two threads at once");
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.update(x); }), refused);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.forward(x); }), refused);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.compute(); }), refused);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.sync(); }), refused);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metric.reset(); }), refused);
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { metric.merge_state(WaitingCount()); }),
      refused);
  EXPECT_THAT(refusal_of<c10::Error>([&] { (void)metric.deserialize(""); }),
              refused);
  leave.set_value();
  thread.join();
  EXPECT_EQ(value_of(metric.compute()), 1);
}

}  // namespace
}  // namespace tally

// As in a program's tests: GoogleTest's namespace is no other than its own.
namespace {
using namespace tally;
TEST(NamespaceTest, LeavesGoogleTestsAlone) {
  using testing::Eq;
  EXPECT_THAT(testkit::SampleCat().update_count(), Eq(0));
}
}  // namespace
