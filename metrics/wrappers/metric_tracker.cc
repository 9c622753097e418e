#include "tally/metrics/wrappers/metric_tracker.h"

#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tally/metrics/core/option_text.h"
#include "tally/metrics/core/sync_options.h"
#include "tally/metrics/wrappers/stacked_results.h"
#include "tally/metrics/wrappers/tracked_steps.h"
#include "tally/state/joined.h"
#include "tally/sync/account.h"
#include "tally/sync/collectives.h"

namespace tally {
namespace {

using internal::tracked::decoded;
using internal::tracked::encoded;
using internal::tracked::label_of;
using internal::tracked::step_key;
using internal::tracked::step_name;
using internal::tracked::step_of;

MetricCollection collection_of(std::unique_ptr<Metric> metric) {
  MetricCollection metrics(metric->metric_options());
  metric->set_metric_options(
      internal::without_sync_options(metric->metric_options()));
  const std::string name = metric->name();
  metrics.add(name, std::move(metric));
  return metrics;
}

}  // namespace

MetricTracker::MetricTracker(OwnedMetric metric, std::optional<bool> maximize)
    : MetricTracker(collection_of(metric.take(kName))) {
  is_single_ = true;
  if (maximize) maximize_[metrics_.names().front()] = *maximize;
}

MetricTracker::MetricTracker(MetricCollection&& metrics,
                             std::map<std::string, bool> maximize)
    : MetricBase(metrics.metric_options(),
                 {kName, step_name, /*collected=*/false,
                  internal::tracked::check_steps,
                  [](const std::string& bytes) { decoded(bytes); }}),
      metrics_(std::move(metrics)),
      maximize_(std::move(maximize)) {
  TORCH_CHECK_VALUE(metrics_.status() == MetricStatus::kEmpty, kName,
                    ": expected a collection that has accumulated nothing, got "
                    "one whose update_count is ",
                    metrics_.update_count());
  for (const auto& [name, unused] : maximize_) {
    TORCH_CHECK_VALUE(
        metrics_.contains(name), kName,
        ": expected maximize for members of the collection, got '", name, "'");
  }
  for (const internal::StateColumn& column : metrics_.accumulation_.columns()) {
    accumulation_.add_column(column);
  }
}

void MetricTracker::increment(const std::string& label) {
  const Use use(accumulation_);
  accumulation_.require_unsynced("increment");
  accumulation_.add_rows({step_key(accumulation_.rows(), label)},
                         /*known=*/false);
  accumulation_.forget_warnings();
}

std::int64_t MetricTracker::n_steps() const {
  const Reading reading(accumulation_);
  return static_cast<std::int64_t>(accumulation_.rows());
}

std::vector<std::string> MetricTracker::labels() const {
  const Reading reading(accumulation_);
  std::vector<std::string> labels;
  for (std::size_t step = 0; step < accumulation_.rows(); ++step) {
    labels.push_back(label_of(accumulation_.index()->key(step)));
  }
  return labels;
}

void MetricTracker::require_step(const char* verb) const {
  TORCH_CHECK(accumulation_.rows() > 0, kName, ": expected increment() before ",
              verb, "()");
}

std::vector<AnyState> MetricTracker::observe(Inputs inputs) const {
  metrics_.union_.check_agreement(kName, inputs.size());
  return metrics_.observe_same(inputs, BatchOrigin(accumulation_));
}

std::vector<AnyState> MetricTracker::observe(NamedInputs inputs) {
  internal::OrderedInputs ordered;
  metrics_.arrange(inputs, kName, ordered);
  return metrics_.observe_union(ordered, BatchOrigin(accumulation_));
}

void MetricTracker::update_inputs(Inputs inputs) {
  require_step("update");
  update_by(inputs, [&] { return observe(inputs); });
}

void MetricTracker::update_inputs(NamedInputs inputs) {
  require_step("update");
  update_by(inputs, [&] { return observe(inputs); });
}

Results MetricTracker::forward_inputs(Inputs inputs) {
  require_step("forward");
  return forward_by(
      inputs, /*is_differentiable=*/true, [&] { return observe(inputs); },
      [&](const std::vector<AnyState>& batch) {
        return metrics_.evaluate(batch);
      });
}

Results MetricTracker::forward_inputs(NamedInputs inputs) {
  require_step("forward");
  return forward_by(
      inputs, /*is_differentiable=*/true, [&] { return observe(inputs); },
      [&](const std::vector<AnyState>& batch) {
        return metrics_.evaluate(batch);
      });
}

Results MetricTracker::compute() {
  require_step("compute");
  const std::vector<std::string> current = {
      accumulation_.index()->key(accumulation_.last_row())};
  return compute_by(
      value_,
      [&](internal::StateRows& rows) { return metrics_.compute_row(rows, 0); },
      [](Results&) {}, &current);
}

void MetricTracker::reset() {
  require_step("reset");
  const Use use(accumulation_);
  accumulation_.reset_row(accumulation_.last_row());
}

std::vector<Results> MetricTracker::finished_values() const {
  std::vector<Results> values;
  for (std::size_t step = 0; step < accumulation_.rows(); ++step) {
    values.push_back(decoded(accumulation_.value_of_row(step)));
  }
  return values;
}

Results MetricTracker::values_of(internal::StateRows& rows,
                                 std::vector<Results>& values) const {
  const std::vector<Results> finished = values;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto step = static_cast<std::size_t>(step_of(rows.key(r)));
    values[step] = metrics_.compute_row(rows, r);
  }
  // Those that are left of others lie where the last one is.
  for (std::size_t step = 0; step + 1 < values.size(); ++step) {
    Results moved;
    for (const auto& [name, value] : finished[step]) {
      const bool is_known = values.back().contains(name);
      moved.add(name,
                is_known ? value.to(values.back().at(name).device()) : value,
                finished[step].dimensions(name));
    }
    if (!moved.empty()) values[step] = std::move(moved);
  }
  return internal::stacked(values, kName, Dimension::kStep);
}

