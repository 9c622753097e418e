#include "tally/metrics/intervals/model_comparison.h"

#include <ATen/ops/full.h>
#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/comparison_engine.h"
#include "tally/metrics/intervals/drawn_replicates.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/state/state_parts.h"

namespace tally {
namespace internal::intervals {
namespace {

std::string method_name(ComparisonMethod method) {
  return OptionType<ComparisonMethod>::print(method);
}

IntervalMethod interval_method(ComparisonMethod method) {
  switch (method) {
    case ComparisonMethod::kPoisson:
      return IntervalMethod::kPoisson;
    case ComparisonMethod::kDoubleOrNothing:
      return IntervalMethod::kDoubleOrNothing;
    default:
      return IntervalMethod::kJackknife;
  }
}

/// From replicates by id, or without blocks: what the models' own are, row by
/// row with the same weights.
class ResampledEngine final : public ComparisonEngine {
 public:
  ResampledEngine(std::unique_ptr<IntervalEngine> each,
                  const ModelComparisonOptions& options)
      : ComparisonEngine(options), each_(std::move(each)) {}

  const Metric& metric() const override { return each_->metric(); }
  ComparisonMethod method() const override {
    return comparison_method(each_->method());
  }
  bool uses_ids() const override { return true; }
  AnyState identity() const override {
    return both(each_->identity(), each_->identity());
  }
  StateKey key() const override { return "Both(" + each_->key() + ")"; }
  AnyState observe(Inputs first, Inputs second,
                   const std::vector<std::int64_t>& ids) const override {
    AnyState own = each_->observe(first, ids);
    return both(std::move(own), each_->observe(second, ids));
  }
  Comparisons compare(const AnyState& state,
                      const RowCount& count) const override {
    const auto& parts = state.get<StateParts>().parts();
    auto first = drawn_replicates(*each_, parts[0], count);
    auto second = drawn_replicates(*each_, parts[1], count);
    if (first && second) {
      // By this method, not by McNemar's test.
      for (auto* own : {&*first, &*second}) {
        if (own->by_unit) own->by_unit->matches.clear();
      }
      return tally::compare(*first, *second, options().level());
    }
    Comparisons without;
    for (const auto& [name, value] :
         flat_result(metric(), metric().make_state()).results) {
      Comparison part = unfilled(count);
      part.first = part.second = value;
      part.difference = at::full(value.sizes(), kNaN, at::kDouble);
      part.low = part.high = part.p_value = part.difference;
      part.standard_error = part.degrees_of_freedom = part.difference;
      without.add(name, std::move(part));
    }
    return without;
  }

 private:
  static AnyState both(AnyState first, AnyState second) {
    return AnyState::of(StateParts(
        {{"first", std::move(first)}, {"second", std::move(second)}}));
  }

