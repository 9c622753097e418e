#include "tally/metrics/wrappers/wrappers.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {
namespace {

std::unique_ptr<Metric> make_multitask(MetricRequest& request) {
  auto tasks = request.metrics_by_task("tasks");
  auto wrapper = std::make_unique<MultitaskWrapper>(
      request.rest<MultitaskWrapperOptions>(), request.metric_options());
  for (auto& [name, metrics] : tasks) {
    if (metrics.size() == 1 && metrics.front().first.empty()) {
      wrapper->add(name, std::move(metrics.front().second));
      continue;
    }
    MetricCollection several;
    for (auto& [member, metric] : metrics) {
      several.add(member, std::move(metric));
    }
    wrapper->add(name, std::move(several));
  }
  return wrapper;
}

}  // namespace

void add_wrappers(Registry& r) {
  r.add_wrapper<BinaryTargetTransformer, BootStrapper, ClasswiseWrapper,
                MinMaxMetric, MultioutputWrapper, Running>();

  auto options = describe_options(MultitaskWrapperOptions());
  options.insert(options.begin(),
                 {"tasks", "", "metrics by name: {age: MeanSquaredError()}",
                  /*is_size=*/false, /*is_metric=*/true,
                  "A metric for each task, as {name: Metric(), ...}."});
  r.add({MultitaskWrapper::kName, MultitaskWrapper::kSummary,
         std::move(options), std::nullopt, std::nullopt,
         /*is_wrapper=*/true, make_multitask});
}

}  // namespace tally::internal
