#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/core/metric_traits.h"
#include "tally/metrics/core/observer_checks.h"
#include "tally/metrics/metric.h"

namespace tally {

/// A metric with static types: the base class of metrics.
///
/// `Observer` turns a batch into a state and is shared by every metric that
/// evaluates the same state:
///     struct AbsoluteError {
///       struct State {
///         Number sum;
///         std::int64_t total = 0;
///         void fields(Fields& f) { f("sum", sum)("total", total); }
///       };
///       State observe(const at::Tensor& preds,
///                     const at::Tensor& target) const;
///     };
/// It is constructed from the metric's options and MetricOptions, from the
/// options alone, or from nothing, whichever it supports; its optional `kName`
/// identifies it in checkpoints. Trailing inputs of observe() may have
/// defaults. The inputs are declared once,
///     static constexpr InputInfo kInputs[] = {
///         {"preds", InputKind::kReal, "real [N, ...]"},
///         {"target", InputKind::kReal, "real [N, ...]"}};
/// (or by inputs() const, if they depend on options): with these names they can
/// be passed in any order, and in collections with metrics of other inputs.
/// Without a declaration inputs are unnamed and positional.
///
/// `Derived` adds the value and its name:
///     struct MeanAbsoluteError final
///         : MetricOf<MeanAbsoluteError, AbsoluteError, at::Tensor> {
///       static constexpr const char* kName = "MeanAbsoluteError";
///       static constexpr bool kIsDifferentiable = true;
///       static constexpr std::optional<bool> kHigherIsBetter = false;
///       at::Tensor evaluate(const State& s) const { return s.sum / s.total; }
///     };
/// The two constants may be omitted (false; neither). Derived has no members:
/// all data is in options and state (see examples/custom_metric).
///
/// For intervals that know more than how to draw rows again (Wilson's,
/// DeLong's), Derived overrides sampling(), or the observer has
///     template <class M>
///     static MetricSampling sampling(const M& metric);
/// for all metrics of its state. What a row is, "image", says the observer's
/// kUnit.
///
/// compute() before the first update, or if no rank has data, evaluates the
/// empty state: counts and Numbers are 0, tensors undefined, Rows empty (or as
/// defined by the observer's identity() const). 0 / 0 of Numbers is NaN;
/// evaluate() must handle undefined tensors and empty Rows:
///     if (s.rows.size() == 0) return scalar_tensor(std::nan(""));
///
/// `Result` is an at::Tensor, Results, or a struct with visit(ResultParts&).
/// What its dimensions are, say the options, Derived or, for parts, visit():
///     Dimensions dimensions() const { return {Dimension::kClass}; }
template <class Derived, class Observer, class ResultType,
          class OptionsType = typename internal::OptionsOf<Observer>::type>
class MetricOf : public Metric {
 public:
  static_assert(internal::check_observer<Observer, OptionsType>());
  using State = typename Observer::State;
  using Result = ResultType;
  using Options = OptionsType;
  /// This class, for use by Derived and others.
  using Base = MetricOf;

  static constexpr bool kIsDifferentiable = false;
  static constexpr std::optional<bool> kHigherIsBetter = std::nullopt;

  /// If all options have a default.
  template <class O = Options,
            std::enable_if_t<std::is_default_constructible_v<O>, int> = 0>
  MetricOf() : MetricOf(O()) {}
  explicit MetricOf(Options options,
                    MetricOptions metric_options = MetricOptions());

  ~MetricOf() override;

  const Options& options() const { return options_; }

  /// inputs(), unless they depend on options.
  static c10::ArrayRef<InputInfo> declared_inputs() {
    return internal::declared_inputs<Observer>();
  }

  using Metric::forward;
  using Metric::update;
  /// See Metric::update.
  template <class... Args>
  void update(const Args&... args) {
    if constexpr (internal::check_taken<Observer, Args...>()) {
      this->update_by(internal::device_of_all(args...), [&] {
        return observe_here(internal::as_input(args)...);
      });
    }
  }

  /// See Metric::forward.
  template <class... Args>
  Result forward(const Args&... args) {
    if constexpr (internal::check_taken<Observer, Args...>()) {
      return forward_state(internal::device_of_all(args...), [&] {
        return observe_here(internal::as_input(args)...);
      });
    }
  }
  Result forward(std::initializer_list<NamedInput> inputs);

  /// forward().
  template <class... Args>
  Result operator()(const Args&... args) {
    return forward(args...);
  }
  Result operator()(std::initializer_list<NamedInput> inputs) {
    return forward(inputs);
  }

  /// See Metric::compute_results.
  Result compute();
  /// compute() of what this rank has accumulated; see OptionCalls.
  Result compute_local() { return internal::local_value_of(derived_metric()); }

  /// Starts a sync of the current state and returns immediately: states are
  /// transferred while the program continues, with updates and with other
  /// collectives (the same on every rank). wait() then returns the value that
  /// compute() would have returned. Collective. The communicator must outlive
  /// the pending value.
  ///     auto pending = metric.sync_async();
  ///     train_one_more_step();
  ///     auto value = pending.wait();
  PendingValue<Result> sync_async();

  /// The pure functions that update, forward and compute consist of:
  /// `metric.evaluate(metric.observe(preds, target))` is the functional form.
  template <class... Args>
  State observe(const Args&... args) const {
    try {
      if constexpr (internal::TakesAnyInputs<Observer>::value) {
        this->check_positional(sizeof...(args));
        return observer_.observe_inputs({InputRef::of(args)...}, {});
      } else {
        return observer_.observe(args...);
      }
    } catch (c10::Error& error) {
      error.add_context(class_name());
      throw;
    }
  }

  Results compute_results() override;
  std::unique_ptr<Metric> clone() const override;
  std::string name() const override;
  std::string repr() const override;
  c10::ArrayRef<InputInfo> inputs() const override;
  std::size_t positional_inputs() const override;
  Dimensions dimensions() const override;
  bool is_differentiable() const override;
  std::optional<bool> higher_is_better() const override;
  MetricSampling sampling() const override;
  StateKey source_key() const override;
  AnyState derive(const AnyState& source) const override;
  void set_metric_options(MetricOptions options) override;
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override;
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const override;

 protected:
  MetricOf(MetricOf&&) noexcept = default;
  MetricOf& operator=(MetricOf&&) noexcept = default;

 private:
  const Derived& derived() const { return static_cast<const Derived&>(*this); }
  Derived& derived_metric() { return static_cast<Derived&>(*this); }

  static constexpr const char* class_name() {
    return internal::checked_name<Derived>();
  }

  // observe() of this rank's next batch.
  template <class... Args>
  State observe_here(const Args&... args) const {
    if constexpr (internal::TakesAnyInputs<Observer>::value) {
      AnyState batch = this->observe_next({InputRef::of(args)...});
      return std::move(batch.get<State>());
    } else {
      return observe(args...);
    }
  }

  template <class Observe>
  Result forward_state(internal::MaybeDevice inputs, const Observe& observe) {
    // Not the constant: for arithmetic on metrics it depends on its metrics.
    return this->forward_by(inputs, derived().is_differentiable(), observe,
                            [&](const State& batch) {
                              return finished(derived().evaluate(batch));
                            });
  }

  Result finished(Result result) const;

  Options options_;
  Observer observer_;
  Result value_{};
};

}  // namespace tally

#include "tally/metrics/core/metric_of_inl.h"
