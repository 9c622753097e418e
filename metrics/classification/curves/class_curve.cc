#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <c10/macros/Macros.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/curve_reader.h"
#include "tally/metrics/classification/inputs/logit_tensors.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {
namespace {

// So many scores are looked at together: their places stay in the cache.
constexpr std::int64_t kScoreBlock = 2048;

template <class Score>
bool all_probabilities(const Score* scores, std::int64_t size) {
  // So many scores are worth a thread.
  constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  if (size < 2 * kGrain) return are_probabilities(scores, size);
  std::atomic<bool> fine{true};
  at::parallel_for(0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end && fine; i += kGrain) {
      if (!are_probabilities(scores + i, std::min(kGrain, end - i))) {
        fine = false;
      }
    }
  });
  return fine;
}

/// Where a row of scores has one target: multiclass.
class ClassReader : public CurveReader {
 public:
  using CurveReader::CurveReader;
  CurveState observe(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& weight) const;

 private:
  // Weights are undefined, or float64 [N].
  CurveState observe_rows(const at::Tensor& rows, const at::Tensor& target,
                          const at::Tensor& weights) const;
  CurveState observe_tensors(const at::Tensor& rows, const at::Tensor& target,
                             const at::Tensor& weights) const;
  template <class Score, class Label>
  CurveState observe_plain(const at::Tensor& rows, const at::Tensor& target,
                           const Score* scores, const Label* labels) const;
  template <class Score, class Label>
  CurveState observe_weighted(const at::Tensor& rows, const at::Tensor& weights,
                              const Score* scores, const Label* labels) const;
  template <class Score, class Label>
  bool takes(const Score* row, Label label, std::int64_t position) const;
  template <class Score, class Label>
  bool takes_checked(const Score* row, Label label,
                     std::int64_t position) const;
  template <class Label>
  bool is_class(Label label, std::int64_t position) const;
  template <class Score>
  bool takes_row(const Score* row, std::int64_t position) const;
  // Within its caller its loops would lack registers.
  template <class Score, class Label, class Sink>
  C10_NOINLINE void fill(const Score* scores, const Label* labels,
                         std::int64_t begin, std::int64_t end,
                         const Lookup& lookup, Sink& sink) const;
  template <class Score, class Sink>
  void weigh(const Score* scores, const std::int64_t* classes,
             const double* weights, std::int64_t begin, std::int64_t end,
             const Lookup& lookup, Sink& sink) const;
};

CurveState ClassReader::observe(const at::Tensor& preds,
                                const at::Tensor& target,
                                const at::Tensor& weight) const {
  check_class_scores(preds, target, shape_.curves);
  check_dense("preds", preds);
  check_dense("target", target);
  // No curve has a gradient.
  if (preds.requires_grad()) return observe(preds.detach(), target, weight);
  if (is_score_type(target.scalar_type())) {
    return observe(preds, *whole_target(target, validate_args_), weight);
  }
  at::Tensor weights;
  if (weight.defined()) weights = row_weights(weight, "target", target);
  if (preds.dim() == 2) return observe_rows(preds, target, weights);
  return observe_rows(preds.movedim(1, -1).reshape({-1, shape_.curves}),
                      target.reshape(-1), weights);
}

CurveState ClassReader::observe_rows(const at::Tensor& rows,
                                     const at::Tensor& target,
                                     const at::Tensor& weights) const {
  if (!is_plain(rows) || !is_plain(target)) {
    return observe_tensors(rows, target, weights);
  }
  return visit_labels(target, [&](const auto* labels) {
    const auto observe_scores = [&](const auto* scores) {
      return weights.defined() ? observe_weighted(rows, weights, scores, labels)
                               : observe_plain(rows, target, scores, labels);
    };
    switch (rows.scalar_type()) {
      case at::kFloat:
        return observe_scores(rows.const_data_ptr<float>());
      case at::kDouble:
        return observe_scores(rows.const_data_ptr<double>());
      default:
        return observe_tensors(rows, target, weights);
    }
  });
}

