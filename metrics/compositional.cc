#include "tally/metrics/compositional.h"

#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

#include "tally/metrics/core/sync_options.h"

namespace tally::internal {

struct ExpressionNode {
  // A metric, an operation on one or two nodes, or else a constant.
  std::shared_ptr<const Metric> metric;
  Expression::Operation operation = nullptr;
  std::shared_ptr<const ExpressionNode> left;
  std::shared_ptr<const ExpressionNode> right;
  std::string symbol;
  bool infix = false;
  double constant = 0;
};

namespace {

std::string text_of(const ExpressionNode& node,
                    std::string (Metric::*of_metric)() const) {
  if (node.metric) return ((*node.metric).*of_metric)();
  if (!node.operation) return OptionType<double>::print(node.constant);
  const std::string left = text_of(*node.left, of_metric);
  if (!node.right) return node.symbol + "(" + left + ")";
  const std::string right = text_of(*node.right, of_metric);
  return node.infix ? "(" + left + " " + node.symbol + " " + right + ")"
                    : node.symbol + "(" + left + ", " + right + ")";
}

template <class Visit>
void visit_metrics(const ExpressionNode& node, const Visit& visit) {
  if (node.metric) visit(*node.metric);
  if (node.left) visit_metrics(*node.left, visit);
  if (node.right) visit_metrics(*node.right, visit);
}

void check_operand(const Metric& metric) {
  TORCH_CHECK_VALUE(metric.status() == MetricStatus::kEmpty, metric.repr(),
                    ": expected a metric that has accumulated nothing in ",
                    "arithmetic, got one whose update_count is ",
                    metric.update_count());
  TORCH_CHECK_VALUE(!has_sync_options(metric.metric_options()), metric.repr(),
                    ": expected no options for syncing and caching in "
                    "arithmetic; give them to the result, by "
                    "set_metric_options");
}

// What evaluating a node needs: the states, by the key of the metric.
class Evaluation {
 public:
  Evaluation(const std::vector<const Metric*>& metrics,
             const std::vector<AnyState>& states)
      : metrics_(metrics), states_(states) {}

  at::Tensor operator()(const ExpressionNode& node) const {
    if (node.metric) return value(*node.metric);
    if (!node.operation) return at::scalar_tensor(node.constant, at::kDouble);
    at::Tensor left = (*this)(*node.left);
    if (!node.right) return node.operation(left, at::Tensor());
    at::Tensor right = (*this)(*node.right);
    // One may be computed on the CPU.
    if (left.is_cpu() && left.dim() > 0) left = moved_to(left, right.device());
    if (right.is_cpu() && right.dim() > 0) {
      right = moved_to(right, left.device());
    }
    return node.operation(left, right);
  }

 private:
  at::Tensor value(const Metric& metric) const {
    std::size_t i = 0;
    while (metrics_[i]->state_key() != metric.state_key()) ++i;
    Results results;
    metric.evaluate_into(states_[i], "", results);
    TORCH_CHECK_VALUE(results.size() == 1, metric.repr(),
                      ": expected a result of one tensor in arithmetic, got ",
                      results.size());
    return results.begin()->second;
  }

