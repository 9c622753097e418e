#pragma once

#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::internal::text {

/// Numbers of tokens: below `distinct` of EditAlignment's functions, which
/// take memory for so many.
using TokenSpan = c10::ArrayRef<std::uint32_t>;

/// How often tokens agree, and the edits that turn the reference into the
/// hypothesis.
struct EditCounts {
  std::int64_t hits = 0;
  std::int64_t substitutions = 0;
  std::int64_t deletions = 0;
  std::int64_t insertions = 0;

  EditCounts& operator+=(const EditCounts& other);
};

/// Edit distances and alignments of token sequences, bit-parallel: 64 cells of
/// the matrix at a time (Myers 1999; Hyyro 2003). Keeps its memory, so that one
/// object serves all sentences in turn.
class EditAlignment {
 public:
  /// The alignment that rapidfuzz chooses among those of the fewest edits:
  /// without the common prefix and then suffix, from the ends, a deletion where
  /// that is optimal; else an insertion if a deletion is optimal for the
  /// reference without its last token and the hypothesis without its; else a
  /// hit or substitution. For long texts the matrix is computed twice, in
  /// memory of about `limit` bytes or of the square root of its size.
  EditCounts align(TokenSpan reference, TokenSpan hypothesis,
                   std::size_t distinct, std::size_t limit = kMatrixBytes);

  /// The least number of insertions, deletions and substitutions.
  std::int64_t levenshtein(TokenSpan a, TokenSpan b, std::size_t distinct);

  /// The length of the longest common subsequence.
  std::int64_t common_length(TokenSpan a, TokenSpan b, std::size_t distinct);

  static constexpr std::size_t kMatrixBytes = std::size_t{1} << 23;

 private:
  // 64 vertical differences between cells of a row: where +1, where -1.
  struct Cells {
    std::uint64_t plus;
    std::uint64_t minus;
  };

  void set_reference(TokenSpan reference, std::size_t distinct);
  void clear_reference();
  // Which places of the reference hold the token; valid until the next call.
  const std::uint64_t* places_of(std::uint32_t token);
  // Makes the next row, for a token of the hypothesis; returns how far its last
  // cell is above that of the row before.
  int next_row(std::uint32_t token, const Cells* row, Cells* next);
  EditCounts trace(TokenSpan reference, TokenSpan hypothesis,
                   std::size_t limit);

  TokenSpan reference_;
  std::size_t blocks_ = 0;
  bool is_table_ = false;
  // A row of blocks for each token; all 0 between calls.
  std::vector<std::uint64_t> table_;
  // Instead, if that is too much: the places of each token, in turn.
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> places_;
  std::vector<std::uint64_t> one_row_;
  std::uint32_t last_token_ = 0;

  std::vector<Cells> rows_;
  std::vector<Cells> kept_rows_;
};

}  // namespace tally::internal::text
