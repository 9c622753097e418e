#pragma once

#include <algorithm>
#include <cstdint>

#include "tally/metrics/common/key_sort.h"
#include "tally/metrics/common/ordered_bits.h"

namespace tally::internal::classification {

/// Samples as numbers that sort by score, then by index: the score's position
/// in the order, then index and class (0 or 1) in `low_bits` bits. If both do
/// not fit into 64 bits, the score is truncated, and sort() compares the rest
/// where necessary.
template <class Score>
class SampleKeys {
 public:
  /// Bits for `count` samples.
  static int low_bits_for(std::int64_t count) {
    int bits = 1;
    while ((count - 1) >> (bits - 1) > 0) ++bits;
    return bits;
  }

  SampleKeys(const Score* scores, int low_bits)
      : scores_(scores),
        low_bits_(low_bits),
        cut_bits_(std::max(0, kScoreBits + low_bits - 64)) {}

  /// Whether scores are truncated and looked up again.
  bool cuts_scores() const { return cut_bits_ > 0; }

  /// REQUIRES: the score is not NaN.
  std::uint64_t key(std::int64_t i, std::uint8_t code) const {
    const std::uint64_t place = ordered_bits(scores_[i]);
    return place >> cut_bits_ << low_bits_ |
           static_cast<std::uint64_t>(i) << 1 | code;
  }
  std::int64_t index(std::uint64_t key) const {
    return static_cast<std::int64_t>((key & low_mask()) >> 1);
  }
  static int code(std::uint64_t key) { return static_cast<int>(key & 1); }
  double score(std::uint64_t key) const {
    if (cut_bits_ == 0) {
      return from_ordered_bits(static_cast<Place>(key >> low_bits_));
    }
    return from_ordered_bits(ordered_bits(scores_[index(key)]));
  }
  bool have_same_score(std::uint64_t a, std::uint64_t b) const {
    return a >> low_bits_ == b >> low_bits_ &&
           (cut_bits_ == 0 || scores_[index(a)] == scores_[index(b)]);
  }

  void sort(std::uint64_t* keys, std::int64_t count) const {
    sort_keys(keys, count);
    if (cut_bits_ > 0) sort_rest(keys, count, cut_bits_);
  }

 private:
  using Place = OrderedBits<Score>;
  static constexpr int kScoreBits = 8 * sizeof(Place);

  std::uint64_t low_mask() const { return (std::uint64_t{1} << low_bits_) - 1; }

  // For keys that are sorted except for the last `bits` bits of scores.
  void sort_rest(std::uint64_t* keys, std::int64_t count, int bits) const {
    for (std::int64_t begin = 0; begin < count;) {
      const std::uint64_t high = keys[begin] & ~low_mask();
      std::int64_t end = begin + 1;
      bool differ = false;
      for (; end < count && (keys[end] & ~low_mask()) == high; ++end) {
        differ |= !have_same_score(keys[begin], keys[end]);
      }
      if (differ) sort_run(keys + begin, end - begin, bits);
      begin = end;
    }
  }
  // For keys with equal high bits.
  void sort_run(std::uint64_t* keys, std::int64_t count, int bits) const {
    const int next = std::min(bits, 64 - low_bits_);
    const std::uint64_t high = keys[0] & ~low_mask();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t place = ordered_bits(scores_[index(keys[i])]);
      const std::uint64_t rest =
          place >> (bits - next) & ((std::uint64_t{1} << next) - 1);
      keys[i] = rest << low_bits_ | (keys[i] & low_mask());
    }
    sort_keys(keys, count);
    if (bits > next) sort_rest(keys, count, bits - next);
    for (std::int64_t i = 0; i < count; ++i) {
      keys[i] = high | (keys[i] & low_mask());
    }
  }

  const Score* scores_;
  int low_bits_;
  int cut_bits_;  // of the score
};

}  // namespace tally::internal::classification
