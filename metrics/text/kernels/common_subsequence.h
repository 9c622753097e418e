#pragma once

#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::internal::text {

/// Longest common subsequences of one sequence of words with others, 64 of its
/// words at a time: the bits of a column of the table say where its length
/// grows (Hyyro 2004, "Bit-parallel LCS-length computation revisited").
class CommonSubsequence {
 public:
  using Words = c10::ArrayRef<std::uint32_t>;

  /// Words are numbers below `vocabulary`, also those of the others.
  void set_reference(Words reference, std::size_t vocabulary);
  /// The length of a longest common subsequence.
  std::int64_t length(Words other);
  /// Sets hit[i] for each word i of the reference in one longest common
  /// subsequence: that of rouge-score, which reads the table from its end, and
  /// of two ways of one length prefers to skip a word of the reference.
  void mark(Words other, std::vector<char>& hit);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // bits_ of each column in turn: one is 0 where the length grows.
  template <class Visit>
  void visit_columns(Words other, const Visit& visit);

  std::vector<std::uint32_t> reference_;
  std::size_t blocks_ = 0;
  // The last place of each word, and the place before each place.
  std::vector<std::uint32_t> last_, before_;
  std::vector<std::uint64_t> bits_, matches_, table_;
};

}  // namespace tally::internal::text
