#include "tally/metrics/segmentation/states/class_overlap.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace internal::segmentation {
namespace {

// So many places are worth another thread.
constexpr std::int64_t kGrain = 65536;

// The mean of what is not NaN.
class Mean {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const {
    return count_ == 0 ? kNaN : sum_ / static_cast<double>(count_);
  }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

// Counts of all classes, [3, classes].
struct Overlaps {
  const std::int64_t* counts;
  std::int64_t classes;
  double absent;

  std::int64_t both(std::int64_t c) const { return counts[c]; }
  std::int64_t target(std::int64_t c) const { return counts[2 * classes + c]; }
  std::int64_t sizes(std::int64_t c) const {
    return counts[classes + c] + target(c);
  }
  bool is_absent(std::int64_t c) const { return sizes(c) == 0; }

  double dice(std::int64_t c) const {
    return is_absent(c) ? absent
                        : 2 * static_cast<double>(both(c)) /
                              static_cast<double>(sizes(c));
  }
  double iou(std::int64_t c) const {
    return is_absent(c) ? absent
                        : static_cast<double>(both(c)) /
                              static_cast<double>(sizes(c) - both(c));
  }
  double of(ClassScore score, std::int64_t c) const {
    return score == ClassScore::kDice ? dice(c) : iou(c);
  }
  double mean(ClassScore score) const {
    Mean mean;
    for (std::int64_t c = 0; c < classes; ++c) mean.add(of(score, c));
    return mean.value();
  }
  // A sum over classes; `term` is not called for absent ones.
  template <class Term>
  double sum(const Term& term) const {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      if (!is_absent(c)) sum += term(c);
    }
    return sum;
  }
  bool all_absent() const {
    for (std::int64_t c = 0; c < classes; ++c) {
      if (!is_absent(c)) return false;
    }
    return true;
  }
  double weighted() const {
    const double all =
        sum([&](auto c) { return static_cast<double>(target(c)); });
    if (all == 0) return 0;
    return sum([&](auto c) {
      return dice(c) * (static_cast<double>(target(c)) / all);
    });
  }
  // Classes that are not in the target weigh as much as the smallest that is.
  double generalized(int power) const {
    std::int64_t least = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      if (target(c) > 0 && (least == 0 || target(c) < least)) least = target(c);
    }
    if (least == 0) return 0;
    const auto weight = [&](std::int64_t c) {
      const double size =
          static_cast<double>(target(c) > 0 ? target(c) : least);
      // Relative to the largest weight, which is then 1.
      return std::pow(static_cast<double>(least) / size, power);
    };
    return sum([&](auto c) {
             return 2 * weight(c) * static_cast<double>(both(c));
           }) /
           sum([&](auto c) {
             return weight(c) * static_cast<double>(sizes(c));
           });
  }
  double of(OverlapScore score) const {
    if (all_absent()) return absent;
    switch (score) {
      case OverlapScore::kMacroDice:
        return mean(ClassScore::kDice);
      case OverlapScore::kMicroDice:
        return generalized(0);
      case OverlapScore::kWeightedDice:
        return weighted();
      case OverlapScore::kMeanIoU:
        return mean(ClassScore::kIoU);
      case OverlapScore::kSquareDice:
        return generalized(2);
      case OverlapScore::kSimpleDice:
        return generalized(1);
    }
    return kNaN;
  }
};

std::int64_t places(std::int64_t classes) {
  return 2 * classes + kOverlapScores;
}
// Where a score stands.
std::int64_t place(ClassScore score, std::int64_t classes) {
  return score == ClassScore::kDice ? 0 : classes;
}
std::int64_t place(OverlapScore score, std::int64_t classes) {
  return 2 * classes + static_cast<std::int64_t>(score);
}

// All scores of a sample.
void score_sample(const Overlaps& overlaps, double* scores) {
  for (std::int64_t c = 0; c < overlaps.classes; ++c) {
    *scores++ = overlaps.dice(c);
  }
  for (std::int64_t c = 0; c < overlaps.classes; ++c) {
    *scores++ = overlaps.iou(c);
  }
  for (std::int64_t i = 0; i < kOverlapScores; ++i) {
    *scores++ = overlaps.of(static_cast<OverlapScore>(i));
  }
}