template <class Label>
bool ClassReader::is_class(Label label, std::int64_t position) const {
  if (ignore_index_ && label == *ignore_index_) return false;
  if (static_cast<std::uint64_t>(label) >=
      static_cast<std::uint64_t>(shape_.curves)) {
    refuse_label(label, position, shape_.curves, ignore_index_);
  }
  return true;
}

template <class Score>
bool ClassReader::takes_row(const Score* row, std::int64_t position) const {
  if (nan_policy_ == NanPolicy::kPropagate) return true;
  const Score* const end = row + shape_.curves;
  bool defined =
      std::none_of(row, end, [](Score score) { return std::isnan(score); });
  if (input_ == ScoreKind::kLogits) {
    defined = defined && std::isfinite(*std::max_element(row, end));
  }
  return defined || takes_nan("preds", position);
}

template <class Score, class Label>
bool ClassReader::takes(const Score* row, Label label,
                        std::int64_t position) const {
  return is_class(label, position) && takes_row(row, position);
}

// The same of a row that has to be looked at.
template <class Score, class Label>
bool ClassReader::takes_checked(const Score* row, Label label,
                                std::int64_t position) const {
  if (!is_class(label, position)) return false;
  for (std::int64_t c = 0; checks_scores_ && c < shape_.curves; ++c) {
    check_score(row[c], position);
  }
  return takes_row(row, position);
}

template <class Score, class Label, class Sink>
void ClassReader::fill(const Score* scores, const Label* labels,
                       std::int64_t first, std::int64_t last,
                       const Lookup& lookup, Sink& sink) const {
  const std::int64_t classes = shape_.curves;
  const std::int64_t step = std::max<std::int64_t>(kScoreBlock / classes, 1);
  const bool logits = input_ == ScoreKind::kLogits;
  std::vector<std::uint32_t> places(step * classes);
  std::vector<double> probabilities(logits ? step * classes : 0);
  for (std::int64_t begin = first; begin < last; begin += step) {
    const std::int64_t rows = std::min(step, last - begin);
    const Score* const block = scores + begin * classes;
    if (logits) softmaxes(block, rows, classes, probabilities.data());
    const bool inside =
        logits ? lookup.places(probabilities.data(), nullptr, rows * classes,
                               places.data())
               : lookup.places(block, nullptr, rows * classes, places.data());
    for (std::int64_t i = 0; i < rows; ++i) {
      const Label label = labels[begin + i];
      if (!takes(block + i * classes, label, begin + i)) continue;
      std::uint32_t* const own = places.data() + i * classes;
      if (!inside) {
        for (std::int64_t c = 0; c < classes; ++c) {
          const std::int64_t at = i * classes + c;
          own[c] = static_cast<std::uint32_t>(
              bucket(logits ? probabilities[at] : block[at], begin + i));
        }
      }
      sink.add(own, classes, 0);
      sink.make_positive(label, own[label]);
    }
  }
}

template <class Score, class Label>
CurveState ClassReader::observe_plain(const at::Tensor& rows,
                                      const at::Tensor& target,
                                      const Score* scores,
                                      const Label* labels) const {
  const std::int64_t size = rows.size(0);
  if (grid_.size() > 0) {
    return count_rows(size, [&](std::int64_t begin, std::int64_t end,
                                const Lookup& lookup, auto& sink) {
      fill(scores, labels, begin, end, lookup, sink);
    });
  }
  std::int64_t kept = 0;
  if (checks_scores_ && !all_probabilities(scores, rows.numel())) {
    for (std::int64_t i = 0; i < size; ++i) {
      kept += takes_checked(scores + i * shape_.curves, labels[i], i);
    }
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      kept += takes(scores + i * shape_.curves, labels[i], i);
    }
  }
  at::Tensor positions;
  if (kept < size) {
    positions = fresh_tensor({kept}, at::kLong);
    auto* next = positions.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < size; ++i) {
      if (takes(scores + i * shape_.curves, labels[i], i)) *next++ = i;
    }
  }
  return exact_rows(rows, target.to(at::kLong), {}, positions);
}

