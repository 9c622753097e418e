#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <utility>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/curve_reader.h"
#include "tally/metrics/classification/inputs/logit_tensors.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/classification/kernels/score_kernels.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {
namespace {

constexpr std::uint8_t kDoesNotCount = 2;
// So many positions are looked at together: their codes stay in the cache.
constexpr std::int64_t kPositionBlock = 2048;
// So many positions are worth a thread.
constexpr std::int64_t kGrain = std::int64_t{1} << 16;

CurveState state_of(const at::Tensor& preds, at::Tensor codes) {
  CurveState state;
  state.unweighted.preds = Rows(preds);
  state.unweighted.target = Rows(std::move(codes));
  return state;
}

bool have_no_zero(const double* weights, std::int64_t count) {
  return at::parallel_reduce(
      0, count, kGrain, true,
      [=](std::int64_t begin, std::int64_t end, bool none) {
        // A branch for each would cost more.
        for (std::int64_t i = begin; i < end; ++i) none &= weights[i] != 0;
        return none;
      },
      [](bool a, bool b) { return a && b; });
}

/// Where every score has a target of its own: binary and multilabel.
class LabelReader : public CurveReader {
 public:
  using CurveReader::CurveReader;
  CurveState observe(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& weight) const;

 private:
  // Weights are undefined, or float64 [N].
  CurveState observe_flat(const at::Tensor& preds, const at::Tensor& target,
                          const at::Tensor& weights) const;
  CurveState observe_tensors(const at::Tensor& preds, const at::Tensor& target,
                             const at::Tensor& weights) const;
  template <class Score, class Label>
  CurveState observe_plain(const at::Tensor& preds, const at::Tensor& target,
                           const Score* scores, const Label* labels) const;
  template <class Score, class Label>
  CurveState observe_weighted(const at::Tensor& preds, const at::Tensor& target,
                              const at::Tensor& weights, const Score* scores,
                              const Label* labels) const;
  CurveState exact_codes(const at::Tensor& preds, const at::Tensor& codes,
                         const at::Tensor& weights, bool all_count) const;
  template <class Label>
  std::uint8_t code(Label label, std::int64_t position) const;
  template <class Score, class Label>
  std::uint8_t code(Score score, Label label, std::int64_t position) const;
  template <class Score, class Label>
  bool write_plain_codes(const Score* scores, const Label* labels,
                         std::int64_t begin, std::int64_t end,
                         std::uint8_t* codes) const;
  template <class Score, class Label>
  std::int64_t write_codes(const Score* scores, const Label* labels,
                           std::int64_t begin, std::int64_t end,
                           std::uint8_t* codes) const;
  template <class Score, class Label>
  std::int64_t write_all_codes(const Score* scores, const Label* labels,
                               std::int64_t size, std::uint8_t* codes) const;
  bool ignores_no_class() const {
    return !ignore_index_ || (*ignore_index_ != 0 && *ignore_index_ != 1);
  }
  template <class Score, class Label, class Sink>
  void fill(const Score* scores, const Label* labels, std::int64_t begin,
            std::int64_t end, const Lookup& lookup, Sink& sink) const;
  template <class Score, class Sink>
  void weigh(const Score* scores, const std::uint8_t* codes,
             const double* weights, std::int64_t begin, std::int64_t end,
             const Lookup& lookup, Sink& sink) const;
};

CurveState LabelReader::observe(const at::Tensor& preds,
                                const at::Tensor& target,
                                const at::Tensor& weight) const {
  check_floating("preds", preds);
  check_target_type(target);
  check_dense("preds", preds);
  check_dense("target", target);
  check_same_shape("preds", preds, "target", target);
  // No curve has a gradient.
  if (preds.requires_grad()) return observe(preds.detach(), target, weight);
  if (is_score_type(target.scalar_type())) {
    return observe(preds, *whole_target(target, validate_args_), weight);
  }
  at::Tensor weights;
  if (shape_.task == CurveShape::Task::kBinary) {
    if (weight.defined()) weights = row_weights(weight, "target", target);
    if (preds.dim() == 1) return observe_flat(preds, target, weights);
    return observe_flat(preds.reshape(-1), target.reshape(-1), weights);
  }
  const std::int64_t labels = shape_.curves;
  TORCH_CHECK_VALUE(preds.dim() >= 2 && preds.size(1) == labels,
                    "expected preds and target [N, ", labels,
                    ", ...], got sizes ", preds.sizes());
  if (weight.defined()) {
    weights = row_weights(weight, "target[:, 0]", target.select(1, 0));
  }
  if (preds.dim() == 2) return observe_flat(preds, target, weights);
  return observe_flat(preds.movedim(1, -1).reshape({-1, labels}),
                      target.movedim(1, -1).reshape({-1, labels}), weights);
}

CurveState LabelReader::observe_flat(const at::Tensor& preds,
                                     const at::Tensor& target,
                                     const at::Tensor& weights) const {
  if (!is_plain(preds) || !is_plain(target)) {
    return observe_tensors(preds, target, weights);
  }
  return visit_labels(target, [&](const auto* labels) {
    const auto observe_scores = [&](const auto* scores) {
      return weights.defined()
                 ? observe_weighted(preds, target, weights, scores, labels)
                 : observe_plain(preds, target, scores, labels);
    };
    switch (preds.scalar_type()) {
      case at::kFloat:
        return observe_scores(preds.const_data_ptr<float>());
      case at::kDouble:
        return observe_scores(preds.const_data_ptr<double>());
      default:
        return observe_tensors(preds, target, weights);
    }
  });
}

template <class Label>
std::uint8_t LabelReader::code(Label label, std::int64_t position) const {
  if (ignore_index_ && label == *ignore_index_) return kDoesNotCount;
  if (label != 0 && label != 1) {
    refuse_label(label, position, 2, ignore_index_);
  }
  return static_cast<std::uint8_t>(label);
}

template <class Score, class Label>
std::uint8_t LabelReader::code(Score score, Label label,
                               std::int64_t position) const {
  const std::uint8_t own = code(label, position);
  if (own == kDoesNotCount || takes_score(score, position)) return own;
  return kDoesNotCount;
}

// Whether all positions count as they are; else the codes mean nothing.
template <class Score, class Label>
bool LabelReader::write_plain_codes(const Score* scores, const Label* labels,
                                    std::int64_t begin, std::int64_t end,
                                    std::uint8_t* codes) const {
  return nan_policy_ == NanPolicy::kPropagate && ignores_no_class() &&
         narrow_labels(labels + begin, end - begin, codes) &&
         (!checks_scores_ || are_probabilities(scores + begin, end - begin));
}

// Returns how many positions do not count.
template <class Score, class Label>
std::int64_t LabelReader::write_codes(const Score* scores, const Label* labels,
                                      std::int64_t begin, std::int64_t end,
                                      std::uint8_t* codes) const {
  if (write_plain_codes(scores, labels, begin, end, codes)) return 0;
  std::int64_t out = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    codes[i - begin] = code(scores[i], labels[i], i);
    out += codes[i - begin] == kDoesNotCount;
  }
  return out;
}

