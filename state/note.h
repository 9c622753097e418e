#pragma once

#include <algorithm>
#include <cstdint>

namespace tally {

/// What a metric notes about rows that it accepts: a constant of its source.
///
///     constexpr NoteKind kUnnormalized{
///         "unnormalized", "probabilities do not add up to 1",
///         "set input if they are logits"};
///
/// It becomes the warning "MulticlassLogLoss: probabilities do not add up to 1
/// in 2 of 100 rows, first row 17; set input if they are logits".
struct NoteKind {
  const char* name;    ///< of the field
  const char* text;    ///< before "in N of M rows"
  const char* advice;  ///< what to do about it
};

/// A field of a state: how many rows a note is about, and the first of them.
/// Metrics warn about it once when they compute a value, over all batches and
/// ranks. It does not affect the value.
///
///     struct State {
///       tally::Number sum;
///       tally::Note unnormalized{kUnnormalized};
///       void fields(tally::Fields& f) { f("sum", sum)(unnormalized); }
///     };
///
/// A batch states its number of rows and marks some of them:
///
///     state.unnormalized.add_rows(preds.size(0));
///     if (std::abs(sum - 1) > 1e-3) state.unnormalized.mark(row);
///
/// Merging is associative; rows of the later state follow those of the earlier.
class Note {
 public:
  explicit constexpr Note(const NoteKind& kind) : kind_(&kind) {}

  const NoteKind& kind() const noexcept { return *kind_; }
  /// All rows seen, with or without a mark.
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t count() const noexcept { return count_; }
  /// The first marked row, counted from 0. REQUIRES: count() > 0.
  std::int64_t first() const noexcept { return first_; }

  void add_rows(std::int64_t rows) noexcept { rows_ += rows; }
  /// Marks a row of this batch, which counts once if it is marked repeatedly in
  /// a row.
  void mark(std::int64_t row) noexcept {
    if (row == last_) return;
    last_ = row;
    first_ = count_ == 0 ? row : std::min(first_, row);
    ++count_;
  }
  /// Marks several rows of this batch that have no mark yet.
  void add_marks(std::int64_t count, std::int64_t first) noexcept {
    if (count == 0) return;
    first_ = count_ == 0 ? first : std::min(first_, first);
    count_ += count;
  }
  /// Those of another thread.
  void add_marks(const Note& part) noexcept {
    add_marks(part.count_, part.first_);
  }
  /// Appends the rows of a later state.
  void append(const Note& later) noexcept {
    if (count_ == 0) first_ = rows_ + later.first_;
    count_ += later.count_;
    rows_ += later.rows_;
  }
  /// Whether these numbers can be those of a note.
  static bool are_valid(std::int64_t rows, std::int64_t count,
                        std::int64_t first) noexcept {
    return count >= 0 && rows >= count &&
           (count == 0 || (first >= 0 && first <= rows - count));
  }
  /// REQUIRES: are_valid().
  void set(std::int64_t rows, std::int64_t count, std::int64_t first) noexcept {
    rows_ = rows;
    count_ = count;
    first_ = first;
  }

 private:
  const NoteKind* kind_;
  std::int64_t rows_ = 0;
  std::int64_t count_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = -1;  // marked
};

}  // namespace tally
