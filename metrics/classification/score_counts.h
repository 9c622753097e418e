#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

/// The samples of a binary problem in the order of their scores, from which
/// ROC and precision-recall curves are read. Three forms have the same face:
///
///     counts.positives(), counts.negatives()
///     counts.for_each([](double score, std::int64_t positives,
///                        std::int64_t negatives) {});
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
/// The score that has this place in the order.
inline double unordered(std::uint32_t key) {
  const std::uint32_t bits =
      key ^ (key >> 31 ? std::uint32_t{1} << 31 : ~std::uint32_t{0});
  float score;
  std::memcpy(&score, &bits, sizeof(bits));
  return score;
}
inline double unordered(std::uint64_t key) {
  const std::uint64_t bits =
      key ^ (key >> 63 ? std::uint64_t{1} << 63 : ~std::uint64_t{0});
  double score;
  std::memcpy(&score, &bits, sizeof(bits));
  return score;
}

/// Sorts in ascending order; `spare` has room for as many. Instantiated for
/// std::uint32_t and std::uint64_t.
template <class Key>
void sort_keys(Key* keys, std::int64_t count, Key* spare);

/// Scores on the CPU, sorted here.
template <class Key>
class RankedScores {
 public:
  /// No samples.
  RankedScores() = default;
  /// `score(i)` and `code(i)` for each i below `count`; a code is 1 for
  /// positives, 0 for negatives, and 2 for what does not count. Empty if a
  /// score is NaN.
  template <class Score, class Code>
  static std::optional<RankedScores> of(std::int64_t count, Score score,
                                        Code code) {
    RankedScores ranked;
    ranked.keys_.reset(new Key[count]);
    // Negatives fill the keys from the front, positives from the back; each is
    // written to both ends, where a later one replaces the wrong copy.
    std::int64_t front = 0;
    std::int64_t back = count - 1;
    bool nan = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = score(i);
      const int kind = code(i);
      nan |= (value != value) & (kind != 2);
      const Key key = ordered(value);
      ranked.keys_[front] = key;
      ranked.keys_[back] = key;
      front += kind == 0;
      back -= kind == 1;
    }
    if (nan) return std::nullopt;
    ranked.sort(front, back + 1, count);
    return ranked;
  }

  std::int64_t negatives() const { return negatives_; }
  std::int64_t positives() const { return end_ - begin_; }

  template <class Visit>
  void for_each(Visit visit) const {
    const Key* const keys = keys_.get();
    std::int64_t n = negatives_ - 1;
    std::int64_t p = end_ - 1;
    while (n >= 0 || p >= begin_) {
      const Key key =
          p < begin_ || (n >= 0 && keys[n] > keys[p]) ? keys[n] : keys[p];
      const std::int64_t last_n = n;
      const std::int64_t last_p = p;
      while (n >= 0 && keys[n] == key) --n;
      while (p >= begin_ && keys[p] == key) --p;
      visit(unordered(key), last_p - p, last_n - n);
    }
  }

 private:
  void sort(std::int64_t negatives, std::int64_t begin, std::int64_t end) {
    negatives_ = negatives;
    begin_ = begin;
    end_ = end;
    const std::unique_ptr<Key[]> spare(
        new Key[std::max(negatives, end - begin)]);
    sort_keys(keys_.get(), negatives, spare.get());
    sort_keys(keys_.get() + begin, end - begin, spare.get());
  }

  std::unique_ptr<Key[]> keys_;  // both parts ascending
  std::int64_t negatives_ = 0;   // the first so many
  std::int64_t begin_ = 0;       // of the positives
  std::int64_t end_ = 0;
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

/// Scores counted by bucket (see ThresholdGrid), whose number stands for them.
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
                 DeviceRankedScores, BucketedScores>;

/// c10::ValueError for a state that no update() makes: one loaded from bytes
/// that somebody changed.
void check_state(bool fits);

/// An int64 tensor of zeros on the CPU, past the dispatcher.
at::Tensor zero_counts(at::IntArrayRef sizes);

}  // namespace tally::internal