template <class Score, class Label>
std::int64_t LabelReader::write_all_codes(const Score* scores,
                                          const Label* labels,
                                          std::int64_t size,
                                          std::uint8_t* codes) const {
  if (size >= 2 * kGrain) {
    std::atomic<bool> fine{true};
    at::parallel_for(
        0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end && fine; i += kPositionBlock) {
            if (!write_plain_codes(scores, labels, i,
                                   std::min(i + kPositionBlock, end),
                                   codes + i)) {
              fine = false;
            }
          }
        });
    if (fine) return 0;
  }
  return write_codes(scores, labels, 0, size, codes);
}

template <class Score, class Label, class Sink>
void LabelReader::fill(const Score* scores, const Label* labels,
                       std::int64_t first, std::int64_t last,
                       const Lookup& lookup, Sink& sink) const {
  const std::int64_t columns = grid_.size() + 2;
  const bool logits = input_ == ScoreKind::kLogits;
  std::array<std::uint8_t, kPositionBlock> codes;
  std::array<std::uint32_t, kPositionBlock> places;
  std::array<double, kPositionBlock> probabilities;
  std::int64_t curve = 0;
  for (std::int64_t begin = first; begin < last; begin += kPositionBlock) {
    const std::int64_t end = std::min(begin + kPositionBlock, last);
    const std::int64_t size = end - begin;
    const std::int64_t out =
        write_codes(scores, labels, begin, end, codes.data());
    if (logits) sigmoids(scores + begin, size, probabilities.data());
    if (out == 0 && (logits ? lookup.places(probabilities.data(), codes.data(),
                                            size, places.data())
                            : lookup.places(scores + begin, codes.data(), size,
                                            places.data()))) {
      sink.add(places.data(), size, curve);
      curve = (curve + size) % shape_.curves;
      continue;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint8_t label = codes[i - begin];
      if (label != kDoesNotCount) {
        const double score = logits ? probabilities[i - begin] : scores[i];
        sink.add_one(curve, label * columns + bucket(score, i));
      }
      if (++curve == shape_.curves) curve = 0;
    }
  }
}

template <class Score, class Label>
CurveState LabelReader::observe_plain(const at::Tensor& preds,
                                      const at::Tensor& target,
                                      const Score* scores,
                                      const Label* labels) const {
  const std::int64_t size = preds.numel();
  if (grid_.size() > 0) {
    const std::int64_t curves = shape_.curves;
    return count_rows(size / curves, [&](std::int64_t begin, std::int64_t end,
                                         const Lookup& lookup, auto& sink) {
      fill(scores, labels, begin * curves, end * curves, lookup, sink);
    });
  }
  at::Tensor codes = fresh_tensor(target.sizes(), at::kByte);
  auto* const data = codes.mutable_data_ptr<std::uint8_t>();
  const std::int64_t out = write_all_codes(scores, labels, size, data);
  if (out == 0) return state_of(preds, std::move(codes));
  return exact_codes(preds, codes, {}, /*all_count=*/false);
}

