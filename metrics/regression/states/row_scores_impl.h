#pragma once

#include <c10/util/Exception.h>

#include <optional>
#include <string>

#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/regression/inputs/output_checks.h"
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
        return rows.are_plain() ? internal::regression::plain_row_scores(
                                      score_, rows, keep_scores_, validate_)
                                : internal::regression::tensor_row_scores(
                                      score_, rows, keep_scores_, validate_);
      });
}

}  // namespace tally
