#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>

/// The samples of a binary problem in the order of their scores, from which
/// ROC and precision-recall curves are read. Three forms have the same face:
///
///     counts.positives(), counts.negatives()
///     counts.for_each([](std::int64_t positives, std::int64_t negatives) {});
///
/// for_each goes through the distinct scores, highest first, and says how many
/// samples of either class have each.
namespace tally::internal {

/// An unsigned number with the order of the floating-point one. Both zeros
/// become the same. REQUIRES: score is not NaN.
inline std::uint32_t ordered(float score) {
  score += 0.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  return bits ^ (bits >> 31 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}
inline std::uint64_t ordered(double score) {
  score += 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  return bits ^ (bits >> 63 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}

/// Sorts in ascending order; `spare` has room for as many. Instantiated for
/// std::uint32_t and std::uint64_t.
template <class Key>
void sort_keys(Key* keys, std::int64_t count, Key* spare);

/// Scores on the CPU, sorted here.
template <class Key>
class RankedScores {
 public:
  /// `score(i)` and `is_positive(i)` for each i below `count`. Empty if a score
  /// is NaN.
  template <class Score, class IsPositive>
  static std::optional<RankedScores> of(std::int64_t count, Score score,
                                        IsPositive is_positive) {
    RankedScores ranked(count);
    // Negatives fill the keys from the front, positives from the back; each is
    // written to both ends, where a later one replaces the wrong copy.
    std::int64_t front = 0;
    std::int64_t back = count - 1;
    bool nan = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = score(i);
      nan |= value != value;
      const Key key = ordered(value);
      ranked.keys_[front] = key;
      ranked.keys_[back] = key;
      const bool positive = is_positive(i);
      front += !positive;
      back -= positive;
    }
    if (nan) return std::nullopt;
    ranked.sort(front);
    return ranked;
  }

  std::int64_t negatives() const { return negatives_; }
  std::int64_t positives() const { return count_ - negatives_; }

  template <class Visit>
  void for_each(Visit visit) const {
    const Key* const keys = keys_.get();
    std::int64_t n = negatives_ - 1;
    std::int64_t p = count_ - 1;
    while (n >= 0 || p >= negatives_) {
      const Key key =
          p < negatives_ || (n >= 0 && keys[n] > keys[p]) ? keys[n] : keys[p];
      const std::int64_t last_n = n;
      const std::int64_t last_p = p;
      while (n >= 0 && keys[n] == key) --n;
      while (p >= negatives_ && keys[p] == key) --p;
      visit(last_p - p, last_n - n);
    }
  }

 private:
  explicit RankedScores(std::int64_t count)
      : keys_(new Key[count]), count_(count) {}

  void sort(std::int64_t negatives) {
    negatives_ = negatives;
    const std::unique_ptr<Key[]> spare(
        new Key[std::max(negatives, count_ - negatives)]);
    sort_keys(keys_.get(), negatives, spare.get());
    sort_keys(keys_.get() + negatives, count_ - negatives, spare.get());
  }

  std::unique_ptr<Key[]> keys_;  // negatives, then positives, both ascending
  std::int64_t count_ = 0;
  std::int64_t negatives_ = 0;
};

/// Scores of any dtype on any device, sorted there.
class DeviceRankedScores {
 public:
  /// `positive` is of dtype bool. Empty if a score is NaN.
  static std::optional<DeviceRankedScores> of(const at::Tensor& scores,
                                              const at::Tensor& positive);

  std::int64_t negatives() const { return codes_.numel() - positives_; }
  std::int64_t positives() const { return positives_; }

  template <class Visit>
  void for_each(Visit visit) const {
    const std::uint8_t* const codes = codes_.const_data_ptr<std::uint8_t>();
    std::int64_t counts[2] = {0, 0};
    for (std::int64_t i = 0; i < codes_.numel(); ++i) {
      ++counts[codes[i] & 1];
      if (codes[i] & 2) {
        visit(counts[1], counts[0]);
        counts[0] = counts[1] = 0;
      }
    }
  }

 private:
  at::Tensor
      codes_;  // by descending score: 1 = positive, 2 = last of its score
  std::int64_t positives_ = 0;
};

/// Scores counted by bucket (see ThresholdGrid).
class BucketedScores {
 public:
  /// `histogram` is [classes, 2, thresholds + 2] on the CPU: for each class,
  /// all samples and the positive ones, by bucket; at the end those whose score
  /// is NaN. Empty if there are any.
  static std::optional<BucketedScores> of(at::Tensor histogram,
                                          std::int64_t class_index);

  std::int64_t negatives() const { return all_ - positives_; }
  std::int64_t positives() const { return positives_; }

  template <class Visit>
  void for_each(Visit visit) const {
    const std::int64_t* const all =
        histogram_.const_data_ptr<std::int64_t>() + offset_;
    const std::int64_t* const positives = all + buckets_ + 1;
    for (std::int64_t i = buckets_; i-- > 0;) {
      if (all[i] != 0) visit(positives[i], all[i] - positives[i]);
    }
  }

 private:
  at::Tensor histogram_;
  std::int64_t offset_ = 0;
  std::int64_t buckets_ = 0;
  std::int64_t all_ = 0;
  std::int64_t positives_ = 0;
};

/// c10::ValueError for a state that no update() makes: one loaded from bytes
/// that somebody changed.
void check_state(bool fits);

/// An int64 tensor of zeros on the CPU, past the dispatcher.
at::Tensor zero_counts(at::IntArrayRef sizes);

using ScoreCounts =
    std::variant<RankedScores<std::uint32_t>, RankedScores<std::uint64_t>,
                 DeviceRankedScores, BucketedScores>;

}  // namespace tally::internal
