#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/nominal/states/categories.h"
#include "tally/metrics/tables/pair_counts.h"

namespace tally {

/// Counts the pairs of categories of two variables: the observer of all
/// metrics of their association, which share it in a collection if they have
/// the same num_classes and treat missing values alike.
///
/// update(preds, target): whole numbers [N] of any real dtype, any of them, or
/// texts; or scores [N, C], whose category is the place of the largest.
/// State: PairCounts, on the inputs' device; pairs are counted on the CPU.
/// NaN: a missing value, see CategoryOptions::nan_strategy.
/// Errors: c10::ValueError for other shapes, for numbers of rows that differ,
/// for fractions, for categories out of range and texts (if num_classes is
/// set), and for NaN with NanPolicy::kError; c10::TypeError for complex or
/// sparse inputs.
class CategoryPairs {
 public:
  static constexpr const char* kName = "CategoryPairs";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kCategories,
       "categories [N], as texts too, or scores [N, C]"},
      {"target", InputKind::kCategories,
       "categories [N], as texts too, or scores [N, C]"}};
  using State = PairCounts;

  template <class Options>
  CategoryPairs(const Options& options, const MetricOptions& metric_options)
      : rules_(options, metric_options) {
    if (metric_options.validate_args()) num_classes_ = options.num_classes();
  }

  State observe(const Keys& preds, const Keys& target) const;

 private:
  internal::nominal::MissingRules rules_;
  std::optional<std::int64_t> num_classes_;
};

}  // namespace tally
