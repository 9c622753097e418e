#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/text/kernels/edit_alignment.h"

namespace tally::internal::text {

/// The edits of a translation edit rate, as tercom finds them: insertions,
/// deletions, substitutions and shifts of up to 10 words, found one by one, the
/// best first. Equal to sacrebleu 2.6.0, also where its edit distance keeps
/// near the diagonal and where it gives up after 1000 shifts tried. Keeps its
/// memory, so that one object serves all sentences in turn.
class TranslationEdits {
 public:
  /// Tokens are numbers below `distinct`.
  std::int64_t operator()(TokenSpan hypothesis, TokenSpan reference,
                          std::size_t distinct);

 private:
  using Tokens = std::vector<std::uint32_t>;
  struct Shift {
    std::int64_t gain = 0;
    std::size_t length = 0;
    std::size_t start = 0;
    std::size_t target = 0;
    bool is_before(const Shift& other) const;
  };
  enum class Operation : std::uint8_t { kNone, kPair, kDelete, kInsert };

  // The matrix of words_ and the reference, and which words are where.
  void align();
  Shift best_shift();
  void try_shifts(std::size_t start, std::size_t reference_start,
                  std::size_t length, Shift& best);
  void perform(const Shift& shift, Tokens& words) const;
  bool is_worth(std::size_t start, std::size_t reference_start,
                std::size_t length) const;
  // The distance of `words`, at least if it is below `limit`.
  std::int64_t distance_of(const Tokens& words, std::int64_t limit);
  std::int64_t distance_near_diagonal(const Tokens& words, std::int64_t limit);

  struct Window {
    std::size_t first, end;
  };
  Window window_of(std::size_t row) const;
  std::uint32_t cost(const Tokens& words, std::size_t row, std::size_t column,
                     const std::uint32_t* above, const std::uint32_t* own,
                     Operation& operation) const;

  Tokens words_;
  TokenSpan reference_;
  std::size_t distinct_ = 0;
  double ratio_ = 1;
  std::size_t beam_ = 0;
  int tried_ = 0;
  std::int64_t distance_ = 0;

  std::vector<std::uint32_t> costs_;
  std::vector<Operation> operations_;
  std::vector<std::int64_t> word_of_;  // by place of the reference; -1: none
  // How many errors there are before each place.
  std::vector<std::uint32_t> errors_before_;
  std::vector<std::uint32_t> reference_errors_before_;
  std::vector<std::uint32_t> row_, above_;
  Tokens shifted_;
  EditAlignment exact_;
};

}  // namespace tally::internal::text
