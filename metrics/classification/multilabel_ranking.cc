#include "tally/metrics/classification/multilabel_ranking.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/classification/kernels/score_kernels.h"
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

// Scores of one sample, in memory that is NaN behind them for whole vectors.
template <class Score>
class MultilabelRanking::Scores {
 public:
  explicit Scores(std::int64_t most)
      : memory_(static_cast<std::size_t>(most + kPadding)) {}

  Score* begin() { return memory_.data(); }
  Score* end() { return begin() + size; }
  Score operator[](std::int64_t i) const { return memory_[i]; }

  // Adds to counts[i] how many of these are at least cuts[i].
  void count_above(const Scores& cuts, std::vector<std::int64_t>& counts) {
    counts.assign(static_cast<std::size_t>(cuts.size), 0);
    const std::int64_t whole = (size + kPadding - 1) / kPadding * kPadding;
    std::fill(end(), begin() + whole, std::numeric_limits<Score>::quiet_NaN());
    classification::count_at_least(begin(), whole, cuts.memory_.data(),
                                   cuts.size, counts.data());
  }

  std::int64_t size = 0;

 private:
  static constexpr std::int64_t kPadding = 16;
  std::vector<Score> memory_;
};

// Of one sample: the scores of its positives, and at each of the ranks of these
// from the highest on, which equal ones share, how many there are, and how many
// negatives have a score as high.
template <class Score>
struct MultilabelRanking::Buffers {
  explicit Buffers(std::int64_t most) : positives(most), negatives(most) {}

  Scores<Score> positives;
  Scores<Score> negatives;
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> above;
  std::vector<Place> places;

  void rank();

 private:
  void rank_by_counting();
  void rank_by_sorting();
};

template <class Score>
void MultilabelRanking::Buffers<Score>::rank() {
  // With more, the time that counting takes grows with their square.
  constexpr std::int64_t kMostCounted = 256;
  places.assign(static_cast<std::size_t>(positives.size), {});
  positives.size <= kMostCounted ? rank_by_counting() : rank_by_sorting();
}

template <class Score>
void MultilabelRanking::Buffers<Score>::rank_by_counting() {
  positives.count_above(positives, ranks);
  negatives.count_above(positives, above);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Place& place = places[ranks[i] - 1];
    ++place.ties;
    place.wrong = above[i];
  }
}

template <class Score>
void MultilabelRanking::Buffers<Score>::rank_by_sorting() {
  std::sort(positives.begin(), positives.end(), std::greater<>());
  std::sort(negatives.begin(), negatives.end(), std::greater<>());
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < positives.size; ++i) {
    std::int64_t last = i;
    while (last + 1 < positives.size && positives[last + 1] == positives[i]) {
      ++last;
    }
    while (wrong < negatives.size && negatives[wrong] >= positives[i]) ++wrong;
    places[last] = {last - i + 1, wrong};
    i = last;
  }
}

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
                                  std::int64_t row, Buffers<Score>& buffers,
                                  bool& has_nan) const {
  Score* const positives = buffers.positives.begin();
  Score* const negatives = buffers.negatives.begin();
  std::int64_t positive_count = 0, negative_count = 0;
  has_nan = false;
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
    // To both, without a jump that no processor can predict.
    positives[positive_count] = scores[i];
    negatives[negative_count] = scores[i];
    const auto label = static_cast<std::int64_t>(labels[i]);
    positive_count += label;
    negative_count += 1 - label;
  }
  buffers.positives.size = positive_count;
  buffers.negatives.size = negative_count;
  return !has_nan || nan_policy_ != NanPolicy::kIgnore;
}

template <class Score, class Label>
MultilabelRanking::State MultilabelRanking::add_rows(const Score* scores,
                                                     const Label* labels,
                                                     const double* weights,
                                                     std::int64_t rows) const {
  Buffers<Score> buffers(num_labels_);
  double coverage = 0;
  double precision = 0;
  double loss = 0;
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    bool has_nan;
    if (!split_row(scores, labels, row, buffers, has_nan)) continue;
    const double weight = weights == nullptr ? 1 : weights[row];
    total += weight;
    if (has_nan) {
      coverage = precision = loss = internal::kNaN;
      continue;
    }
    if (buffers.positives.size == 0) {
      precision += weight;
      continue;
    }
    buffers.rank();
    const auto count = static_cast<double>(buffers.positives.size);
    double wrong = 0;  // negatives at or above the positive
    double pairs = 0;
    double shares = 0;
    double as_high = 0;
    for (const Place& place : buffers.places) {
      as_high += 1;
      if (place.ties == 0) continue;
      const auto ties = static_cast<double>(place.ties);
      wrong = static_cast<double>(place.wrong);
      shares += ties * (as_high / (as_high + wrong));
      pairs += ties * wrong;
    }
    coverage += weight * (count + wrong);
    precision += weight * (shares / count);
    if (buffers.negatives.size > 0) {
      loss += weight *
              (pairs / (count * static_cast<double>(buffers.negatives.size)));
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