  std::unique_ptr<IntervalEngine> each_;
};

IntervalOptions interval_options(const ModelComparisonOptions& options) {
  return IntervalOptions()
      .level(options.level())
      .replicates(options.replicates())
      .blocks(options.blocks())
      .seed(options.seed())
      .grouped(options.grouped());
}

}  // namespace

std::vector<at::Tensor*> tensors_of(Comparison& comparison) {
  return {&comparison.first,          &comparison.second,
          &comparison.difference,     &comparison.low,
          &comparison.high,           &comparison.p_value,
          &comparison.standard_error, &comparison.degrees_of_freedom};
}

Comparison ComparisonEngine::unfilled(const RowCount& count) const {
  Comparison comparison;
  for (at::Tensor* number : tensors_of(comparison)) {
    *number = at::full({}, kNaN, at::kDouble);
  }
  comparison.degrees_of_freedom = at::full({}, kInfinity, at::kDouble);
  const MetricSampling sampling = metric().sampling();
  comparison.level = options_.level();
  comparison.method = method();
  comparison.n = count.rows;
  comparison.counted = static_cast<double>(count.weighed);
  comparison.units = static_cast<double>(count.units);
  comparison.unit = count.are_groups ? "group" : sampling.unit;
  comparison.flags.add(IntervalFlag::kSelected, sampling.is_selected);
  return comparison;
}

void check_inputs(const Metric& metric, Inputs inputs) {
  AnyState batch = metric.make_batch();
  metric.observe_into(batch, inputs, BatchOrigin());
}

void check_same_nan(const Metric& metric, Inputs first, Inputs second) {
  if (metric.metric_options().nan_policy() != NanPolicy::kIgnore) return;
  const auto* const a = first[0].as<at::Tensor>();
  const auto* const b = second[0].as<at::Tensor>();
  if (a == nullptr || b == nullptr) return;  // texts have none
  const auto rows_with = [](const at::Tensor& preds) {
    return preds.isnan().reshape({preds.size(0), -1}).any(1);
  };
  TORCH_CHECK_VALUE(rows_with(*a).equal(rows_with(*b)), metric.name(),
                    ": expected both models' preds to be NaN in the same rows, "
                    "which are ignored");
}

std::unique_ptr<ComparisonEngine> make_comparison_engine(
    std::unique_ptr<Metric> metric, const ModelComparisonOptions& options) {
  IntervalOptions each = interval_options(options);
  each.validate();
  const ComparisonMethod method = options.method();
  const bool is_auto = method == ComparisonMethod::kAuto;
  const bool is_test = method == ComparisonMethod::kMcnemar ||
                       method == ComparisonMethod::kDelong;
  TORCH_CHECK_VALUE(!is_test || !options.grouped(),
                    "expected method poisson, double_or_nothing or jackknife "
                    "for grouped rows, got ",
                    method_name(method));
  std::unique_ptr<ComparisonEngine> engine;
  if ((is_auto && !options.grouped()) || method == ComparisonMethod::kMcnemar) {
    engine = mcnemar_engine(metric, options);
  }
  if (!engine && ((is_auto && !options.grouped()) ||
                  method == ComparisonMethod::kDelong)) {
    engine = delong_engine(metric, options);
  }
  if (engine) return engine;
  TORCH_CHECK_VALUE(!is_test, "expected a metric that method ",
                    method_name(method), " fits, got ", metric->repr());
  each.method(interval_method(method));
  return std::make_unique<ResampledEngine>(make_engine(std::move(metric), each),
                                           options);
}

}  // namespace internal::intervals

namespace intervals = internal::intervals;

void for_each_tensor(Comparison& comparison,
                     c10::function_ref<void(at::Tensor&)> visit) {
  for (at::Tensor* each : intervals::tensors_of(comparison)) visit(*each);
}

Results Comparisons::results() const {
  Results results;
  for (const auto& [name, part] : *this) {
    const std::string prefix = name.empty() ? "" : name + ".";
    results.add(prefix + "first", part.first);
    results.add(prefix + "second", part.second);
    results.add(prefix + "difference", part.difference);
    results.add(prefix + "low", part.low);
    results.add(prefix + "high", part.high);
    results.add(prefix + "p_value", part.p_value);
  }
  return results;
}

ModelComparison::ModelComparison(OwnedMetric metric, Options options)
    : ModelComparison(intervals::make_comparison_engine(metric.take(kName),
                                                        std::move(options))) {}

ModelComparison::ModelComparison(
    std::unique_ptr<intervals::ComparisonEngine> engine)
    : RowMetric({kName, engine->uses_ids(), engine->options().grouped()},
                engine->metric(), engine->identity(), engine->key(),
                /*added_inputs=*/1),
      engine_(std::move(engine)) {
  const auto declared = metric().inputs();
  if (declared.empty()) return;
  const std::string own = declared[0].name;
  names_ = {"first_" + own, "second_" + own};
  for (const std::string& name : names_) {
    inputs_.push_back(declared[0]);
    inputs_.back().name = name.c_str();
  }
  inputs_.insert(inputs_.end(), declared.begin() + 1, declared.end());
}

ModelComparison::ModelComparison(ModelComparison&&) noexcept = default;
ModelComparison& ModelComparison::operator=(ModelComparison&&) noexcept =
    default;
ModelComparison::~ModelComparison() = default;

const ModelComparisonOptions& ModelComparison::options() const {
  return engine_->options();
}
const Metric& ModelComparison::metric() const { return engine_->metric(); }
ComparisonMethod ModelComparison::method() const { return engine_->method(); }

AnyState ModelComparison::observe(Inputs inputs,
                                  const std::vector<std::int64_t>& ids) const {
  TORCH_CHECK_VALUE(inputs.size() >= 2, kName, ": expected the first input of ",
                    metric().name(), " twice, once for each model, got ",
                    inputs.size(), " inputs");
  std::vector<InputRef> first = {inputs[0]};
  std::vector<InputRef> second = {inputs[1]};
  for (std::vector<InputRef>* own : {&first, &second}) {
    own->insert(own->end(), inputs.begin() + 2, inputs.end());
  }
  return engine_->observe(first, second, ids);
}

Comparisons ModelComparison::compute() {
  return compute_by(
      value_,
      [&](internal::StateRows& rows) {
        return engine_->compare(state_of(rows), count_of(rows));
      },
      [&](Comparisons& comparisons) {
        IntervalFlags flags;
        for (const auto& [name, part] : comparisons) {
          if (part.n > 0) flags.add(part.flags);
        }
        warn_of(flags);
      });
}

PendingValue<Comparisons> ModelComparison::sync_async() {
  return sync_async_by<Comparisons>([&] {
    ModelComparison empty(metric().clone(), options());
    empty.set_metric_options(metric_options());
    return [snapshot = std::make_shared<const ModelComparison>(
                std::move(empty))](internal::StateRows& rows) {
      return snapshot->engine_->compare(state_of(rows),
                                        snapshot->count_of(rows));
    };
  });
}

ModelComparison ModelComparison::clone() const {
  ModelComparison copy(metric().clone(), options());
  copy_into(copy);
  return copy;
}

std::string ModelComparison::spec() const {
  return std::string(kName) + "(metric=" + metric().spec() + ", " +
         options_repr(options()) + ")";
}

std::string ModelComparison::repr() const {
  return std::string(kName) + "(metric=" + metric().repr() +
         ", method=" + intervals::method_name(method()) + ")";
}

}  // namespace tally
