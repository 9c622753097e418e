#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/accumulator_checks.h"
#include "tally/metrics/metric.h"
#include "tally/metrics/metric_traits.h"

namespace tally {

/// A metric with static types: the base class of metrics.
///
/// `Accumulator` turns a batch into a state and is shared by every metric that
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
/// compute() before the first update, or if no rank has data, evaluates the
/// empty state: counts and Numbers are 0, tensors undefined, Rows empty (or as
/// defined by the accumulator's identity() const). 0 / 0 of Numbers is NaN;
/// evaluate() must handle undefined tensors and empty Rows:
///     if (s.rows.size() == 0) return scalar_tensor(std::nan(""));
///
/// `Result` is an at::Tensor, Results, or a struct with visit(ResultParts&).
/// What its dimensions are, say the options, Derived or, for parts, visit():
///     Dimensions dimensions() const { return {Dimension::kClass}; }
template <class Derived, class Accumulator, class ResultType,
          class OptionsType = typename internal::OptionsOf<Accumulator>::type>
class MetricOf : public Metric {
 public:
  static_assert(internal::check_accumulator<Accumulator, OptionsType>());
  using State = typename Accumulator::State;
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
                    MetricOptions metric_options = MetricOptions())
      : Metric(std::move(metric_options)),
        options_(internal::validated(std::move(options), class_name())),
        accumulator_(internal::make_accumulator<Accumulator>(
            options_, this->metric_options())) {
    accumulation_.add_group(
        class_name(),
        internal::state_key_of<Accumulator>(options_, this->metric_options()),
        internal::identity_of(accumulator_),
        this->metric_options().compute_on_cpu());
    accumulation_.add_remarks(0, internal::remarks_of(options_));
  }

  ~MetricOf() override;

  const Options& options() const { return options_; }

  /// inputs(), unless they depend on options.
  static c10::ArrayRef<InputInfo> declared_inputs() {
    return internal::declared_inputs<Accumulator>();
  }

  using MetricBase::forward;
  using MetricBase::update;
  /// See Metric::update.
  template <class... Args>
  void update(const Args&... args) {
    if constexpr (internal::check_taken<Accumulator, Args...>()) {
      this->update_by(
          [&] { return observe_here(internal::as_input(args)...); });
    }
  }
  void update(std::initializer_list<NamedInput> inputs) {
    this->update_inputs(NamedInputs(inputs));
  }

  /// See Metric::forward_results.
  template <class... Args>
  Result forward(const Args&... args) {
    if constexpr (internal::check_taken<Accumulator, Args...>()) {
      return forward_state(
          [&] { return observe_here(internal::as_input(args)...); });
    }
  }
  Result forward(std::initializer_list<NamedInput> inputs) {
    return forward_state([&] {
      AnyState batch = this->observe_next(NamedInputs(inputs));
      return std::move(batch.get<State>());
    });
  }

  /// forward().
  template <class... Args>
  Result operator()(const Args&... args) {
    return forward(args...);
  }
  Result operator()(std::initializer_list<NamedInput> inputs) {
    return forward(inputs);
  }

  /// See Metric::compute_results.
  Result compute() {
    return this->compute_by(
        value_,
        [&](const auto& state_of) {
          return derived().evaluate(
              std::as_const(state_of(0)).template get<State>());
        },
        [&](Result& value) { value = finished(std::move(value)); });
  }

  /// Starts a sync of the current state and returns immediately: states are
  /// transferred while the program continues, with updates and with other
  /// collectives (the same on every rank). wait() then returns the value that
  /// compute() would have returned. Collective. The communicator must outlive
  /// the pending value.
  ///     auto pending = metric.sync_async();
  ///     train_one_more_step();
  ///     auto value = pending.wait();
  PendingValue<Result> sync_async() {
    return this->template sync_async_by<Result>([&] {
      return [snapshot = std::shared_ptr<const Metric>(clone())](
                 const std::vector<AnyState>& states) {
        const auto& metric = static_cast<const Derived&>(*snapshot);
        return metric.finished(metric.evaluate(states[0].get<State>()));
      };
    });
  }

  /// The pure functions that update, forward and compute consist of:
  /// `metric.evaluate(metric.observe(preds, target))` is the functional form.
  template <class... Args>
  State observe(const Args&... args) const {
    try {
      if constexpr (internal::TakesAnyInputs<Accumulator>::value) {
        this->check_positional(sizeof...(args));
        return accumulator_.observe_inputs({InputRef::of(args)...}, {});
      } else {
        return accumulator_.observe(args...);
      }
    } catch (c10::Error& error) {
      error.add_context(class_name());
      throw;
    }
  }