// The scores at some places, or of all samples as one.
template <class Global>
SegmentationScore scores_at(const ClassOverlapState& state,
                            AggregationLevel level, std::int64_t begin,
                            at::IntArrayRef sizes, const Global& global) {
  SegmentationScore result{fresh_tensor(sizes, at::kDouble),
                           fresh_zeros(sizes, at::kLong)};
  auto* const values = result.value.mutable_data_ptr<double>();
  auto* const cases = result.cases.mutable_data_ptr<std::int64_t>();
  const std::int64_t count = result.value.numel();
  if (state.samples == 0) {
    std::fill_n(values, count, kNaN);
    return result;
  }
  const at::Tensor sums = state.sums.to(at::kCPU);
  const at::Tensor numbers = state.cases.to(at::kCPU);
  for (std::int64_t i = 0; i < count; ++i) {
    const double sum = sums.const_data_ptr<double>()[begin + i];
    cases[i] = numbers.const_data_ptr<std::int64_t>()[begin + i];
    values[i] = level == AggregationLevel::kGlobal
                    ? global(i)
                    : sum / static_cast<double>(cases[i]);
    if (state.nan_samples > 0) values[i] = kNaN;
  }
  return result;
}

}  // namespace

SegmentationScore overlap_score(const ClassOverlapState& state,
                                AggregationLevel level, AbsentClass absent,
                                OverlapScore score) {
  const at::Tensor counts =
      state.counts.defined() ? state.counts.to(at::kCPU) : state.counts;
  const std::int64_t classes = counts.defined() ? counts.size(1) : 0;
  return scores_at(state, level, place(score, classes), {}, [&](std::int64_t) {
    return Overlaps{counts.const_data_ptr<std::int64_t>(), classes,
                    value_of(absent)}
        .of(score);
  });
}

SegmentationScore class_scores(const ClassOverlapState& state,
                               AggregationLevel level, AbsentClass absent,
                               ClassScore score, std::int64_t classes) {
  const at::Tensor counts =
      state.counts.defined() ? state.counts.to(at::kCPU) : state.counts;
  if (counts.defined()) classes = counts.size(1);
  return scores_at(state, level, place(score, classes), {classes},
                   [&](std::int64_t c) {
                     return Overlaps{counts.const_data_ptr<std::int64_t>(),
                                     classes, value_of(absent)}
                         .of(score, c);
                   });
}

}  // namespace internal::segmentation

ClassOverlap::State ClassOverlap::observe(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  namespace segmentation = internal::segmentation;
  const segmentation::ClassMasks masks(preds, target, format_);
  const std::int64_t classes = masks.classes();
  const std::int64_t samples = masks.samples();
  std::vector<std::int64_t> counts(
      static_cast<std::size_t>(samples * 3 * classes));
  std::int64_t size = classes;
  for (const std::int64_t extent : masks.sizes()) size *= extent;
  at::parallel_for(0, samples,
                   1 + segmentation::kGrain / std::max<std::int64_t>(size, 1),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t n = begin; n < end; ++n) {
                       masks.count(n, counts.data() + n * 3 * classes);
                     }
                   });
  State state;
  state.samples = samples;
  if (format_.nan_policy == NanPolicy::kPropagate) {
    state.nan_samples = masks.nan_samples();
  }
  const std::int64_t places = segmentation::places(classes);
  state.counts = internal::fresh_zeros({3, classes}, at::kLong);
  state.sums = internal::fresh_zeros({places}, at::kDouble);
  state.cases = internal::fresh_zeros({places}, at::kLong);
  auto* const all = state.counts.mutable_data_ptr<std::int64_t>();
  auto* const sums = state.sums.mutable_data_ptr<double>();
  auto* const cases = state.cases.mutable_data_ptr<std::int64_t>();
  std::vector<double> scores(static_cast<std::size_t>(places));
  for (std::int64_t n = 0; n < samples; ++n) {
    const std::int64_t* const of_sample = counts.data() + n * 3 * classes;
    for (std::int64_t i = 0; i < 3 * classes; ++i) all[i] += of_sample[i];
    segmentation::score_sample(
        {of_sample, classes, segmentation::value_of(absent_)}, scores.data());
    for (std::int64_t i = 0; i < places; ++i) {
      if (std::isnan(scores[i])) continue;
      sums[i] += scores[i];
      ++cases[i];
    }
  }
  if (!preds.is_cpu()) {
    for (at::Tensor* const part : {&state.counts, &state.sums, &state.cases}) {
      *part = part->to(preds.device());
    }
  }
  return state;
}

}  // namespace tally
