#include "tally/metrics/classification/multilabel_ranking.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"

namespace tally {

namespace classification = internal::classification;

namespace {

at::Tensor rows_of(const at::Tensor& tensor) {
  const at::Tensor rows =
      tensor.dim() == 2 ? tensor
                        : tensor.movedim(1, -1).reshape({-1, tensor.size(1)});
  return rows.cpu().contiguous();
}

void check_weight(const at::Tensor& weight, const at::Tensor& preds) {
  internal::check_real("weight", weight);
  std::vector<std::int64_t> sizes = preds.sizes().vec();
  sizes.erase(sizes.begin() + 1);
  TORCH_CHECK_VALUE(weight.sizes() == at::IntArrayRef(sizes),
                    "expected weight of sizes ", at::IntArrayRef(sizes),
                    ", got ", weight.sizes());
}

}  // namespace

void MultilabelRankingOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(num_labels_ >= 1, metric,
                    ": expected num_labels to be at least 1, got ",
                    num_labels_);
}

// Of one sample: the scores of its positives, ascending, and for each of them
// how many negatives have a higher or equal score, but not as high a one as
// the next positive.
struct MultilabelRanking::Buffers {
  std::vector<double> positives;
  std::vector<double> negatives;
  std::vector<std::int64_t> above;
};

MultilabelRanking::MultilabelRanking(const Options& options,
                                     const MetricOptions& metric_options)
    : num_labels_(options.num_labels()),
      ignore_index_(options.ignore_index()),
      nan_policy_(metric_options.nan_policy()) {}

MultilabelRanking::State MultilabelRanking::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  internal::check_floating("preds", preds);
  classification::check_target_type(target);
  internal::check_same_shape("preds", preds, "target", target);
  TORCH_CHECK_VALUE(preds.dim() >= 2 && preds.size(1) == num_labels_,
                    "expected preds and target [N, ", num_labels_,
                    ", ...], got sizes ", preds.sizes());
  at::Tensor weights;
  if (weight.defined()) {
    check_weight(weight, preds);
    weights = weight.detach().to(at::kCPU, at::kDouble).contiguous();
    const auto* const values = weights.const_data_ptr<double>();
    for (std::int64_t i = 0; i < weights.numel(); ++i) {
      TORCH_CHECK_VALUE(values[i] >= 0 && std::isfinite(values[i]),
                        "expected weight to be finite and not negative, got ",
                        values[i], " at position ", i);
    }
  }
  const double* const sample_weights =
      weights.defined() ? weights.const_data_ptr<double>() : nullptr;
  const at::Tensor scores = rows_of(preds.detach());
  const at::Tensor labels =
      rows_of(*classification::whole_target(target, /*checks=*/true));
  return classification::visit_labels(labels, [&](const auto* label) {
    return scores.scalar_type() == at::kFloat
               ? add_rows(scores.const_data_ptr<float>(), label, sample_weights,
                          scores.size(0))
               : add_rows(scores.to(at::kDouble).const_data_ptr<double>(),
                          label, sample_weights, scores.size(0));
  });
}

// Whether the sample counts.
template <class Score, class Label>
bool MultilabelRanking::split_row(const Score* scores, const Label* labels,
                                  std::int64_t row, Buffers& buffers) const {
  buffers.positives.clear();
  buffers.negatives.clear();
  bool has_nan = false;
  const std::int64_t first = row * num_labels_;
  for (std::int64_t i = first; i < first + num_labels_; ++i) {
    if (ignore_index_ && labels[i] == *ignore_index_) continue;
    if (labels[i] != 0 && labels[i] != 1) {
      classification::refuse_label(labels[i], i, 2, ignore_index_);
    }
    if (std::isnan(scores[i])) {
      if (nan_policy_ == NanPolicy::kError)
        classification::refuse_nan("preds", i);
      has_nan = true;
    }
    (labels[i] == 1 ? buffers.positives : buffers.negatives)
        .push_back(scores[i]);
  }
  if (!has_nan) return true;
  if (nan_policy_ == NanPolicy::kIgnore) return false;
  buffers.positives.assign(1, internal::kNaN);
  return true;
}

template <class Score, class Label>
MultilabelRanking::State MultilabelRanking::add_rows(const Score* scores,
                                                     const Label* labels,
                                                     const double* weights,
                                                     std::int64_t rows) const {
  Buffers buffers;
  auto& [positives, negatives, above] = buffers;
  double coverage = 0;
  double precision = 0;
  double loss = 0;
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!split_row(scores, labels, row, buffers)) continue;
    const double weight = weights == nullptr ? 1 : weights[row];
    total += weight;
    if (positives.empty()) {
      precision += weight;
      continue;
    }
    if (std::isnan(positives.front())) {
      coverage = precision = loss = positives.front();
      continue;
    }
    std::sort(positives.begin(), positives.end());
    above.assign(positives.size(), 0);
    for (const double score : negatives) {
      const auto place =
          std::upper_bound(positives.begin(), positives.end(), score);
      if (place != positives.begin()) ++above[place - positives.begin() - 1];
    }
    const auto count = static_cast<double>(positives.size());
    double wrong = 0;  // negatives at or above the positive
    double pairs = 0;
    double shares = 0;
    std::size_t end = positives.size();
    while (end > 0) {
      // Equal positives share their rank.
      std::size_t begin = end;
      while (begin > 0 && positives[begin - 1] == positives[end - 1]) {
        wrong += static_cast<double>(above[--begin]);
      }
      const auto ties = static_cast<double>(end - begin);
      const auto as_high = count - static_cast<double>(begin);
      shares += ties * (as_high / (as_high + wrong));
      pairs += ties * wrong;
      end = begin;
    }
    coverage += weight * (count + wrong);
    precision += weight * (shares / count);
    if (!negatives.empty()) {
      loss +=
          weight * (pairs / (count * static_cast<double>(negatives.size())));
    }
  }
  return {Number(coverage), Number(precision), Number(loss), Number(total)};
}

at::Tensor MultilabelCoverageError::evaluate(const State& state) const {
  return state.coverage / state.weight;
}

at::Tensor MultilabelRankingAveragePrecision::evaluate(
    const State& state) const {
  return state.precision / state.weight;
}

at::Tensor MultilabelRankingLoss::evaluate(const State& state) const {
  return state.loss / state.weight;
}

template class MetricOf<MultilabelCoverageError, MultilabelRanking, at::Tensor>;
template class MetricOf<MultilabelRankingAveragePrecision, MultilabelRanking,
                        at::Tensor>;
template class MetricOf<MultilabelRankingLoss, MultilabelRanking, at::Tensor>;

}  // namespace tally
