#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/nominal/states/category_options.h"

/// Categories of inputs, and what becomes of those that are missing.
namespace tally::internal::nominal {

/// The category of missing values that are one of their own.
constexpr std::int64_t kMissing = std::numeric_limits<std::int64_t>::min();

/// What to do with missing values.
struct MissingRules {
  template <class Options>
  MissingRules(const Options& options, const MetricOptions& metric_options)
      : strategy(options.nan_strategy()),
        replace_value(static_cast<std::int64_t>(options.nan_replace_value())),
        policy(metric_options.nan_policy()) {}

  NominalNanStrategy strategy;
  std::int64_t replace_value;
  NanPolicy policy;
};

/// The categories of a variable.
struct Categories {
  at::Tensor labels;                     // int64 [N], contiguous, on the CPU
  std::vector<std::uint8_t> is_dropped;  // empty: none is
};

/// Of whole numbers [N] of any real dtype, or of scores [N, C], whose category
/// is the place of the largest, the first of equal ones. Missing are a NaN and
/// a row of scores with one. c10::TypeError or c10::ValueError for other shapes
/// and dtypes, for fractions, and for categories that are not below num_classes
/// (if set).
Categories categories_of(const char* input, const at::Tensor& values,
                         const MissingRules& rules,
                         std::optional<std::int64_t> num_classes);

/// The pairs of categories of two variables of which none is dropped, counted
/// as in tables::count_pairs.
at::Tensor count_categories(const Categories& a, const Categories& b);

}  // namespace tally::internal::nominal