CurveState LabelReader::exact_codes(const at::Tensor& preds,
                                    const at::Tensor& codes,
                                    const at::Tensor& weights,
                                    bool all_count) const {
  // Of several labels one that counts keeps the row.
  const bool all_rows =
      all_count || shape_.task == CurveShape::Task::kMultilabel;
  return exact_rows(
      preds, codes, weights,
      all_rows ? at::Tensor() : codes.ne(kDoesNotCount).nonzero().select(1, 0));
}

template <class Score, class Sink>
void LabelReader::weigh(const Score* scores, const std::uint8_t* codes,
                        const double* weights, std::int64_t first,
                        std::int64_t last, const Lookup& lookup,
                        Sink& sink) const {
  const std::int64_t columns = grid_.size() + 2;
  const std::int64_t curves = shape_.curves;
  const bool logits = input_ == ScoreKind::kLogits;
  std::array<std::uint32_t, kPositionBlock> places;
  std::array<double, kPositionBlock> probabilities;
  std::int64_t row = first / curves;
  std::int64_t curve = 0;
  for (std::int64_t begin = first; begin < last; begin += kPositionBlock) {
    const std::int64_t size = std::min(kPositionBlock, last - begin);
    if (logits) sigmoids(scores + begin, size, probabilities.data());
    const bool inside =
        logits
            ? lookup.places(probabilities.data(), codes + begin, size,
                            places.data())
            : lookup.places(scores + begin, codes + begin, size, places.data());
    for (std::int64_t i = begin; i < begin + size; ++i) {
      if (codes[i] != kDoesNotCount) {
        const double score = logits ? probabilities[i - begin] : scores[i];
        sink.add(
            curve,
            inside ? places[i - begin] : codes[i] * columns + bucket(score, i),
            weights[row]);
      }
      if (++curve == curves) {
        curve = 0;
        ++row;
      }
    }
  }
}

template <class Score, class Label>
CurveState LabelReader::observe_weighted(const at::Tensor& preds,
                                         const at::Tensor& target,
                                         const at::Tensor& weights,
                                         const Score* scores,
                                         const Label* labels) const {
  const std::int64_t curves = shape_.curves;
  const std::int64_t rows = weights.size(0);
  const auto* const weight = weights.const_data_ptr<double>();
  const at::Tensor codes = fresh_tensor(target.sizes(), at::kByte);
  auto* const data = codes.mutable_data_ptr<std::uint8_t>();
  bool all_count = nan_policy_ == NanPolicy::kPropagate &&
                   have_no_zero(weight, rows) &&
                   write_all_codes(scores, labels, rows * curves, data) == 0;
  if (!all_count) {
    all_count = true;
    std::int64_t i = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t curve = 0; curve < curves; ++curve, ++i) {
        data[i] = code(labels[i], i);
        if (data[i] != kDoesNotCount &&
            !(takes_weight(weight[row], row) && takes_score(scores[i], i))) {
          data[i] = kDoesNotCount;
        }
        all_count &= data[i] != kDoesNotCount;
      }
    }
  }
  if (grid_.size() > 0) {
    return weigh_rows(rows, [&](std::int64_t begin, std::int64_t end,
                                const Lookup& lookup, auto& sink) {
      weigh(scores, data, weight, begin * curves, end * curves, lookup, sink);
    });
  }
  return exact_codes(preds, codes, weights, all_count);
}

CurveState LabelReader::observe_tensors(const at::Tensor& preds,
                                        const at::Tensor& target,
                                        const at::Tensor& weights) const {
  if (validate_args_) check_labels(target, 2, ignore_index_);
  const at::Tensor kept =
      kept_positions(target, weights, [&] { return preds.isnan(); });
  const at::Tensor positive = target.eq(1);
  if (grid_.size() > 0) {
    const at::Tensor scores =
        input_ == ScoreKind::kLogits ? sigmoids(preds) : preds.to(at::kDouble);
    const auto matrix = [&](const at::Tensor& flat) {
      return flat.defined() ? flat.reshape({-1, shape_.curves}) : flat;
    };
    return histogram_of(matrix(scores), matrix(positive), matrix(kept), weights,
                        /*per_position=*/1);
  }
  if (checks_scores_) check_range(preds, kept, /*per_position=*/1);
  const bool wide = preds.scalar_type() == at::kDouble;
  const at::Tensor scores = preds.to(wide ? at::kDouble : at::kFloat);
  at::Tensor codes = positive.to(at::kByte);
  if (kept.defined()) codes.masked_fill_(kept.logical_not(), kDoesNotCount);
  return exact_codes(scores, codes, weights, !kept.defined());
}

}  // namespace

CurveState observe_labels(const CurveRules& rules, const at::Tensor& preds,
                          const at::Tensor& target, const at::Tensor& weight) {
  return LabelReader(rules).observe(preds, target, weight);
}

}  // namespace tally::internal::classification
