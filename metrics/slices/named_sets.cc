#include "tally/metrics/slices/named_sets.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/progress.h"

namespace tally {
namespace {

constexpr const char* kMean = "mean";
constexpr const char* kWeightedMean = "weighted_mean";

std::string set_key(const std::string& set) {
  return internal::slice_key_bytes({set});
}

std::vector<std::string> set_keys(const std::vector<std::string>& sets) {
  std::vector<std::string> keys;
  for (const std::string& set : sets) keys.push_back(set_key(set));
  return keys;
}

internal::RowKeys set_rules(const std::vector<std::string>& sets) {
  check_set_names(sets, NamedSets::kName);
  return internal::slice_rules(
      NamedSets::kName, static_cast<std::int64_t>(sets.size()), set_keys(sets));
}

/// The numbers of a result by set; nothing unless each has it as one number.
std::optional<std::vector<double>> numbers_of(
    const std::vector<SetResult>& sets, const std::string& name) {
  std::vector<double> numbers;
  for (const SetResult& set : sets) {
    if (!set.results.contains(name)) return std::nullopt;
    const at::Tensor& value = set.results[name];
    if (!value.defined() || value.dim() != 0 || !value.is_floating_point()) {
      return std::nullopt;
    }
    numbers.push_back(value.item<double>());
  }
  return numbers;
}

/// The mean of the sets whose weight is not 0.
double mean_of(const std::vector<SetResult>& sets,
               const std::vector<double>& numbers,
               const std::vector<double>& weights) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (weights[i] == 0) continue;
    // What a metric has without data is none of its values.
    sum += weights[i] * (sets[i].rows > 0
                             ? numbers[i]
                             : std::numeric_limits<double>::quiet_NaN());
    all += weights[i];
  }
  return sum / all;
}

}  // namespace

void check_set_names(const std::vector<std::string>& sets, const char* owner) {
  TORCH_CHECK_VALUE(!sets.empty(), owner,
                    ": expected at least one set, got none");
  std::set<std::string> seen;
  for (const std::string& name : sets) {
    TORCH_CHECK_VALUE(!name.empty() && name.find('/') == name.npos, owner,
                      ": expected names of sets without '/', got '", name, "'");
    TORCH_CHECK_VALUE(name != kMean && name != kWeightedMean, owner,
                      ": expected other names of sets than those of the means, "
                      "got '",
                      name, "'");
    TORCH_CHECK_VALUE(seen.insert(name).second, owner,
                      ": expected each set once, got '", name, "' twice");
  }
}

Results join_sets(const std::vector<SetResult>& sets) {
  std::vector<std::string> names;
  std::vector<double> weights;
  for (const SetResult& set : sets) {
    names.push_back(set.name);
    weights.push_back(set.weight);
  }
  check_set_names(names, NamedSets::kName);
  Results joined;
  for (const SetResult& set : sets) {
    for (const auto& [name, value] : set.results) {
      joined.add(set.name + "/" + name, value, set.results.dimensions(name));
    }
  }
  const auto add_means = [&](const char* mean,
                             const std::vector<double>& by_set) {
    for (const auto& [name, value] : sets.front().results) {
      const auto numbers = numbers_of(sets, name);
      if (!numbers) continue;
      joined.add(
          std::string(mean) + "/" + name,
          at::scalar_tensor(mean_of(sets, *numbers, by_set), value.options()));
    }
  };
  add_means(kMean, std::vector<double>(sets.size(), 1));
  add_means(kWeightedMean, weights);
  return joined;
}

NamedSets::NamedSets(std::vector<std::string> sets, Options options)
    : SlicedRows(set_rules(sets), set_keys(sets)),
      sets_(std::move(sets)),
      options_(std::move(options)) {
  const std::vector<double>& weights = options_.weights();
  TORCH_CHECK_VALUE(weights.empty() || weights.size() == sets_.size(), kName,
                    ": expected a weight for each of ", sets_.size(),
                    " sets, got ", weights.size());
  for (const double weight : weights) {
    TORCH_CHECK_VALUE(weight >= 0 && std::isfinite(weight), kName,
                      ": expected finite weights of at least 0, got ", weight);
  }
}

NamedSets::NamedSets(std::vector<std::string> sets, OwnedMetric metric,
                     Options options)
    : NamedSets(std::move(sets), std::move(options)) {
  std::unique_ptr<Metric> own = metric.take(kName);
  std::string name = own->name();
  add_metric(std::move(name), std::move(own));
}

void NamedSets::add(std::string name, OwnedMetric metric) {
  TORCH_CHECK_VALUE(!name.empty(), kName,
                    ": expected a name for the metric, got none");
  add_metric(std::move(name), metric.take(kName));
}

std::string NamedSets::key_of(const std::string& set) const {
  TORCH_CHECK_VALUE(std::find(sets_.begin(), sets_.end(), set) != sets_.end(),
                    kName, ": expected one of the sets ",
                    c10::Join(", ", sets_), ", got '", set, "'",
                    internal::did_you_mean(set, sets_));
  return set_key(set);
}

Results NamedSets::values_of(const internal::StateRows& rows) const {
  std::vector<SetResult> values;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    const std::string key = set_key(sets_[i]);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows.key(r) != key) continue;
      SetResult& set = values.emplace_back();
      set.name = sets_[i];
      set.rows = rows.count(r);
      set.weight = options_.weights().empty() ? static_cast<double>(set.rows)
                                              : options_.weights()[i];
      set.results = results_of(rows, r);
    }
    report_progress("sets", static_cast<std::int64_t>(i + 1),
                    static_cast<std::int64_t>(sets_.size()));
  }
  return join_sets(values);
}

Results NamedSets::compute() {
  check_metrics();
  return compute_by(
      value_, [&](internal::StateRows& rows) { return values_of(rows); },
      [](Results&) {});
}

PendingValue<Results> NamedSets::sync_async() {
  check_metrics();
  return sync_async_by<Results>([&] {
    NamedSets copy(sets_, options_);
    copy_metrics_into(copy);
    return [snapshot = std::make_shared<const NamedSets>(std::move(copy))](
               internal::StateRows& rows) { return snapshot->values_of(rows); };
  });
}

NamedSets NamedSets::clone() const {
  NamedSets copy(sets_, options_);
  copy_into(copy);
  return copy;
}

std::int64_t NamedSets::rows(const std::string& set) const {
  const std::string key = key_of(set);
  const Reading reading(accumulation_);
  if (accumulation_.columns().empty()) return 0;
  const auto& cell = accumulation_.cell(*accumulation_.index()->find(key), 0);
  return is_synced() ? cell.synced_count : cell.count;
}

std::string NamedSets::spec() const {
  return std::string(kName) + "(sets=" +
         internal::OptionType<std::vector<std::string>>::print(sets_) + ", " +
         metrics_text() + (metrics_.size() > 0 ? ", " : "") +
         options_repr(options_) + ")";
}

std::string NamedSets::repr() const {
  return std::string(kName) + "(" + c10::Join(", ", sets_) + ", " +
         metrics_.repr() + ")";
}

}  // namespace tally
