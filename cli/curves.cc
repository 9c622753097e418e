#include "tally/cli/curves.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/cli/first_failure.h"
#include "tally/metrics/registry/spec.h"
#include "tally/state/parse_number.h"

namespace tally::cli {
namespace {

constexpr std::int64_t kMostCurves = 8;
constexpr std::int64_t kMostClasses = 1000;     // of a matrix
constexpr std::int64_t kMostScores = 20 << 20;  // kept for exact curves
constexpr const char* kPrefixes[] = {"", "Binary", "Multiclass", "Multilabel"};

/// "Name(a=1, b=2)" of those options that the metric has.
std::string text_of(const std::string& name,
                    const std::map<std::string, std::string>& options) {
  std::string text;
  for (const OptionInfo& option : builtin_registry().at(name).options) {
    const auto found = options.find(option.name);
    if (found == options.end()) continue;
    text += (text.empty() ? "" : ", ") + found->first + "=" + found->second;
  }
  return name + "(" + text + ")";
}

bool declares(const std::string& metric, const char* option) {
  const auto& options = builtin_registry().at(metric).options;
  return std::any_of(
      options.begin(), options.end(),
      [&](const OptionInfo& each) { return each.name == option; });
}

at::Tensor times(const at::Tensor& values, const at::Tensor& counts) {
  return at::repeat_interleave(values, counts.round().to(at::kLong));
}

/// How many of the positives, or negatives, have each score of a ROC curve.
at::Tensor counts_of(const at::Tensor& rate, const at::Tensor& total) {
  const std::int64_t last = rate.size(0) - 1;
  const at::Tensor steps = rate.narrow(0, 1, last) - rate.narrow(0, 0, last);
  return (steps.to(at::kDouble) * total.to(at::kDouble)).nan_to_num(0, 0, 0);
}

}  // namespace

void Curves::begin(const Job& job) {
  failure_ = failure_of([&] {
    choose(job);
    if (task_ != MetricTask::kNone) add_members(job);
  });
}

void Curves::choose(const Job& job) {
  bool takes_input = false;
  for (const CollectionConfig::Member& member : job.config.members) {
    const MetricSpec spec = parse_metric_spec(member.text);
    const MetricEntry& entry = builtin_registry().at(spec.name);
    const MetricTask task = entry.summary.task;
    if (task == MetricTask::kNone ||
        (task_ != MetricTask::kNone && task_ != task)) {
      continue;
    }
    if (task_ == MetricTask::kNone) member_ = member;
    task_ = task;
    takes_input = takes_input || declares(spec.name, "input");
    for (const char* name :
         {"num_classes", "num_labels", "input", "ignore_index", "threshold"}) {
      const auto found = spec.options.find(name);
      if (found != spec.options.end()) options_.insert(*found);
    }
  }
  // What ranks scores needs no probabilities.
  if (!takes_input) options_["input"] = "scores";
}

void Curves::add_members(const Job& job) {
  names_ = job.source->names();
  if (names_.empty()) {
    for (const InputInfo& input : builtin_registry().inputs(member_.text)) {
      names_.push_back(input.name);
    }
  }
  const std::int64_t rows = job.source->rows();
  if (rows == 0) {
    task_ = MetricTask::kNone;
    return;
  }
  const auto first = job.source->read(0, 1);
  const at::Tensor preds = input(first, "preds", 0);
  const at::Tensor target = input(first, "target", 1);
  has_weight_ = input(first, "weight", 2).defined();
  if (!preds.defined() || !target.defined()) {
    task_ = MetricTask::kNone;
    return;
  }
  const bool is_multiclass = task_ == MetricTask::kMulticlass;
  const auto count =
      options_.find(is_multiclass ? "num_classes" : "num_labels");
  classes_ = 2;
  if (count != options_.end()) {
    classes_ = internal::parse_number<std::int64_t>(count->second).value_or(0);
  }
  has_scores_ = preds.is_floating_point() &&
                (!is_multiclass || preds.dim() == target.dim() + 1);
  averages_ = task_ != MetricTask::kBinary && classes_ > kMostCurves;
  const std::string prefix = kPrefixes[static_cast<int>(task_)];
  const auto add = [&](const std::string& name, const std::string& metric,
                       std::map<std::string, std::string> more) {
    more.insert(options_.begin(), options_.end());
    metrics_.add(name,
                 make_metric(text_of(prefix + metric, more), member_.options));
  };
  // Labels need neither, and BinaryConfusionMatrix takes no such threshold.
  if (!has_scores_) {
    options_.erase("input");
    options_.erase("threshold");
  }
  // To be counted as 0 or 1, scores must have a scale, or a threshold on it.
  const bool has_scale = !is_input("scores") || options_.count("threshold") > 0;
  if (task_ != MetricTask::kMultilabel && classes_ <= kMostClasses &&
      (is_multiclass || has_scale)) {
    add("confusion", "ConfusionMatrix", {});
  }
  const bool is_exact = preds.numel() * rows <= kMostScores;
  if (!has_scores_ || (!is_exact && is_input("scores"))) return;
  const std::map<std::string, std::string> grid =
      is_exact ? std::map<std::string, std::string>{}
               : std::map<std::string, std::string>{{"thresholds", "1000"}};
  for (const char* average : {"micro", "macro"}) {
    const std::string suffix = averages_ ? average : "";
    auto more = grid;
    if (averages_) more["average"] = average;
    add("roc" + suffix, "ROC", more);
    add("pr" + suffix, "PrecisionRecallCurve", more);
    if (!averages_) break;
  }
  confides_ = is_multiclass && preds.dim() == 2 && !has_weight_;
  if (!confides_) return;
  confidence_.add("roc", make_metric("BinaryROC(input=scores)"));
  right_.add("counts", make_metric("BinaryConfusionMatrix"));
}

bool Curves::is_input(const char* kind) const {
  const auto found = options_.find("input");
  return found != options_.end() && found->second == kind;
}

at::Tensor Curves::input(const std::vector<InputValue>& values,
                         const char* name, std::size_t position) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  const std::size_t place =
      found == names_.end() ? (names_.empty() ? position : values.size())
                            : static_cast<std::size_t>(found - names_.begin());
  if (place >= values.size()) return {};
  const auto* tensor = values[place].ref().as<at::Tensor>();
  return tensor == nullptr ? at::Tensor() : *tensor;
}

