#include "tally/metrics/wrappers/metric_tracker.h"

#include <cmath>
#include <utility>

#include "tally/metrics/checkpoint.h"
#include "tally/metrics/sync_options.h"
#include "tally/metrics/wrappers/stacked_results.h"
#include "tally/state/codec.h"
#include "tally/sync/errors.h"

namespace tally {
namespace {

constexpr const char* kName = "MetricTracker";
constexpr const char* kMark = "TALLYTRK 1";

MetricCollection collection_of(std::unique_ptr<Metric> metric) {
  MetricCollection metrics(metric->metric_options());
  metric->set_metric_options(
      internal::without_sync_options(metric->metric_options()));
  const std::string name = metric->name();
  metrics.add(name, std::move(metric));
  return metrics;
}

absl::Status data_loss(const std::string& why) {
  const std::string message = "the checkpoint is damaged: " + why;
  return absl::DataLossError(message.c_str());
}

}  // namespace

MetricTracker::MetricTracker(OwnedMetric metric, std::optional<bool> maximize)
    : empty_(collection_of(metric.take(kName))) {
  if (maximize) maximize_[empty_.names().front()] = *maximize;
}

MetricTracker::MetricTracker(MetricCollection&& metrics,
                             std::map<std::string, bool> maximize)
    : empty_(std::move(metrics)), maximize_(std::move(maximize)) {
  TORCH_CHECK_VALUE(empty_.status() == MetricState::kEmpty, kName,
                    ": expected a collection that has accumulated nothing, got "
                    "one with ",
                    empty_.update_count(), " updates");
  for (const auto& [name, unused] : maximize_) {
    TORCH_CHECK_VALUE(
        empty_.contains(name), kName,
        ": expected maximize for members of the collection, got '", name, "'");
  }
}

void MetricTracker::increment() { steps_.push_back(empty_.clone()); }

MetricCollection& MetricTracker::current(const char* verb) {
  TORCH_CHECK(!steps_.empty(), kName, ": expected increment() before ", verb,
              "()");
  return steps_.back();
}

Results MetricTracker::compute_all() {
  current("compute_all");
  internal::Accumulation all(empty_.metric_options());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (const auto& group : steps_[s].accumulation_.groups()) {
      all.add_group("step " + std::to_string(s) + ": " + group.label, group.key,
                    group.identity, group.on_cpu);
      all.groups().back().local = group.local;
      all.groups().back().update_count = group.update_count;
    }
  }
  Results values;
  return all.compute(
      values,
      [&](const auto& state_of) {
        std::vector<Results> steps;
        std::size_t next = 0;
        for (const MetricCollection& step : steps_) {
          std::vector<AnyState> states;
          for (std::size_t g = 0; g < step.accumulation_.groups().size(); ++g) {
            states.push_back(state_of(next++));
          }
          steps.push_back(step.evaluate(states));
        }
        return internal::stacked(steps, kName, "step");
      },
      [](Results&) {});
}

MetricTracker::Best MetricTracker::best_metric(const std::string& result) {
  const Results all = compute_all();
  const at::Tensor values = result.empty() ? all.value() : all.at(result);
  const std::string name = result.empty() ? all.begin()->first : result;
  TORCH_CHECK_VALUE(values.dim() == 1, kName, ": expected '", name,
                    "' to be one number of each step, got sizes ",
                    values.sizes().slice(1));
  const double sign = maximizes(name) ? 1 : -1;
  const at::Tensor plain = values.detach().to(at::kCPU, at::kDouble);
  const double* data = plain.const_data_ptr<double>();
  std::int64_t best = 0;
  for (std::int64_t step = 1; step < plain.numel(); ++step) {
    if (sign * data[step] > sign * data[best] ||
        (std::isnan(data[best]) && !std::isnan(data[step]))) {
      best = step;
    }
  }
  return {data[best], best};
}

bool MetricTracker::maximizes(const std::string& result) const {
  for (const auto& member : empty_.members_) {
    const std::string name = empty_.prefix_ + member.name + empty_.postfix_;
    if (result != name && result.rfind(name + ".", 0) != 0) continue;
    const auto told = maximize_.find(member.name);
    if (told != maximize_.end()) return told->second;
    const auto known = member.metric->higher_is_better();
    TORCH_CHECK_VALUE(known, kName, ": expected maximize to be given for ",
                      member.metric->repr(),
                      ", which does not say whether higher is better");
    return *known;
  }
  TORCH_INTERNAL_ASSERT(false, result);
}

std::string MetricTracker::serialize() const {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.text(kMark);
  encoder.integer(n_steps());
  for (const MetricCollection& step : steps_) encoder.text(step.serialize());
  return bytes;
}

absl::Status MetricTracker::deserialize(std::string_view bytes) {
  std::vector<MetricCollection> steps;
  try {
    Decoder decoder(bytes);
    if (decoder.text() != kMark) return data_loss("it is no tracker's");
    for (std::int64_t left = decoder.integer(); left > 0; --left) {
      const std::string step = decoder.text();
      steps.push_back(empty_.clone());
      const absl::Status status = steps.back().deserialize(step);
      if (!status.ok()) return status;
    }
    if (decoder.remaining() != 0) return data_loss("it is too long");
  } catch (const std::exception& error) {
    return data_loss(sync::describe(error));
  }
  steps_ = std::move(steps);
  return absl::OkStatus();
}

absl::Status MetricTracker::save(const std::string& path) const {
  return internal::write_file(path, serialize());
}

absl::Status MetricTracker::load(const std::string& path) {
  std::string bytes;
  const absl::Status status = internal::read_file(path, bytes);
  return status.ok() ? deserialize(bytes) : status;
}

MetricTracker MetricTracker::clone() const {
  MetricTracker copy(empty_.clone(), maximize_);
  for (const MetricCollection& step : steps_) {
    copy.steps_.push_back(step.clone());
  }
  return copy;
}

std::string MetricTracker::repr() const {
  return std::string(kName) + "(" + empty_.repr() +
         ", steps=" + std::to_string(n_steps()) + ")";
}

}  // namespace tally
