#include "tally/metrics/wrappers/metric_tracker.h"

#include <cmath>
#include <utility>

#include "tally/metrics/file.h"
#include "tally/metrics/sync_options.h"
#include "tally/metrics/wrappers/stacked_results.h"
#include "tally/state/codec.h"
#include "tally/sync/errors.h"
#include "tally/sync/fingerprint.h"

namespace tally {
namespace {

constexpr const char* kName = "MetricTracker";
constexpr const char* kMark = "TALLYTRK 2";
// Has no values.
constexpr const char* kFirstMark = "TALLYTRK 1";

MetricCollection collection_of(std::unique_ptr<Metric> metric) {
  MetricCollection metrics(metric->metric_options());
  metric->set_metric_options(
      internal::without_sync_options(metric->metric_options()));
  const std::string name = metric->name();
  metrics.add(name, std::move(metric));
  return metrics;
}

std::int64_t checksum(std::string_view bytes) {
  return static_cast<std::int64_t>(sync::fingerprint(bytes));
}

absl::Status data_loss(const std::string& why) {
  const std::string message = "the checkpoint is damaged: " + why;
  return absl::DataLossError(message.c_str());
}

absl::Status check_head(std::string_view head, std::int64_t) {
  try {
    if (Decoder(head).text() == kMark) return absl::OkStatus();
  } catch (const std::exception&) {
    // Not even a text.
  }
  return data_loss("it is not that of a tracker");
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

void MetricTracker::increment() { steps_.push_back({empty_.clone()}); }

MetricCollection& MetricTracker::current(const char* verb) {
  TORCH_CHECK(!steps_.empty(), kName, ": expected increment() before ", verb,
              "()");
  return steps_.back().metrics;
}

Results MetricTracker::compute_all() {
  current("compute_all");
  internal::Accumulation all(empty_.metric_options());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (!steps_[s].value.empty()) continue;
    for (const auto& group : steps_[s].metrics.accumulation_.groups()) {
      all.add_group("step " + std::to_string(s) + ": " + group.label, group.key,
                    group.identity, group.on_cpu);
      all.groups().back().local = group.local;
      all.groups().back().given = group.given;
      all.groups().back().update_count = group.update_count;
    }
  }
  std::vector<Results> kept;
  const auto evaluate = [&](const auto& state_of) {
    kept.clear();
    std::size_t next = 0;
    for (const Step& step : steps_) {
      if (!step.value.empty()) {
        kept.push_back(step.value);
        continue;
      }
      std::vector<AnyState> states;
      for (std::size_t g = 0; g < step.metrics.accumulation_.groups().size();
           ++g) {
        states.push_back(state_of(next++));
      }
      kept.push_back(step.metrics.evaluate(states));
    }
    return internal::stacked(kept, kName, Dimension::kStep);
  };
  Results values;
  Results result = all.compute(values, evaluate, [](Results&) {});
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (!is_over(s) || !steps_[s].value.empty()) continue;
    steps_[s].value = copy_of(std::move(kept[s]));
    steps_[s].metrics.reset();
  }
  return result;
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
  std::string body;
  Encoder encoder(body);
  encoder.integer(n_steps());
  for (const Step& step : steps_) {
    encoder.text(step.metrics.serialize());
    encoder.integer(static_cast<std::int64_t>(step.value.size()));
    for (const auto& [name, value] : step.value) {
      encoder.text(name);
      encoder.tensor(value);
    }
  }
  std::string bytes;
  Encoder envelope(bytes);
  envelope.text(kMark);
  envelope.integer(checksum(body));
  return bytes + body;
}

absl::Status MetricTracker::deserialize(std::string_view bytes) {
  std::vector<Step> steps;
  try {
    Decoder decoder(bytes);
    const std::string mark = decoder.text();
    if (mark != kMark && mark != kFirstMark) {
      return data_loss("it is not that of a tracker");
    }
    const bool has_values = mark == kMark;
    if (has_values &&
        decoder.integer() !=
            checksum(bytes.substr(bytes.size() - decoder.remaining()))) {
      return data_loss("its checksum does not match");
    }
    for (std::int64_t left = decoder.integer(); left > 0; --left) {
      const std::string step = decoder.text();
      steps.push_back({empty_.clone()});
      const absl::Status status = steps.back().metrics.deserialize(step);
      if (!status.ok()) return status;
      if (!has_values) continue;
      for (std::int64_t values = decoder.integer(); values > 0; --values) {
        std::string name = decoder.text();
        steps.back().value.add(std::move(name), decoder.tensor());
      }
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
  const absl::Status status = internal::read_file(path, bytes, check_head);
  return status.ok() ? deserialize(bytes) : status;
}

MetricTracker MetricTracker::clone() const {
  MetricTracker copy(empty_.clone(), maximize_);
  for (const Step& step : steps_) {
    copy.steps_.push_back({step.metrics.clone(), copy_of(step.value)});
  }
  return copy;
}

std::string MetricTracker::repr() const {
  return std::string(kName) + "(" + empty_.repr() +
         ", steps=" + std::to_string(n_steps()) + ")";
}

}  // namespace tally
