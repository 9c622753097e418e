#include <ATen/ops/from_blob.h>
#include <torch/library.h>

#include "tally/metrics/compositional.h"
#include "tally/metrics/registry/registry.h"
#include "tally/python/csrc/derived_metric.h"
#include "tally/python/csrc/library.h"
#include "tally/python/csrc/option_names.h"
#include "tally/python/csrc/syncable.h"

namespace tally::python {

StatusParts parts_of(const absl::Status& status) {
  return {static_cast<std::int64_t>(status.code()),
          std::string(status.message())};
}

MetricOptions make_metric_options(
    bool dist_sync_on_step, bool sync_on_compute, bool compute_with_cache,
    const std::string& gradient_flow, const std::optional<double>& timeout,
    bool validate_args, const std::string& nan_policy, bool compute_on_cpu,
    const Group& process_group) {
  NanPolicy policy{};
  const auto refusal = OptionRef(policy).set(nan_policy);
  TORCH_CHECK_VALUE(!refusal, "nan_policy: expected ", refusal->expected,
                    ", got '", refusal->got, "'");
  return MetricOptions()
      .dist_sync_on_step(dist_sync_on_step)
      .sync_on_compute(sync_on_compute)
      .compute_with_cache(compute_with_cache)
      .gradient_flow(gradient_flow_of(gradient_flow))
      .timeout(timeout_of(timeout))
      .validate_args(validate_args)
      .nan_policy(policy)
      .compute_on_cpu(compute_on_cpu)
      .communicator(communicator_of(process_group));
}

CheckpointRanks checkpoint_ranks(const std::string& text) {
  if (text == "one_file") return CheckpointRanks::kOneFile;
  TORCH_CHECK_VALUE(text == "file_per_rank",
                    "ranks: expected one of own, one_file, file_per_rank, got "
                    "'",
                    text, "'");
  return CheckpointRanks::kFilePerRank;
}

at::Tensor tensor_of(std::string bytes) {
  auto* const held = new std::string(std::move(bytes));
  return at::from_blob(
      held->data(), {static_cast<std::int64_t>(held->size())},
      [held](void*) { delete held; }, at::kByte);
}

std::string_view bytes_of(const at::Tensor& tensor) {
  TORCH_CHECK_TYPE(tensor.scalar_type() == at::kByte && tensor.dim() == 1 &&
                       tensor.is_cpu() && tensor.is_contiguous(),
                   "expected a state as a 1-dim tensor of bytes on the CPU, "
                   "got ",
                   tensor.scalar_type(), " ", tensor.sizes(), " on ",
                   tensor.device());
  return {static_cast<const char*>(tensor.const_data_ptr()),
          static_cast<std::size_t>(tensor.numel())};
}

namespace {

using tally::internal::Expression;
using tally::internal::ExpressionOperator;

const ExpressionOperator& operator_of(const std::string& symbol) {
  const ExpressionOperator* found = ExpressionOperator::find(symbol);
  TORCH_CHECK_VALUE(found != nullptr, "there is no operator '", symbol,
                    "' between metrics");
  return *found;
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
  c.def_static("derived", [](const Self& value, const Self& source) {
    const auto copy = [](Metric& held) { return held.clone(); };
    return make_object<Metric>(
        derived_metric(value->use(copy), source->use(copy)));
  });
  c.def_static("compose", [](const std::string& symbol,
                             const std::optional<ObjectPtr<Metric>>& left,
                             double left_constant,
                             const std::optional<ObjectPtr<Metric>>& right,
                             double right_constant, bool is_unary) {
    const ExpressionOperator& op = operator_of(symbol);
    return make_object<Metric>(std::make_shared<CompositionalMetric>(
        op.of(expression_of(left, left_constant),
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
