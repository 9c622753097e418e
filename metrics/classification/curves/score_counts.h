#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "tally/metrics/classification/curves/run_scores.h"
#include "tally/metrics/classification/curves/weighted_scores.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/common/scratch.h"

/// The samples of a binary problem in the order of their scores, from which
/// ROC and precision-recall curves are read. Five forms have the same
/// interface:
///
///     counts.positives(), counts.negatives()
///     counts.for_each([](double score, std::int64_t positives,
///                        std::int64_t negatives) {});
///
/// for_each iterates over the distinct scores, highest first, with the number
/// of samples of either class. If samples have weights, these are sums of
/// weights, as double.
namespace tally::internal::classification {

/// Scores on the CPU, sorted here. Instantiated for std::uint32_t (of float)
/// and std::uint64_t (of double).
template <class Key>
class RankedScores {
 public:
  using Score = std::conditional_t<sizeof(Key) == 4, float, double>;

  /// No samples.
  RankedScores() = default;
  /// A code is 1 for positives, 0 for negatives, and larger for ignored
  /// samples. Empty if a score is NaN. On several threads if there is much to
  /// do.
  static std::optional<RankedScores> of(const Score* scores,
                                        const std::uint8_t* codes,
                                        std::int64_t count);

  std::int64_t negatives() const { return count_ - positives_; }
  std::int64_t positives() const { return positives_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for_each(0, count_, visit);
  }

  /// Keys of pack_samples(), ascending up to below(), where those of scores
  /// that are not negative begin, and from there on.
  const Key* keys() const { return keys_.data(); }
  std::int64_t count() const { return count_; }
  std::int64_t below() const { return below_; }

  /// #{s_p > s_n} + #{s_p = s_n} / 2 over positives p and negatives n, counted
  /// exactly and rounded once.
  double pairs_in_order() const;
  /// The sum over all positives of the precision at their score.
  double sum_of_precisions() const;

 private:
  // For keys_[begin] to keys_[end - 1], between two distinct scores.
  template <class Visit>
  void for_each(std::int64_t begin, std::int64_t end, Visit visit) const {
    const Key* const keys = keys_.data();
    for (std::int64_t i = end; i-- > begin;) {
      const std::int64_t first = i < below_ ? 0 : below_;
      const Key key = keys[i] >> 1;
      const std::int64_t last = i;
      std::int64_t positives = keys[i] & 1;
      while (i > first && keys[i - 1] >> 1 == key) positives += keys[--i] & 1;
      visit(from_ordered_bits(i < below_ ? key : key | kSign), positives,
            last - i + 1 - positives);
    }
  }
  // `of` without ignored samples.
  static std::optional<RankedScores> of_counted(const Score* scores,
                                                const std::uint8_t* codes,
                                                std::int64_t count);
  std::vector<std::int64_t> cuts() const;

  static constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);

  // See pack_samples; ascending up to below_, and from there on.
  Scratch<Key> keys_;
  std::int64_t count_ = 0;
  std::int64_t positives_ = 0;
  std::int64_t below_ = 0;  // number of negative scores
};

/// Scores of any dtype on any device, sorted there.
class DeviceRankedScores {
 public:
  /// `codes` are as above, of dtype uint8. Empty if a score is NaN.
  static std::optional<DeviceRankedScores> of(const at::Tensor& scores,
                                              const at::Tensor& codes);

  std::int64_t negatives() const { return marks_.numel() - positives_; }
  std::int64_t positives() const { return positives_; }

  template <class Visit>
  void for_each(Visit visit) const {
    const auto* const scores = scores_.const_data_ptr<double>();
    const auto* const marks = marks_.const_data_ptr<std::uint8_t>();
    std::int64_t counts[2] = {0, 0};
    for (std::int64_t i = 0; i < marks_.numel(); ++i) {
      ++counts[marks[i] & 1];
      if (marks[i] & 2) {
        visit(scores[i], counts[1], counts[0]);
        counts[0] = counts[1] = 0;
      }
    }
  }

 private:
  // On the CPU, by descending score.
  at::Tensor scores_;
  at::Tensor marks_;  // 1 = positive, 2 = last of its score
  std::int64_t positives_ = 0;
};

/// Scores counted by bin (see ThresholdGrid), represented by its index.
class BucketedScores {
 public:
  /// `histogram` is [curves, 2, thresholds + 2] on the CPU (see CurveState).
  /// Empty if a score of this curve is NaN.
  static std::optional<BucketedScores> of(at::Tensor histogram,
                                          std::int64_t curve);

  std::int64_t negatives() const { return negatives_; }
  std::int64_t positives() const { return positives_; }

  template <class Visit>
  void for_each(Visit visit) const {
    const std::int64_t* const negatives = counts();
    const std::int64_t* const positives = negatives + buckets_ + 1;
    for (std::int64_t i = buckets_; i-- > 0;) {
      if (negatives[i] + positives[i] != 0) {
        visit(static_cast<double>(i), positives[i], negatives[i]);
      }
    }
  }

 private:
  const std::int64_t* counts() const {
    return histogram_.const_data_ptr<std::int64_t>() + offset_;
  }

  at::Tensor histogram_;
  std::int64_t offset_ = 0;
  std::int64_t buckets_ = 0;
  std::int64_t negatives_ = 0;
  std::int64_t positives_ = 0;
};

using ScoreCounts =
    std::variant<RankedScores<std::uint32_t>, RankedScores<std::uint64_t>,
                 DeviceRankedScores, BucketedScores, WeightedScores, RunScores>;

/// Throws c10::ValueError for a state that no update() can produce: one loaded
/// from manipulated bytes.
void check_state(bool fits);

/// Called with the counts of each curve; none if a score is NaN.
using CountsVisit =
    std::function<void(std::int64_t curve, const std::optional<ScoreCounts>&)>;

}  // namespace tally::internal::classification
