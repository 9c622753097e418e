#include <algorithm>
#include <memory>
#include <utility>

#include "tally/metrics/collection.h"
#include "tally/metrics/registry/registry.h"
#include "tally/metrics/sync_together.h"
#include "tally/sync/gather.h"
#include "tally/tests/storm/calls.h"

namespace tally::storm {
namespace {

// Scores of float32 become runs: those of 5 rows and more, see :small_runs.
enum class Inputs { kValues, kPairs, kBinary, kSingle, kClasses };

struct Subject {
  const char* text;
  Inputs inputs;
};
// Counts, numbers, rows, runs, tensors, states with a merge of their own, large
// sums and large rows, states made of others.
constexpr Subject kSubjects[] = {
    {"SumMetric", Inputs::kValues},
    {"CatMetric", Inputs::kValues},
    {"RunningMean", Inputs::kValues},
    {"MinMaxMetric(metric=MeanMetric)", Inputs::kValues},
    {"MeanSquaredError", Inputs::kPairs},
    {"PearsonCorrCoef", Inputs::kPairs},
    {"SpearmanCorrCoef", Inputs::kPairs},
    {"BinaryAUROC", Inputs::kBinary},
    {"BinaryAUROC(thresholds=7)", Inputs::kBinary},
    {"BinaryAccuracy", Inputs::kBinary},
    {"BinaryEER", Inputs::kSingle},
    {"BinaryAUROC(keep_rows=true)", Inputs::kSingle},
    {"MulticlassAccuracy(num_classes=5)", Inputs::kClasses},
    {"MulticlassConfusionMatrix(num_classes=600)", Inputs::kClasses},
};

std::vector<at::Tensor> batch_of(Inputs inputs, Draw& draw) {
  // Few rows mostly, sometimes none, sometimes so many that they travel alone,
  // of which ranks may have different numbers.
  const bool many = draw.shared(8) == 0 && !draw.draws_few_rows();
  const std::int64_t rows =
      many ? 70'000 * draw.own(4) + draw.own(9) : draw.own(7);
  switch (inputs) {
    case Inputs::kValues:
      return {draw.values({rows})};
    case Inputs::kPairs:
      return {draw.values({rows}), draw.values({rows})};
    case Inputs::kBinary:
      return {draw.scores({rows}), draw.labels(rows, 2)};
    case Inputs::kSingle:
      return {draw.scores({rows}).to(at::kFloat), draw.labels(rows, 2)};
    case Inputs::kClasses:
      return {draw.labels(std::min<std::int64_t>(rows, 50), 5),
              draw.labels(std::min<std::int64_t>(rows, 50), 5)};
  }
  return {};
}

std::vector<InputRef> refs(const std::vector<at::Tensor>& batch) {
  std::vector<InputRef> inputs;
  for (const at::Tensor& tensor : batch) inputs.push_back(InputRef::of(tensor));
  return inputs;
}

std::string bytes_of(const Results& results) {
  std::string bytes;
  for (const auto& [name, value] : results) append(bytes, value);
  return bytes;
}

/// Whatever happens, this rank's own value can still be had.
template <class M, class Function>
std::string with(M& metric, const Function& call) {
  try {
    return keeping([&] { return metric.serialize(); }, call);
  } catch (const sync::SyncError&) {
    metric.set_metric_options(MetricOptions().sync_on_compute(false));
    metric.clone();
    throw;
  }
}

std::string compute(const Subject& subject, unsigned seed) {
  Draw draw(seed);
  const auto metric = make_metric(subject.text);
  const auto batch = batch_of(subject.inputs, draw);
  metric->update_inputs(refs(batch));
  return with(*metric, [&] { return bytes_of(metric->compute_results()); });
}

std::string sync_and_unsync(const Subject& subject, unsigned seed) {
  Draw draw(seed);
  const auto metric = make_metric(subject.text);
  const auto batch = batch_of(subject.inputs, draw);
  metric->update_inputs(refs(batch));
  const std::string before = metric->serialize();
  std::string bytes = with(*metric, [&] {
    metric->sync();
    return bytes_of(metric->state());
  });
  metric->unsync();
  require(metric->serialize() == before, "unsync() gives back the own state");
  return bytes;
}

std::string forward(const Subject& subject, unsigned seed) {
  Draw draw(seed);
  const auto metric = make_metric(
      subject.text, MetricOptions().dist_sync_on_step(true).gradient_flow(
                        draw.shared(2) == 0 ? sync::GradientFlow::kLocal
                                            : sync::GradientFlow::kReplicated));
  const auto batch = batch_of(subject.inputs, draw);
  return with(*metric,
              [&] { return bytes_of(metric->forward_inputs(refs(batch))); });
}

MetricCollection collection_of(const Subject& subject) {
  MetricCollection collection;
  for (const Subject& other : kSubjects) {
    if (other.inputs != subject.inputs) continue;
    collection.add(other.text, make_metric(other.text));
  }
  return collection;
}

std::string compute_collection(const Subject& subject, unsigned seed) {
  Draw draw(seed);
  MetricCollection collection = collection_of(subject);
  const auto batch = batch_of(subject.inputs, draw);
  collection.update_inputs(refs(batch));
  return with(collection, [&] { return bytes_of(collection.compute()); });
}

std::string sync_all_together(const Subject& subject, unsigned seed) {
  Draw draw(seed);
  const auto metric = make_metric(subject.text);
  MetricCollection collection = collection_of(subject);
  const auto batch = batch_of(subject.inputs, draw);
  metric->update_inputs(refs(batch));
  collection.update_inputs(refs(batch));
  at::Tensor mean = draw.values({3});
  const auto count = static_cast<double>(draw.own(4));
  const auto held = [&] {
    std::string bytes = collection.serialize();
    append(bytes, mean);
    return bytes;
  };
  std::string bytes = with(*metric, [&] {
    keeping(held, [&] {
      sync_together(*metric, collection, SampleMean(mean, count));
    });
    return bytes_of(metric->state()) + bytes_of(collection.state());
  });
  append(bytes, mean);
  metric->unsync();
  collection.unsync();
  return bytes;
}

/// A sync in the background of another collective, which is waited for or
/// dropped, before or after that.
std::string sync_in_background(const Subject& subject, unsigned seed) {
  Draw draw(seed);
  MetricCollection collection = collection_of(subject);
  const auto batch = batch_of(subject.inputs, draw);
  collection.update_inputs(refs(batch));
  const auto choice = draw.shared(4);
  return with(collection, [&] {
    std::string bytes;
    auto pending =
        std::make_unique<PendingValue<Results>>(collection.sync_async());
    if (choice == 0) pending.reset();
    if (choice == 1) bytes += bytes_of(pending->wait());
    for (const at::Tensor& slot :
         sync::gather_all_tensors(draw.values({draw.own(5)}))) {
      append(bytes, slot);
    }
    if (choice == 2) pending.reset();
    if (choice == 3) bytes += bytes_of(pending->wait());
    return bytes;
  });
}

}  // namespace

std::vector<Call> metric_calls() {
  std::vector<Call> calls;
  for (const Subject& subject : kSubjects) {
    const auto add = [&](const char* what, auto* function, bool ends_at_once) {
      calls.push_back({std::string(what) + " of " + subject.text,
                       [&subject, function](unsigned seed) {
                         return function(subject, seed);
                       },
                       ends_at_once});
    };
    add("compute", compute, true);
    add("sync", sync_and_unsync, true);
    add("forward", forward, true);
    add("collection", compute_collection, true);
    add("together", sync_all_together, true);
    add("background", sync_in_background, false);
  }
  return calls;
}

}  // namespace tally::storm
