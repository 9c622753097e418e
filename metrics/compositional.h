#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/metric_of.h"
#include "tally/state/state_parts.h"

namespace tally {

namespace internal {

/// An immutable node of an arithmetic expression over metrics' values.
struct ExpressionNode;

/// An arithmetic expression and its metrics. Metrics with the same state key
/// share one state.
class Expression {
 public:
  using Operation = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

  Expression() = default;
  explicit Expression(double constant);
  /// Copies the metric's options. Throws c10::ValueError if it has accumulated
  /// data or has options for syncing, both of which would be lost.
  explicit Expression(const Metric& metric);
  /// `symbol` is placed between the operands (infix) or before them.
  Expression(const char* symbol, bool infix, Operation operation,
             const Expression& left, const Expression& right);

  void visit(OptionVisitor& v);
  void validate(const char* metric) const;

  /// Those of its metrics.
  std::vector<std::string> without_effect() const;
  const ExpressionNode* root() const { return root_.get(); }
  std::string text() const;
  /// The same, with Metric::spec() of its metrics.
  std::string spec() const;
  /// The concatenated keys of its metrics.
  StateKey metric_keys() const;
  /// Its metrics, one of each state.
  std::vector<const Metric*> states() const;
  bool is_differentiable() const;
  /// Those of the metric that has the most.
  Dimensions dimensions() const;

 private:
  std::shared_ptr<const ExpressionNode> root_;
};

class ExpressionObserver {
 public:
  static constexpr const char* kName = "Expression";
  using State = StateParts;

  explicit ExpressionObserver(const Expression& expression);
  State identity() const { return identity_; }
  State observe_inputs(Inputs inputs, const BatchOrigin& origin) const;
  c10::ArrayRef<InputInfo> inputs() const { return union_.inputs(); }
  std::size_t positional_inputs() const { return union_.positional(); }
  bool keeps_on_cpu() const;

 private:
  std::vector<const Metric*> metrics_;  // owned by the options
  InputUnion union_;
  State identity_;
};

}  // namespace internal

/// Arithmetic on metrics is a metric:
///
///     MulticlassPrecision p(10);
///     MulticlassRecall r(10);
///     auto f1 = 2 * p * r / (p + r);
///     f1.update(preds, target);
///     f1.compute();
///
/// It copies the options of p and r, not the objects: they must not have
/// accumulated anything, and are not changed later. Options for syncing are set
/// on the result, by set_metric_options. It has its own state; a metric that
/// occurs twice, or that shares its state with another, is updated once (in a
/// MetricCollection, also together with a member that is its only metric). The
/// value is the operation applied to the values (elementwise, with
/// broadcasting), so each metric's result must be a single tensor. It is
/// differentiable if all its metrics are. Metrics with different inputs are
/// updated by name. Supported are + - * / unary -, and pow, abs, sqrt, minimum,
/// maximum, with metrics and plain numbers.
class CompositionalMetric final
    : public MetricOf<CompositionalMetric, internal::ExpressionObserver,
                      at::Tensor, internal::Expression> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CompositionalMetric";

  at::Tensor evaluate(const State& state) const;
  std::string repr() const override { return options().text(); }
  std::string spec() const override {
    return with_common_options(std::string(kName) +
                               "(expression=" + options().spec() + ")");
  }
  StateKey source_key() const override;
  AnyState derive(const AnyState& source) const override;
  bool is_differentiable() const override {
    return options().is_differentiable();
  }
};

