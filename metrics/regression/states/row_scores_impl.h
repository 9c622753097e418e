#pragma once

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/common/fused.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/metrics/regression/kernels/row_slopes.h"
#include "tally/metrics/regression/states/row_scores.h"
#include "tally/state/fresh_tensor.h"

/// The loops of RowScores.
namespace tally::internal::regression {

template <class Score>
void check_valid(const Score& score, const Samples& rows) {
  const std::string other = score.invalid(rows.preds, rows.target);
  TORCH_CHECK_VALUE(other.empty(), "expected ", score.domain(), ", got ",
                    other);
}

template <class Score>
RowScoresState plain_row_scores(const Score& score, const Samples& rows,
                                bool keep_scores, bool validate) {
  const std::int64_t count = rows.preds.size(0);
  const std::int64_t size = rows.preds.size(1);
  RowScoresState state;
  state.total = count;
  at::Tensor scores;
  double* kept = nullptr;
  if (keep_scores) {
    scores = fresh_zeros({count}, at::kDouble);
    kept = scores.mutable_data_ptr<double>();
  }
  const double sum = visit_values(
      rows.preds, rows.target, [=, &score](const auto* a, const auto* b) {
        if (const std::optional<RowKind> kernel = score.kernel()) {
          const std::optional<double> fast =
              row_scores(*kernel, a, b, count, size, kept);
          if (fast) return *fast;
        }
        if (validate) check_valid(score, rows);
        double total = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          const double value = score(a + i * size, b + i * size, size);
          if (kept != nullptr) {
            kept[i] = value;
          } else {
            total += value;
          }
        }
        return total;
      });
  if (keep_scores) {
    state.scores = Rows(scores);
  } else {
    state.sum = sum;
  }
  return state;
}

/// The sum of the scores, or all of them.
template <class Score>
class FusedRows final : public Fused {
 public:
  FusedRows(const Score& score, RowKind kernel, at::Tensor value)
      : score_(score), kernel_(kernel), value_(std::move(value)) {}

  // Not value_ itself: the value holds its node, and that this object.
  at::Tensor value(at::TensorList) const override { return value_.detach(); }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool> wanted) const override {
    std::vector<at::Tensor> slopes = fresh_gradients(inputs, wanted);
    const bool holds = inputs[0].scalar_type() == at::kFloat
                           ? write<float>(inputs, gradient, slopes)
                           : write<double>(inputs, gradient, slopes);
    if (!holds) slopes.clear();
    return slopes;
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const at::Tensor scores =
        score_(inputs[0].to(at::kDouble), inputs[1].to(at::kDouble));
    return value_.dim() == 0 ? scores.sum() : scores;
  }

 private:
  template <class T>
  bool write(at::TensorList inputs, const at::Tensor& gradient,
             const std::vector<at::Tensor>& slopes) const {
    const std::int64_t size = inputs[0].size(1);
    const bool one_factor = gradient.dim() == 0;
    const auto* const factors = gradient.const_data_ptr<double>();
    const auto* const a = inputs[0].const_data_ptr<T>();
    const auto* const b = inputs[1].const_data_ptr<T>();
    T* to[2] = {nullptr, nullptr};
    for (std::size_t i = 0; i < 2; ++i) {
      if (slopes[i].defined()) to[i] = slopes[i].mutable_data_ptr<T>();
    }
    const auto from = [size](T* values, std::int64_t row) {
      return values == nullptr ? nullptr : values + row * size;
    };
    std::atomic<bool> holds = true;
    at::parallel_for(
        0, inputs[0].size(0), 1 + kSlopeGrain / size,
        [&](std::int64_t begin, std::int64_t end) {
          if (!row_slopes(kernel_, a + begin * size, b + begin * size,
                          end - begin, size, factors + (one_factor ? 0 : begin),
                          one_factor, from(to[0], begin), from(to[1], begin))) {
            holds = false;
          }
        });
    return holds;
  }

  static constexpr std::int64_t kSlopeGrain = 1 << 14;

  Score score_;
  RowKind kernel_;
  at::Tensor value_;
};

template <class Score>
RowScoresState fused_row_scores(const Score& score, RowKind kernel,
                                const Samples& rows, bool keep_scores,
                                bool validate) {
  const at::Tensor a = rows.preds.detach();
  const at::Tensor b = rows.target.detach();
  RowScoresState state = plain_row_scores(score, Samples{a, b, rows.weight},
                                          keep_scores, validate);
  const at::Tensor value =
      fused(c10::make_intrusive<FusedRows<Score>>(
                score, kernel,
                keep_scores ? state.scores.tensor() : state.sum.tensor()),
            {rows.preds, rows.target});
  if (keep_scores) {
    state.scores = Rows(value);
  } else {
    state.sum = Number(value);
  }
  return state;
}

template <class Score>
RowScoresState tensor_row_scores(const Score& score, const Samples& rows,
                                 bool keep_scores, bool validate) {
  if (validate) check_valid(score, rows);
  RowScoresState state;
  state.total = rows.preds.size(0);
  const at::Tensor scores =
      score(rows.preds.to(at::kDouble), rows.target.to(at::kDouble));
  if (keep_scores) {
    state.scores = Rows(scores);
  } else {
    state.sum = Number(scores.sum());
  }
  return state;
}

template <class Score>
RowScoresState row_scores(const Score& score, const Samples& rows,
                          bool keep_scores, bool validate) {
  if (rows.are_plain()) {
    return plain_row_scores(score, rows, keep_scores, validate);
  }
  const std::optional<RowKind> kernel = score.kernel();
  if (kernel && are_fusible({rows.preds, rows.target})) {
    return fused_row_scores(score, *kernel, rows, keep_scores, validate);
  }
  return tensor_row_scores(score, rows, keep_scores, validate);
}

}  // namespace tally::internal::regression

namespace tally {

template <class Score>
RowScoresState RowScores<Score>::observe(const at::Tensor& a,
                                         const at::Tensor& b) const {
  internal::regression::check_rows(Score::kInputs[0].name, a,
                                   Score::kInputs[1].name, b);
  const at::Tensor no_weight;
  return internal::regression::observe_by_policy(
      {a, b, no_weight}, internal::regression::kWholeRows, nan_policy_,
      [this](const internal::regression::Samples& rows) {
        return internal::regression::row_scores(score_, rows, keep_scores_,
                                                validate_);
      });
}

}  // namespace tally