  Results compute_results() override {
    Results results;
    internal::add_result(*this, compute(), "", results);
    return results;
  }
  std::unique_ptr<Metric> clone() const override {
    static_assert(sizeof(Derived) == sizeof(MetricOf),
                  "a metric keeps all its data in options and state");
    std::unique_ptr<Derived> copy;
    if constexpr (std::is_constructible_v<Derived, const Options&,
                                          const MetricOptions&>) {
      copy = std::make_unique<Derived>(options_, metric_options());
    } else {
      copy = std::make_unique<Derived>();
      copy->set_metric_options(metric_options());
    }
    copy->accumulation_.copy_state(accumulation_);
    copy->dtype_ = dtype_;
    return copy;
  }
  std::string name() const override { return class_name(); }
  std::string repr() const override {
    return std::string(class_name()) + "(" + options_repr(options_) + ")";
  }
  c10::ArrayRef<InputInfo> inputs() const override {
    return internal::inputs_of(accumulator_);
  }
  std::size_t positional_inputs() const override {
    if constexpr (internal::HasPositionalInputs<Accumulator>::value) {
      return accumulator_.positional_inputs();
    } else {
      return Metric::positional_inputs();
    }
  }
  Dimensions dimensions() const override {
    return internal::dimensions_of(options_);
  }
  bool is_differentiable() const override { return Derived::kIsDifferentiable; }
  std::optional<bool> higher_is_better() const override {
    return Derived::kHigherIsBetter;
  }
  StateKey source_key() const override {
    return internal::source_key_of<Accumulator>(options_, metric_options());
  }
  AnyState derive(const AnyState& source) const override {
    if constexpr (internal::HasSource<Accumulator>::value) {
      using Source = typename Accumulator::Source;
      return AnyState::of(
          accumulator_.derive(source.get<typename Source::State>()));
    } else {
      return Metric::derive(source);
    }
  }
  void set_metric_options(MetricOptions options) override {
    const internal::Accumulation::Use use(accumulation_);
    Accumulator accumulator =
        internal::make_accumulator<Accumulator>(options_, options);
    accumulation_.set_options(std::move(options));
    accumulator_ = std::move(accumulator);
    accumulation_.group().key =
        internal::state_key_of<Accumulator>(options_, metric_options());
    accumulation_.group().on_cpu = metric_options().compute_on_cpu();
  }
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override {
    if constexpr (internal::TakesAnyInputs<Accumulator>::value) {
      fresh.get<State>() = accumulator_.observe_inputs(inputs, origin);
    } else {
      fresh.get<State>() = internal::ObserveCall<Accumulator>::call(
          class_name(), inputs,
          [this](const auto&... args) { return this->observe(args...); });
    }
  }
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const override {
    internal::add_result(
        *this, finished(derived().evaluate(state.get<State>())), name, results);
  }

 protected:
  MetricOf(MetricOf&&) noexcept = default;
  MetricOf& operator=(MetricOf&&) noexcept = default;

 private:
  const Derived& derived() const { return static_cast<const Derived&>(*this); }

  static constexpr const char* class_name() {
    return internal::checked_name<Derived>();
  }

  // observe() of this rank's next batch.
  template <class... Args>
  State observe_here(const Args&... args) const {
    if constexpr (internal::TakesAnyInputs<Accumulator>::value) {
      AnyState batch = this->observe_next({InputRef::of(args)...});
      return std::move(batch.get<State>());
    } else {
      return observe(args...);
    }
  }

  template <class Observe>
  Result forward_state(const Observe& observe) {
    // Not the constant: for arithmetic on metrics it depends on its metrics.
    return this->forward_by(derived().is_differentiable(), observe,
                            [&](const State& batch) {
                              return finished(derived().evaluate(batch));
                            });
  }

  Result finished(Result result) const {
    internal::for_each_part(
        result, [&](const std::string&, at::Tensor& part) { finish(part); });
    return result;
  }

  Options options_;
  Accumulator accumulator_;
  Result value_{};
};

// Here, so that `extern template` reaches it.
template <class Derived, class Accumulator, class ResultType, class OptionsType>
MetricOf<Derived, Accumulator, ResultType, OptionsType>::~MetricOf() = default;

}  // namespace tally