Results MetricTracker::compute_all() {
  require_step("compute_all");
  Results all;
  std::vector<Results> values;
  compute_once(
      [&](internal::StateRows& rows) {
        values = finished_values();
        all = values_of(rows, values);
        internal::move_result(all, rows.device());
      },
      [&] {
        const bool is_final = !is_synced() && accumulation_.computes_for_all();
        for (std::size_t step = 0; is_final && step + 1 < values.size();
             ++step) {
          if (!accumulation_.value_of_row(step).empty()) continue;
          accumulation_.finish_row(step, encoded(values[step]));
        }
      });
  return all;
}

PendingValue<Results> MetricTracker::sync_async() {
  require_step("sync_async");
  return sync_async_by<Results>([&] {
    const Reading reading(accumulation_);
    MetricTracker copy(metrics_.clone(), maximize_);
    return [snapshot = std::make_shared<const MetricTracker>(std::move(copy)),
            finished = finished_values()](internal::StateRows& rows) {
      std::vector<Results> values = finished;
      return snapshot->values_of(rows, values);
    };
  });
}

void MetricTracker::merge_state(const MetricTracker& other) {
  merge_from(other);
}

MetricTracker::History MetricTracker::history_of(
    const Results& all, const std::string& result) const {
  TORCH_CHECK_INDEX(
      !result.empty() || all.size() == 1, kName,
      ": expected the name of a result, got none; there are ", all.size(), ": ",
      internal::joined(", ", all, [](const auto& part) { return part.first; }));
  const at::Tensor values = result.empty() ? all.value() : all.at(result);
  History history;
  history.name = result.empty() ? all.begin()->first : result;
  TORCH_CHECK_VALUE(values.dim() == 1, kName, ": expected '", history.name,
                    "' to be one number of each step, got sizes ",
                    values.sizes().slice(1));
  history.sign = maximizes(history.name) ? 1 : -1;
  const at::Tensor plain = values.detach().to(at::kCPU, at::kDouble);
  const double* const data = plain.const_data_ptr<double>();
  for (std::int64_t step = 0; step < plain.numel(); ++step) {
    history.values.push_back(history.sign * data[step]);
  }
  return history;
}

