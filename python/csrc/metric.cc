#include <torch/library.h>

#include <map>

#include "tally/metrics/compositional.h"
#include "tally/metrics/registry/registry.h"
#include "tally/python/csrc/library.h"
#include "tally/python/csrc/syncable.h"

namespace tally::python {
namespace {

using tally::internal::Expression;

struct Operator {
  const char* symbol;
  bool infix;
  Expression::Operation operation;
};

const Operator& operator_of(const std::string& symbol) {
  static const std::map<std::string, Operator> operators = {
      {"+", {"+", true, tally::internal::add}},
      {"-", {"-", true, tally::internal::subtract}},
      {"*", {"*", true, tally::internal::multiply}},
      {"/", {"/", true, tally::internal::divide}},
      {"pow", {"pow", false, tally::internal::power}},
      {"minimum", {"minimum", false, tally::internal::smaller}},
      {"maximum", {"maximum", false, tally::internal::larger}},
      {"abs", {"abs", false, tally::internal::absolute}},
      {"sqrt", {"sqrt", false, tally::internal::square_root}}};
  const auto found = operators.find(symbol);
  TORCH_CHECK_VALUE(found != operators.end(), "there is no operator '", symbol,
                    "' between metrics");
  return found->second;
}

Expression expression_of(const std::optional<ObjectPtr<Metric>>& metric,
                         double constant) {
  if (!metric) return Expression(constant);
  return (*metric)->use([](Metric& held) {
    const auto* composed = dynamic_cast<const CompositionalMetric*>(&held);
    return composed ? tally::internal::expression_of(*composed)
                    : Expression(held);
  });
}

std::optional<std::int64_t> number_of(std::optional<bool> answer) {
  if (!answer) return std::nullopt;
  return *answer ? 1 : 0;
}

void define_metric(torch::Library& m) {
  using Self = ObjectPtr<Metric>;
  auto c = m.class_<MetricObject>("Metric");
  c.def(torch::init([](const std::string& text, bool validate_args,
                       const std::string& nan_policy, bool compute_on_cpu) {
    return make_object<Metric>(make_metric(
        text, make_metric_options(false, true, true, "local", std::nullopt,
                                  validate_args, nan_policy, compute_on_cpu,
                                  std::nullopt)));
  }));
  define_common(c);
  c.def("is_differentiable", [](const Self& self) {
    return self->use([](Metric& held) { return held.is_differentiable(); });
  });
  c.def("higher_is_better", [](const Self& self) {
    return self->use(
        [](Metric& held) { return number_of(held.higher_is_better()); });
  });
  c.def("state_key", [](const Self& self) {
    return self->use([](Metric& held) { return held.state_key().text(); });
  });
  c.def("input_names", [](const Self& self) {
    return self->use([](Metric& held) {
      Strings names;
      for (const InputInfo& input : held.inputs()) {
        names.emplace_back(input.name);
      }
      return names;
    });
  });
  c.def_static("compose", [](const std::string& symbol,
                             const std::optional<ObjectPtr<Metric>>& left,
                             double left_constant,
                             const std::optional<ObjectPtr<Metric>>& right,
                             double right_constant, bool is_unary) {
    const Operator& op = operator_of(symbol);
    return make_object<Metric>(std::make_shared<CompositionalMetric>(Expression(
        op.symbol, op.infix, op.operation, expression_of(left, left_constant),
        is_unary ? Expression() : expression_of(right, right_constant))));
  });
}

void define_collection(torch::Library& m) {
  using Self = ObjectPtr<MetricCollection>;
  auto c = m.class_<CollectionObject>("MetricCollection");
  c.def(torch::init([](const std::string& prefix, const std::string& postfix) {
    auto metrics = std::make_shared<MetricCollection>();
    metrics->prefix(prefix).postfix(postfix);
    return make_object(std::move(metrics));
  }));
  define_common(c);
  c.def("add", [](const Self& self, std::string name,
                  const ObjectPtr<Metric>& metric) {
    auto copy = metric->use([](Metric& held) { return held.clone(); });
    self->use([&](MetricCollection& held) {
      held.add(std::move(name), std::move(copy));
    });
  });
  c.def("rename", [](const Self& self, const std::string& prefix,
                     const std::string& postfix) {
    self->use(
        [&](MetricCollection& held) { held.prefix(prefix).postfix(postfix); });
  });
  c.def("extract", [](const Self& self, const std::string& name) {
    return self->use([&](MetricCollection& held) {
      return make_object<Metric>(held.extract(name));
    });
  });
  c.def("groups", [](const Self& self) {
    return self->use([](MetricCollection& held) { return held.groups(); });
  });
}

}  // namespace

void define_metrics(torch::Library& m) {
  define_metric(m);
  define_collection(m);
}

}  // namespace tally::python
