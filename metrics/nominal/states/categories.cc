#include "tally/metrics/nominal/states/categories.h"

#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/tables/label_range.h"
#include "tally/metrics/tables/pair_counts.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::nominal {
namespace {

// Whether static_cast to int64 keeps the value.
bool is_label(double value) {
  return value == std::trunc(value) && value >= -0x1p63 && value < 0x1p63;
}

struct MarkedLabels {
  at::Tensor labels;
  std::vector<std::uint8_t> is_missing;
  bool any_missing = false;

  void miss(std::int64_t i) {
    is_missing[i] = 1;
    any_missing = true;
  }
};

MarkedLabels blank(std::int64_t size) {
  return {fresh_zeros({size}, at::kLong),
          std::vector<std::uint8_t>(static_cast<std::size_t>(size))};
}

MarkedLabels labels_of_numbers(const char* input, const at::Tensor& values) {
  MarkedLabels marked = blank(values.numel());
  if (!at::isFloatingType(values.scalar_type())) {
    marked.labels = values.to(at::kLong);
    return marked;
  }
  const at::Tensor wide = values.to(at::kDouble);
  const auto* const value = wide.const_data_ptr<double>();
  auto* const label = marked.labels.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    if (std::isnan(value[i])) {
      marked.miss(i);
      continue;
    }
    TORCH_CHECK_VALUE(is_label(value[i]),
                      "expected whole numbers as categories in ", input,
                      ", got ", value[i], " at position ", i);
    label[i] = static_cast<std::int64_t>(value[i]);
  }
  return marked;
}

MarkedLabels labels_of_scores(const at::Tensor& scores) {
  const at::Tensor wide = scores.to(at::kDouble);
  MarkedLabels marked = blank(wide.size(0));
  const std::int64_t classes = wide.size(1);
  auto* const label = marked.labels.mutable_data_ptr<std::int64_t>();
  const auto* row = wide.const_data_ptr<double>();
  for (std::int64_t i = 0; i < wide.size(0); ++i, row += classes) {
    if (std::any_of(row, row + classes,
                    [](double score) { return std::isnan(score); })) {
      marked.miss(i);
    } else {
      label[i] = std::max_element(row, row + classes) - row;
    }
  }
  return marked;
}

void check_not_missing_label(const char* input, const at::Tensor& labels) {
  const auto* const begin = labels.const_data_ptr<std::int64_t>();
  const auto* const end = begin + labels.numel();
  TORCH_CHECK_VALUE(std::find(begin, end, kMissing) == end,
                    "expected categories above -2^63 in ", input,
                    ", which stands for missing values, got it");
}

}  // namespace

void check_replace_value(const char* metric, double value) {
  TORCH_CHECK_VALUE(is_label(value), metric,
                    ": expected a whole number as nan_replace_value, got ",
                    value);
}

Categories categories_of(const char* input, const at::Tensor& values,
                         const MissingRules& rules,
                         std::optional<std::int64_t> num_classes) {
  check_real(input, values);
  TORCH_CHECK_VALUE(
      values.dim() == 1 || (values.dim() == 2 && values.size(1) > 0),
      "expected ", input, " of shape [N] or [N, C], got ", values.sizes());
  const at::Tensor plain = values.detach().to(at::kCPU).contiguous();
  MarkedLabels marked = plain.dim() == 1 ? labels_of_numbers(input, plain)
                                         : labels_of_scores(plain);
  TORCH_CHECK_VALUE(!marked.any_missing || rules.policy != NanPolicy::kError,
                    "expected ", input, " without NaN, got some");
  const bool replaces = rules.policy == NanPolicy::kPropagate &&
                        rules.strategy != NominalNanStrategy::kDrop;
  const bool own = replaces && rules.strategy == NominalNanStrategy::kCategory;
  if (own) check_not_missing_label(input, marked.labels);
  const auto put = [&](std::int64_t category) {
    auto* const label = marked.labels.mutable_data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < marked.is_missing.size(); ++i) {
      if (marked.is_missing[i] != 0) label[i] = category;
    }
  };
  if (marked.any_missing && replaces && !own) put(rules.replace_value);
  tables::check_label_range(input, marked.labels, num_classes);
  if (marked.any_missing && own) put(kMissing);
  Categories result{marked.labels, {}};
  if (marked.any_missing && !replaces) {
    result.is_dropped = std::move(marked.is_missing);
  }
  return result;
}

at::Tensor count_categories(const Categories& a, const Categories& b) {
  if (a.is_dropped.empty() && b.is_dropped.empty()) {
    return tables::count_pairs(a.labels, b.labels);
  }
  std::vector<std::int64_t> kept;
  const auto is_kept = [](const Categories& categories, std::size_t i) {
    return categories.is_dropped.empty() || categories.is_dropped[i] == 0;
  };
  const auto size = static_cast<std::size_t>(a.labels.numel());
  for (std::size_t i = 0; i < size; ++i) {
    if (is_kept(a, i) && is_kept(b, i)) {
      kept.push_back(static_cast<std::int64_t>(i));
    }
  }
  const at::Tensor places = at::tensor(kept, at::kLong);
  return tables::count_pairs(a.labels.index_select(0, places),
                             b.labels.index_select(0, places));
}

}  // namespace tally::internal::nominal
