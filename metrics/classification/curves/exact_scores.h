#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/classification/curves/curve_view.h"

namespace tally::internal::classification {

/// The samples of an exact state.
struct ExactScores {
  at::Tensor preds;
  at::Tensor target;
  at::Tensor weights;  // float64, if any batch had some
  CurveShape shape;
  ScoreKind input;

  /// REQUIRES: there are any. Throws c10::ValueError for an invalid state.
  explicit ExactScores(const CurveView& view);
  /// The same of rows without weights.
  ExactScores(const at::Tensor& rows, const at::Tensor& targets,
              const CurveShape& curves, ScoreKind kind)
      : shape(curves), input(kind) {
    set_rows(rows, targets);
  }

  std::int64_t rows() const { return preds.size(0); }
  // Whether targets are codes rather than classes.
  bool has_codes() const { return shape.task != CurveShape::Task::kMulticlass; }
  bool needs_softmax() const {
    return !has_codes() && input == ScoreKind::kLogits;
  }
  bool has_loops() const {
    return preds.is_cpu() && (preds.scalar_type() == at::kFloat ||
                              preds.scalar_type() == at::kDouble);
  }

 private:
  void set_rows(const at::Tensor& rows, const at::Tensor& targets);
};

}  // namespace tally::internal::classification
