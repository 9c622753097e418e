// Does not compile: mistakes_test.cc checks what the compiler says of each.

#include "tally/losses/metric_loss.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/slices/sliced_metric.h"

namespace tally {
namespace {

struct Sum {
  Number sum;
  void fields(Fields& f) { f("sum", sum); }
};
struct Bound {
  std::int64_t value = 0;
  void visit(OptionVisitor& v) { v("value", value); }
};
struct Other {
  void visit(OptionVisitor&) {}
};

template <class Observer>
struct Sample : MetricOf<Sample<Observer>, Observer, at::Tensor> {
  static constexpr const char* kName = "Sample";
  at::Tensor evaluate(const typename Observer::State&) const { return {}; }
};

struct ObserveIsNotConst {
  static constexpr InputInfo kInputs[] = {{"value", InputKind::kReal, "real"}};
  using State = Sum;
  State observe(const at::Tensor& value) { return {Number(value)}; }
};

struct MergeIsNotStatic {
  struct State : Sum {
    State merge(const State& a, const State&) { return a; }
  };
  State observe(const at::Tensor&) const { return {}; }
};

struct ValidateIsNotConst {
  struct Options : Bound {
    void validate(const char*) {}
  };
  using State = Sum;
  explicit ValidateIsNotConst(const Options&) {}
  State observe(const at::Tensor& value) const { return {Number(value)}; }
};

struct TakesOtherOptions {
  using Options = Bound;
  using State = Sum;
  explicit TakesOtherOptions(const Other& = {}) {}
  State observe(const at::Tensor& value) const { return {Number(value)}; }
};

struct TakesMetricOptions {
  using Options = Bound;
  using State = Sum;
  explicit TakesMetricOptions(const MetricOptions& = {}) {}
  State observe(const at::Tensor& value) const { return {Number(value)}; }
};

struct DeclaresNoDefault {
  static constexpr InputInfo kInputs[] = {{"value", InputKind::kReal, "real"},
                                          {"weight", InputKind::kReal, "real"}};
  using State = Sum;
  State observe(const at::Tensor& value, const at::Tensor& = {}) const {
    return {Number(value)};
  }
};

struct DeclaresOtherKind {
  static constexpr InputInfo kInputs[] = {{"preds", InputKind::kReal, "real"},
                                          {"target", InputKind::kReal, "real"}};
  using State = Sum;
  State observe(const at::Tensor&, const TextList&) const { return {}; }
};

struct TakesTexts {
  using State = Sum;
  State observe(const TextList&, const TextLists&) const { return {}; }
};

struct FieldIsDouble {
  struct State {
    double sum = 0;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor&) const { return {}; }
};

struct TakesOne {
  using State = Sum;
  State observe(const at::Tensor& value) const { return {Number(value)}; }
};

struct Nameless : MetricOf<Nameless, TakesOne, at::Tensor> {
  at::Tensor evaluate(const State& state) const { return state.sum; }
};

Sample<FieldIsDouble> field_is_double;
Nameless nameless;

void gives_one_more(Sample<TakesOne>& metric, const at::Tensor& value) {
  metric.update(value, value);
}

losses::MetricLoss is_not_differentiable{Sample<TakesOne>()};

Sample<ObserveIsNotConst> observe_is_not_const;
Sample<MergeIsNotStatic> merge_is_not_static;
Sample<ValidateIsNotConst> validate_is_not_const;
Sample<TakesOtherOptions> takes_other_options;
Sample<TakesMetricOptions> takes_metric_options;
Sample<DeclaresNoDefault> declares_no_default;
Sample<DeclaresOtherKind> declares_other_kind;

void asks_for_batches(SlicedMetric& slices, IntervalMetric& interval,
                      const at::Tensor& value) {
  slices.forward(SliceKeys(value), value);
  interval.forward(value, value);
}

void gives_lists_in_braces(Sample<TakesTexts>& metric, MetricCollection& all) {
  metric.update({"a", "b"}, {{"c", "d"}, {"e"}});
  all.forward({0, 1}, {1, 1});
}

}  // namespace
}  // namespace tally
