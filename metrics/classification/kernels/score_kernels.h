#pragma once

#include <cstdint>
#include <vector>

/// The inner loops of exact curves, with the widest vectors of the machine.
namespace tally::internal::classification {

/// Increments at_least[k] by the number of scores >= cuts[k]. Returns whether a
/// score is NaN.
bool count_at_least(const float* scores, std::int64_t size, const float* cuts,
                    std::int64_t cut_count, std::int64_t* at_least);
bool count_at_least(const double* scores, std::int64_t size, const double* cuts,
                    std::int64_t cut_count, std::int64_t* at_least);

struct CodeCounts {
  std::int64_t positives = 0;  // if none is larger than 1
  bool larger = false;
};
CodeCounts count_codes(const std::uint8_t* codes, std::int64_t size);

/// Writes labels as codes. False if one is not 0 or 1.
bool narrow_labels(const std::int64_t* labels, std::int64_t size,
                   std::uint8_t* codes);
bool narrow_labels(const std::uint8_t* labels, std::int64_t size,
                   std::uint8_t* codes);

/// Writes each sample as one number: its score in ascending order, without the
/// bit that distinguishes negative scores (not zeros) from others, then its
/// code, 0 or 1. Samples between ascending cuts k - 1 and k go to next[k],
/// which advances; memory from there up to ends[k] may be overwritten.
/// REQUIRES: no score is NaN; there is enough space.
void pack_samples(const float* scores, const std::uint8_t* codes,
                  std::int64_t size, const float* cuts, std::int64_t cut_count,
                  std::uint32_t** next, std::uint32_t* const* ends);
void pack_samples(const double* scores, const std::uint8_t* codes,
                  std::int64_t size, const double* cuts, std::int64_t cut_count,
                  std::uint64_t** next, std::uint64_t* const* ends);

/// A few scores, for quickly finding the number of them below any other score.
class RankTable {
 public:
  /// `keys` are ordered_bits() scores, ascending.
  RankTable(const std::uint32_t* keys, std::int64_t count);

  /// Whether it is faster than sorting all scores.
  bool is_fast() const { return steps_ <= 6; }

  std::int64_t count() const { return counts_.back(); }
  bool all_distinct() const { return all_distinct_; }
  /// Distinct keys, followed by the largest number.
  const std::uint32_t* keys() const { return keys_.data(); }
  /// Cumulative number of scores over the keys.
  const std::uint32_t* counts() const { return counts_.data(); }
  /// For each range of 2^shift() numbers starting at the first key, the number
  /// of keys below it; each range contains at most steps() keys.
  const std::uint32_t* cells() const { return cells_.data(); }
  int shift() const { return shift_; }
  std::uint32_t last_cell() const {
    return static_cast<std::uint32_t>(cells_.size() - 1);
  }
  std::int64_t steps() const { return steps_; }

 private:
  std::vector<std::uint32_t> keys_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> cells_;
  int shift_ = 0;
  std::int64_t steps_ = 0;
  bool all_distinct_ = true;
};

struct RankSum {
  /// Over all scores, the number of table entries below plus the number not
  /// above.
  std::uint64_t sum = 0;
  bool nan = false;
};
/// REQUIRES: a non-empty table of fewer than 2^15 scores.
RankSum sum_ranks(const float* scores, std::int64_t size,
                  const RankTable& table);

}  // namespace tally::internal::classification
