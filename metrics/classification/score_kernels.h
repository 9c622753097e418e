#pragma once

#include <cstdint>

/// The inner loops of exact curves, in the widest vectors that the machine has.
namespace tally::internal {

/// at_least[k] grows by the number of scores >= cuts[k]. Returns whether a
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

/// Writes each sample as one number: its score in ascending order, less the
/// bit that tells negative scores (and no zeros) from others, then its code,
/// 0 or 1. Those between ascending cuts k - 1 and k go to next[k], which
/// advances. REQUIRES: no score is NaN.
void pack_samples(const float* scores, const std::uint8_t* codes,
                  std::int64_t size, const float* cuts, std::int64_t cut_count,
                  std::uint32_t** next);
void pack_samples(const double* scores, const std::uint8_t* codes,
                  std::int64_t size, const double* cuts, std::int64_t cut_count,
                  std::uint64_t** next);

/// Sorts in ascending order.
void sort_keys(std::uint32_t* keys, std::int64_t count);
void sort_keys(std::uint64_t* keys, std::int64_t count);
/// The same where there are no fast vectors. Instantiated for both.
template <class Key>
void sort_by_digits(Key* keys, std::int64_t count);

}  // namespace tally::internal