MetricTracker::Best MetricTracker::best_metric(const std::string& result) {
  const History history = history_of(compute_all(), result);
  const std::vector<double>& values = history.values;
  std::size_t best = 0;
  for (std::size_t step = 1; step < values.size(); ++step) {
    if (values[step] > values[best] ||
        (std::isnan(values[best]) && !std::isnan(values[step]))) {
      best = step;
    }
  }
  return {history.sign * values[best], static_cast<std::int64_t>(best),
          labels()[best]};
}

std::int64_t MetricTracker::steps_without_gain(const History& history,
                                               double min_delta) const {
  double best = std::numeric_limits<double>::quiet_NaN();
  std::int64_t steps = 0;
  for (const double value : history.values) {
    const bool is_better =
        std::isnan(best) ? !std::isnan(value) : value > best + min_delta;
    if (is_better) best = value;
    steps = is_better ? 0 : steps + 1;
  }
  return steps;
}

void MetricTracker::warn_of_nan(const History& history) {
  if (!std::isnan(history.values.back()) || has_warned_of_nan_) return;
  has_warned_of_nan_ = true;
  if (accumulation_.communicator()->rank() != 0) return;
  TORCH_WARN(kName, ": '", history.name, "' is NaN in ",
             step_name(accumulation_.index()->key(accumulation_.last_row())),
             ", which never counts as an improvement");
}

bool MetricTracker::has_gained(const EarlyStoppingOptions& options) {
  const bool is_collective = !is_synced() && metric_options().sync_on_compute();
  const auto ranks = is_collective ? accumulation_.other_ranks() : nullptr;
  accumulation_.or_report(ranks, [&] {
    TORCH_CHECK_VALUE(options.patience() >= 1, kName,
                      ": expected patience to be at least 1, got ",
                      options.patience());
    TORCH_CHECK_VALUE(options.min_delta() >= 0, kName,
                      ": expected min_delta to be at least 0, got ",
                      options.min_delta());
  });
  const Results all = compute_all();
  const bool own = accumulation_.or_report(ranks, [&] {
    const History history = history_of(all, options.result());
    warn_of_nan(history);
    return steps_without_gain(history, options.min_delta()) <
           options.patience();
  });
  if (!ranks) return own;
  const sync::AskedBy asked(kName);
  return sync::broadcast(at::scalar_tensor(own, at::kBool), /*root=*/0, ranks,
                         metric_options().timeout())
      .item<bool>();
}

bool MetricTracker::improved(const std::string& result, double min_delta) {
  return has_gained(
      EarlyStoppingOptions(1).result(result).min_delta(min_delta));
}

bool MetricTracker::should_stop(const EarlyStoppingOptions& options) {
  return !has_gained(options);
}

bool MetricTracker::maximizes(const std::string& result) const {
  for (const auto& member : metrics_.members_) {
    const std::string name = metrics_.prefix_ + member.name + metrics_.postfix_;
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

MetricTracker MetricTracker::clone() const {
  MetricTracker copy(metrics_.clone(), maximize_);
  copy.is_single_ = is_single_;
  copy.accumulation_.set_options(metric_options());
  copy.accumulation_.copy_state(accumulation_);
  return copy;
}

std::string MetricTracker::spec() const {
  std::string text =
      std::string(kName) +
      (is_single_ ? "(metric=" + metrics_.members_[0].metric->spec()
                  : "(metrics=" + metrics_.spec());
  if (!maximize_.empty()) {
    text += ", maximize={" +
            internal::joined(", ", maximize_,
                             [](const auto& told) {
                               return internal::item_name(told.first) + ": " +
                                      (told.second ? "true" : "false");
                             }) +
            "}";
  }
  return text + ")";
}

std::string MetricTracker::repr() const {
  return std::string(kName) + "(" + metrics_.repr() +
         ", steps=" + std::to_string(n_steps()) + ")";
}

}  // namespace tally
