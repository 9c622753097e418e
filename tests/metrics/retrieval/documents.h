#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <vector>

#include "tally/metrics/metric.h"

namespace tally {

inline constexpr double kNotRetrieved =
    -std::numeric_limits<double>::infinity();

/// Documents of one query.
struct Documents {
  std::vector<double> scores;
  std::vector<double> grades;

  at::Tensor preds() const { return at::tensor(scores, at::kDouble); }
  at::Tensor target() const { return at::tensor(grades, at::kDouble); }
  at::Tensor indexes() const {
    return at::zeros({static_cast<std::int64_t>(scores.size())}, at::kLong);
  }
};

/// The value of one query, the metric's result "" or a part of it.
inline double value_of(Metric&& metric, const Documents& documents,
                       const std::vector<std::int64_t>& doc_ids = {}) {
  if (doc_ids.empty()) {
    metric.update(documents.preds(), documents.target(), documents.indexes());
  } else {
    metric.update(documents.preds(), documents.target(), documents.indexes(),
                  at::tensor(doc_ids, at::kLong));
  }
  return metric.compute_results().begin()->second.item<double>();
}

}  // namespace tally