template <class Score, class Sink>
void ClassReader::weigh(const Score* scores, const std::int64_t* own_classes,
                        const double* weights, std::int64_t first,
                        std::int64_t last, const Lookup& lookup,
                        Sink& sink) const {
  const std::int64_t classes = shape_.curves;
  const std::int64_t columns = grid_.size() + 2;
  const bool logits = input_ == ScoreKind::kLogits;
  std::vector<std::uint32_t> places(classes);
  std::vector<double> probabilities(logits ? classes : 0);
  for (std::int64_t i = first; i < last; ++i) {
    if (own_classes[i] < 0) continue;
    const Score* const row = scores + i * classes;
    if (logits) softmaxes(row, 1, classes, probabilities.data());
    const bool inside =
        logits ? lookup.places(probabilities.data(), nullptr, classes,
                               places.data())
               : lookup.places(row, nullptr, classes, places.data());
    for (std::int64_t c = 0; c < classes; ++c) {
      const std::int64_t place =
          inside ? places[c] : bucket(logits ? probabilities[c] : row[c], i);
      sink.add(c, place + (c == own_classes[i] ? columns : 0), weights[i]);
    }
  }
}

template <class Score, class Label>
CurveState ClassReader::observe_weighted(const at::Tensor& rows,
                                         const at::Tensor& weights,
                                         const Score* scores,
                                         const Label* labels) const {
  const std::int64_t size = rows.size(0);
  const auto* const weight = weights.const_data_ptr<double>();
  const at::Tensor classes = fresh_tensor({size}, at::kLong);
  auto* const own = classes.mutable_data_ptr<std::int64_t>();
  bool all_count = true;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool takes = is_class(labels[i], i) && takes_weight(weight[i], i) &&
                       takes_checked(scores + i * shape_.curves, labels[i], i);
    own[i] = takes ? static_cast<std::int64_t>(labels[i]) : -1;
    all_count &= takes;
  }
  if (grid_.size() > 0) {
    return weigh_rows(size, [&](std::int64_t begin, std::int64_t end,
                                const Lookup& lookup, auto& sink) {
      weigh(scores, own, weight, begin, end, lookup, sink);
    });
  }
  return exact_rows(
      rows, classes, weights,
      all_count ? at::Tensor() : classes.ge(0).nonzero().select(1, 0));
}

CurveState ClassReader::observe_tensors(const at::Tensor& rows,
                                        const at::Tensor& target,
                                        const at::Tensor& weights) const {
  if (validate_args_) check_labels(target, shape_.curves, ignore_index_);
  const at::Tensor kept = kept_positions(target, weights, [&] {
    return input_ == ScoreKind::kLogits ? rows.amax(1).isfinite().logical_not_()
                                        : rows.isnan().any(1);
  });
  if (grid_.size() > 0) {
    const at::Tensor scores =
        input_ == ScoreKind::kLogits ? softmaxes(rows) : rows.to(at::kDouble);
    const at::Tensor classes =
        at::arange(shape_.curves, target.options().dtype(at::kLong));
    return histogram_of(scores, target.unsqueeze(1).eq(classes),
                        kept.defined() ? kept.unsqueeze(1) : kept, weights,
                        /*per_position=*/shape_.curves);
  }
  if (checks_scores_) {
    check_range(rows, kept.defined() ? kept.unsqueeze(1) : kept,
                /*per_position=*/shape_.curves);
  }
  const bool wide = rows.scalar_type() == at::kDouble;
  const at::Tensor scores = rows.to(wide ? at::kDouble : at::kFloat);
  const at::Tensor labels = target.to(at::kLong);
  return exact_rows(scores, labels, weights,
                    kept.defined() ? kept.nonzero().select(1, 0) : kept);
}

}  // namespace

CurveState observe_classes(const CurveRules& rules, const at::Tensor& preds,
                           const at::Tensor& target, const at::Tensor& weight) {
  return ClassReader(rules).observe(preds, target, weight);
}

}  // namespace tally::internal::classification