namespace internal {

template <class T>
inline constexpr bool kIsMetric = std::is_base_of_v<Metric, std::decay_t<T>>;
template <class T>
inline constexpr bool kIsOperand =
    kIsMetric<T> || std::is_arithmetic_v<std::decay_t<T>>;
template <class A, class B>
using EnableOperands = std::enable_if_t<
    kIsOperand<A> && kIsOperand<B> && (kIsMetric<A> || kIsMetric<B>), int>;

/// Throws c10::ValueError as for other metrics.
Expression expression_of(const CompositionalMetric& metric);

template <class T>
Expression as_expression(const T& operand) {
  if constexpr (std::is_same_v<T, CompositionalMetric>) {
    return expression_of(operand);
  } else if constexpr (kIsMetric<T>) {
    return Expression(static_cast<const Metric&>(operand));
  } else {
    return Expression(static_cast<double>(operand));
  }
}

at::Tensor add(const at::Tensor& a, const at::Tensor& b);
at::Tensor subtract(const at::Tensor& a, const at::Tensor& b);
at::Tensor multiply(const at::Tensor& a, const at::Tensor& b);
at::Tensor divide(const at::Tensor& a, const at::Tensor& b);
at::Tensor power(const at::Tensor& a, const at::Tensor& b);
at::Tensor smaller(const at::Tensor& a, const at::Tensor& b);
at::Tensor larger(const at::Tensor& a, const at::Tensor& b);
at::Tensor absolute(const at::Tensor& a, const at::Tensor&);
at::Tensor square_root(const at::Tensor& a, const at::Tensor&);

/// The operator of a name as used in texts; null for other names.
struct ExpressionOperator {
  const char* symbol;
  bool infix;
  int operands;
  Expression::Operation operation;

  static const ExpressionOperator* find(std::string_view symbol);
  /// `right` only where there are two.
  Expression of(const Expression& left, const Expression& right = {}) const {
    return Expression(symbol, infix, operation, left, right);
  }
};

template <class A, class B>
CompositionalMetric compose(const char* symbol, bool infix,
                            Expression::Operation operation, const A& a,
                            const B& b) {
  return CompositionalMetric(
      Expression(symbol, infix, operation, as_expression(a), as_expression(b)));
}
template <class A>
CompositionalMetric compose(const char* symbol, Expression::Operation operation,
                            const A& a) {
  return CompositionalMetric(Expression(symbol, /*infix=*/false, operation,
                                        as_expression(a), Expression()));
}

}  // namespace internal

template <class A, class B, internal::EnableOperands<A, B> = 0>
CompositionalMetric operator+(const A& a, const B& b) {
  return internal::compose("+", true, internal::add, a, b);
}
template <class A, class B, internal::EnableOperands<A, B> = 0>
CompositionalMetric operator-(const A& a, const B& b) {
  return internal::compose("-", true, internal::subtract, a, b);
}
template <class A, class B, internal::EnableOperands<A, B> = 0>
CompositionalMetric operator*(const A& a, const B& b) {
  return internal::compose("*", true, internal::multiply, a, b);
}
template <class A, class B, internal::EnableOperands<A, B> = 0>
CompositionalMetric operator/(const A& a, const B& b) {
  return internal::compose("/", true, internal::divide, a, b);
}
template <class A, class B, internal::EnableOperands<A, B> = 0>
CompositionalMetric pow(const A& a, const B& b) {
  return internal::compose("pow", false, internal::power, a, b);
}
template <class A, class B, internal::EnableOperands<A, B> = 0>
CompositionalMetric minimum(const A& a, const B& b) {
  return internal::compose("minimum", false, internal::smaller, a, b);
}
template <class A, class B, internal::EnableOperands<A, B> = 0>
CompositionalMetric maximum(const A& a, const B& b) {
  return internal::compose("maximum", false, internal::larger, a, b);
}
template <class A, std::enable_if_t<internal::kIsMetric<A>, int> = 0>
CompositionalMetric operator-(const A& a) {
  return 0.0 - a;
}
template <class A, std::enable_if_t<internal::kIsMetric<A>, int> = 0>
CompositionalMetric abs(const A& a) {
  return internal::compose("abs", internal::absolute, a);
}
template <class A, std::enable_if_t<internal::kIsMetric<A>, int> = 0>
CompositionalMetric sqrt(const A& a) {
  return internal::compose("sqrt", internal::square_root, a);
}

extern template class MetricOf<CompositionalMetric,
                               internal::ExpressionObserver, at::Tensor,
                               internal::Expression>;

}  // namespace tally