  const std::vector<const Metric*>& metrics_;
  const std::vector<AnyState>& states_;
};

}  // namespace

Expression::Expression(double constant) {
  auto node = std::make_shared<ExpressionNode>();
  node->constant = constant;
  root_ = std::move(node);
}

Expression::Expression(const Metric& metric) {
  check_operand(metric);
  auto node = std::make_shared<ExpressionNode>();
  node->metric = metric.clone();
  root_ = std::move(node);
}

Expression::Expression(const char* symbol, bool infix, Operation operation,
                       const Expression& left, const Expression& right) {
  auto node = std::make_shared<ExpressionNode>();
  node->symbol = symbol;
  node->infix = infix;
  node->operation = operation;
  node->left = left.root_;
  node->right = right.root_;
  root_ = std::move(node);
}

void Expression::visit(OptionVisitor& v) {
  std::string expression = text();
  v("expression", expression, OptionRole::kValue);
  std::string keys = metric_keys().text();
  v("states", keys);
}

void Expression::validate(const char* metric) const {
  TORCH_CHECK_VALUE(root_ && !states().empty(), metric,
                    ": expected arithmetic with at least one metric");
}

std::vector<std::string> Expression::without_effect() const {
  std::vector<std::string> remarks;
  visit_metrics(*root_, [&](const Metric& metric) {
    const auto& own = metric.remarks();
    remarks.insert(remarks.end(), own.begin(), own.end());
  });
  return remarks;
}

StateKey Expression::metric_keys() const {
  StateKey keys;
  for (const Metric* metric : states()) keys += metric->state_key() + "; ";
  return keys;
}

std::string Expression::text() const {
  return root_ ? text_of(*root_, &Metric::repr) : "";
}

std::string Expression::spec() const {
  return root_ ? text_of(*root_, &Metric::spec) : "";
}

std::vector<const Metric*> Expression::states() const {
  std::vector<const Metric*> metrics;
  visit_metrics(*root_, [&](const Metric& metric) {
    const bool known =
        std::any_of(metrics.begin(), metrics.end(), [&](const Metric* other) {
          return other->state_key() == metric.state_key();
        });
    if (!known) metrics.push_back(&metric);
  });
  return metrics;
}

Dimensions Expression::dimensions() const {
  Dimensions most;
  visit_metrics(*root_, [&](const Metric& metric) {
    Dimensions own = metric.dimensions();
    if (own.size() > most.size()) most = std::move(own);
  });
  return most;
}

bool Expression::is_differentiable() const {
  bool all = true;
  visit_metrics(*root_, [&](const Metric& metric) {
    all = all && metric.is_differentiable();
  });
  return all;
}

Expression expression_of(const CompositionalMetric& metric) {
  check_operand(metric);
  return metric.options();
}

ExpressionObserver::ExpressionObserver(const Expression& expression)
    : metrics_(expression.states()) {
  std::vector<std::pair<std::string, AnyState>> parts;
  std::vector<InputUnion::Reader> readers;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    parts.emplace_back(std::to_string(i), metrics_[i]->make_state());
    readers.push_back({metrics_[i]->name(), metrics_[i]->inputs(),
                       metrics_[i]->positional_inputs()});
  }
  union_ = InputUnion(std::move(readers));
  identity_ = StateParts(std::move(parts));
}

StateParts ExpressionObserver::observe_inputs(Inputs inputs,
                                              const BatchOrigin& origin) const {
  StateParts state = identity_;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    OrderedInputs own;
    union_.arrange(i, inputs, own);
    metrics_[i]->observe_into(state.parts()[i], own, origin);
  }
  return state;
}

bool ExpressionObserver::keeps_on_cpu() const {
  return std::any_of(
      metrics_.begin(), metrics_.end(),
      [](const Metric* metric) { return metric->keeps_on_cpu(); });
}

const ExpressionOperator* ExpressionOperator::find(std::string_view symbol) {
  static constexpr ExpressionOperator kOperators[] = {
      {"+", true, 2, add},
      {"-", true, 2, subtract},
      {"*", true, 2, multiply},
      {"/", true, 2, divide},
      {"pow", false, 2, power},
      {"minimum", false, 2, smaller},
      {"maximum", false, 2, larger},
      {"abs", false, 1, absolute},
      {"sqrt", false, 1, square_root}};
  for (const ExpressionOperator& each : kOperators) {
    if (symbol == each.symbol) return &each;
  }
  return nullptr;
}

at::Tensor add(const at::Tensor& a, const at::Tensor& b) { return a.add(b); }
at::Tensor subtract(const at::Tensor& a, const at::Tensor& b) {
  return a.sub(b);
}
at::Tensor multiply(const at::Tensor& a, const at::Tensor& b) {
  return a.mul(b);
}
at::Tensor divide(const at::Tensor& a, const at::Tensor& b) { return a.div(b); }
at::Tensor power(const at::Tensor& a, const at::Tensor& b) { return a.pow(b); }
at::Tensor smaller(const at::Tensor& a, const at::Tensor& b) {
  return a.minimum(b);
}
at::Tensor larger(const at::Tensor& a, const at::Tensor& b) {
  return a.maximum(b);
}
at::Tensor absolute(const at::Tensor& a, const at::Tensor&) { return a.abs(); }
at::Tensor square_root(const at::Tensor& a, const at::Tensor&) {
  return a.sqrt();
}

}  // namespace tally::internal

namespace tally {

StateKey CompositionalMetric::source_key() const {
  const std::vector<const Metric*> metrics = options().states();
  // What evaluation notes in a derived state is lost.
  return metrics.size() == 1 && !metrics[0]->make_kept().defined()
             ? metrics[0]->state_key()
             : StateKey();
}

AnyState CompositionalMetric::derive(const AnyState& source) const {
  AnyState state = make_state();
  state.get<State>().parts()[0] = source;
  return state;
}

at::Tensor CompositionalMetric::evaluate(const State& state) const {
  const auto metrics = options().states();
  return internal::Evaluation(metrics, state.parts())(*options().root());
}

template class MetricOf<CompositionalMetric, internal::ExpressionObserver,
                        at::Tensor, internal::Expression>;

}  // namespace tally