void Curves::batch(std::int64_t /*first*/,
                   const std::vector<InputValue>& values,
                   const SliceKeys* /*keys*/) {
  if (task_ == MetricTask::kNone || !failure_.empty()) return;
  failure_ = failure_of([&] { update(values); });
}

void Curves::update(const std::vector<InputValue>& values) {
  const at::Tensor preds = input(values, "preds", 0);
  const at::Tensor target = input(values, "target", 1);
  std::vector<NamedInput> inputs{{"preds", InputRef::of(preds)},
                                 {"target", InputRef::of(target)}};
  const at::Tensor weight = input(values, "weight", 2);
  if (weight.defined()) inputs.emplace_back("weight", InputRef::of(weight));
  if (metrics_.size() > 0) metrics_.update_inputs(NamedInputs(inputs));
  if (confides_) update_confidence(preds, target);
}

void Curves::update_confidence(const at::Tensor& preds,
                               const at::Tensor& target) {
  const at::Tensor scores = is_input("logits") ? at::softmax(preds, 1) : preds;
  const auto [highest, chosen] = scores.max(1);
  at::Tensor confidence = highest, right = chosen.eq(target);
  const auto ignored = options_.find("ignore_index");
  if (ignored != options_.end()) {
    const auto value = internal::parse_number<std::int64_t>(ignored->second);
    if (value) {
      const at::Tensor kept = target.ne(*value);
      confidence = confidence.masked_select(kept);
      right = right.masked_select(kept);
    }
  }
  confidence_.update(confidence, right);
  right_.update(right, right);
}

std::vector<PlotCurve> Curves::curves_of(const Results& results,
                                         const std::string& name, const char* x,
                                         const char* y) const {
  const auto finite_curve = [](std::string label, const at::Tensor& xs,
                               const at::Tensor& ys) {
    const at::Tensor finite = at::isfinite(xs).logical_and(at::isfinite(ys));
    return PlotCurve{std::move(label), xs.masked_select(finite),
                     ys.masked_select(finite)};
  };
  std::vector<PlotCurve> curves;
  if (averages_) {
    for (const char* average : {"micro", "macro"}) {
      const std::string stem = name + average + ".";
      curves.push_back(finite_curve(std::string(average) + " average",
                                    results[stem + x], results[stem + y]));
    }
    return curves;
  }
  const at::Tensor xs = results[name + "." + x], ys = results[name + "." + y];
  if (xs.dim() == 1) return {finite_curve("", xs, ys)};
  for (std::int64_t i = 0; i < xs.size(0); ++i) {
    const auto place = static_cast<std::size_t>(i);
    curves.push_back(
        finite_curve(labels_.size() == static_cast<std::size_t>(xs.size(0))
                         ? labels_[place]
                         : std::to_string(i),
                     xs[i], ys[i]));
  }
  return curves;
}

void Curves::add_calibration(const Results& results, const at::Tensor& totals,
                             CurvesShown& shown) const {
  const at::Tensor scores = results["roc.thresholds"];
  if (scores.size(0) < 2) return;
  const at::Tensor finite = scores.narrow(0, 1, scores.size(0) - 1);
  if (!(finite.min().item<double>() >= 0 && finite.max().item<double>() <= 1)) {
    return;
  }
  const at::Tensor negatives = counts_of(results["roc.fpr"], totals[0]);
  const at::Tensor positives = counts_of(results["roc.tpr"], totals[1]);
  const at::Tensor came_true = times(finite, positives);
  const at::Tensor did_not = times(finite, negatives);
  shown.preds = at::cat({came_true, did_not});
  shown.target = at::cat({at::ones({came_true.size(0)}, at::kLong),
                          at::zeros({did_not.size(0)}, at::kLong)});
  shown.calibration =
      confides_ ? "Confidence in the predicted class" : "Calibration";
}

CurvesShown Curves::compute(const std::shared_ptr<sync::Communicator>& ranks) {
  CurvesShown shown;
  shown.remark = first_failure(failure_, ranks);
  if (!shown.remark.empty() || task_ == MetricTask::kNone ||
      metrics_.size() == 0) {
    return shown;
  }
  const Results results = metrics_.compute();
  if (results.contains("confusion")) shown.confusion = results["confusion"];
  const std::string suffix = averages_ ? "micro" : "";
  if (!results.contains("roc" + suffix + ".fpr")) return shown;
  shown.roc = curves_of(results, "roc", "fpr", "tpr");
  shown.precision_recall = curves_of(results, "pr", "recall", "precision");
  shown.prevalence = std::nan("");
  if (task_ == MetricTask::kBinary && shown.confusion.defined()) {
    const at::Tensor totals = shown.confusion.sum(1).to(at::kDouble);
    shown.prevalence = totals[1].div(totals.sum()).item<double>();
    if (!has_weight_) add_calibration(results, totals, shown);
  } else if (confides_) {
    const Results confidence = confidence_.compute();
    add_calibration(confidence, right_.compute().value().sum(1), shown);
  }
  return shown;
}

}  // namespace tally::cli
