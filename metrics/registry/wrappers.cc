#include "tally/metrics/wrappers/wrappers.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {
namespace {

std::unique_ptr<Metric> make_multitask(MetricRequest& request) {
  auto tasks = request.metrics("tasks");
  auto wrapper = std::make_unique<MultitaskWrapper>(
      request.rest<MultitaskWrapperOptions>(), request.metric_options());
  for (auto& [name, metric] : tasks) wrapper->add(name, std::move(metric));
  return wrapper;
}

}  // namespace

void add_wrappers(Registry& r) {
  const char* example = "metric=MeanSquaredError()";
  r.add_wrapper<BinaryTargetTransformer>(
      {"A metric on targets binarized by a threshold.", "any", example});
  r.add_wrapper<BootStrapper>(
      {"Bootstrap mean and standard deviation of a metric.", "any", example});
  r.add_wrapper<ClasswiseWrapper>(
      {"Names the value of each class of a metric.", "any",
       "metric=MulticlassAccuracy(num_classes=3, average=none)"});
  r.add_wrapper<MinMaxMetric>(
      {"A metric, with its smallest and largest value so far.", "any",
       example});
  r.add_wrapper<MultioutputWrapper>(
      {"One metric for each of several outputs.", "any",
       "metric=MeanSquaredError(), num_outputs=2"});
  r.add_wrapper<Running>({"A metric over the last batches.", "any", example});

  auto options = describe_options(MultitaskWrapperOptions());
  options.insert(options.begin(),
                 {"tasks", "", "metrics by name: {age: MeanSquaredError()}",
                  /*is_size=*/false, /*is_metric=*/true,
                  "A metric for each task, as {name: Metric(), ...}."});
  r.add({MultitaskWrapper::kName,
         {"A metric for each of several tasks, from maps of inputs.", "any",
          "tasks={a: MeanSquaredError()}"},
         std::move(options),
         std::nullopt,
         std::nullopt,
         /*is_wrapper=*/true,
         make_multitask});
}

}  // namespace tally::internal
