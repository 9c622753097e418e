#include "tally/metrics/wrappers/classwise_wrapper.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "tally/metrics/results_table.h"

namespace tally {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

void ClasswiseWrapperOptions::visit(OptionVisitor& v) {
  v("labels", labels_, OptionRole::kValue);
  v("prefix", prefix_, OptionRole::kValue);
  v("postfix", postfix_, OptionRole::kValue);
}

void ClasswiseWrapperOptions::validate(const char* metric) const {
  std::set<std::string> known;
  for (const std::string& label : labels_) {
    TORCH_CHECK_VALUE(!label.empty(), metric,
                      ": expected labels that are not empty");
    TORCH_CHECK_VALUE(known.insert(label).second, metric,
                      ": expected different labels, got '", label, "' twice");
  }
}

ClasswiseWrapper::ClasswiseWrapper(OwnedMetric metric, Options options)
    : MetricWrapper(kName, std::move(metric)), options_(std::move(options)) {
  options_.validate(kName);
  set_state(this->metric().make_state());
}

void ClasswiseWrapper::observe_into(AnyState& fresh, Inputs inputs,
                                    const BatchOrigin& origin) const {
  metric().observe_into(fresh, inputs, origin);
}

void ClasswiseWrapper::evaluate_into(const AnyState& state,
                                     const std::string& name,
                                     Results& results) const {
  const Results all = results_of(state);
  TORCH_CHECK_VALUE(all.size() == 1 && all.value().dim() > 0, kName,
                    ": expected one value for each class of ", metric().repr(),
                    "; its average should be none");
  const at::Tensor& values = all.value();
  const auto count = static_cast<std::size_t>(values.size(0));
  const std::string& own = all.begin()->first;
  const auto& labels = options_.labels();
  TORCH_CHECK_VALUE(labels.empty() || labels.size() == count, kName,
                    ": expected a label for each of ", count, " classes, got ",
                    labels.size());
  const bool is_plain = options_.prefix().empty() && options_.postfix().empty();
  const std::string prefix =
      is_plain ? lower(metric().name()) + "_" : options_.prefix();
  const std::vector<std::string> numbers =
      internal::elements_of(all, own, 0, {}).names;
  const Dimensions dimensions = all.dimensions(own);
  const Dimensions rest(dimensions.begin() + 1, dimensions.end());
  Results classes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& label = labels.empty() ? numbers[i] : labels[i];
    classes.add(prefix + label + options_.postfix(),
                values.select(0, static_cast<std::int64_t>(i)), rest);
  }
  add_results(std::move(classes), name, results);
}

}  // namespace tally
