#include "tally/metrics/text/kernels/translation_edits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <tuple>

#include "tally/metrics/text/kernels/extended_edits.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

constexpr std::size_t kLongestShift = 10;
constexpr std::size_t kFarthestShift = 50;
constexpr std::size_t kBeam = 25;
constexpr int kMostTried = 1000;

constexpr std::uint32_t kUnreached = 1u << 30;

// Up to this number of edits their alignment is within the beam, whatever the
// lengths: its cells are at most as far from the diagonal, and that at most as
// far from the middle of the beam.
constexpr std::int64_t kEditsInBeam = (kBeam - 2) / 2;

}  // namespace

bool TranslationEdits::Shift::is_before(const Shift& other) const {
  return std::tie(gain, length, other.start, other.target) >
         std::tie(other.gain, other.length, start, target);
}

std::int64_t TranslationEdits::operator()(TokenSpan hypothesis,
                                          TokenSpan reference,
                                          std::size_t distinct) {
  const std::size_t count = hypothesis.size();
  if (reference.empty()) return static_cast<std::int64_t>(count);
  if (hypothesis.empty()) return static_cast<std::int64_t>(reference.size());
  words_.assign(hypothesis.begin(), hypothesis.end());
  reference_ = reference;
  distinct_ = distinct;
  ratio_ = static_cast<double>(reference.size()) / static_cast<double>(count);
  beam_ = kBeam;
  if (static_cast<double>(kBeam) < ratio_ / 2) {
    beam_ = static_cast<std::size_t>(std::ceil(ratio_ / 2 + kBeam));
  }
  tried_ = 0;
  for (std::int64_t shifts = 0;; ++shifts) {
    align();
    if (distance_ == 0) return shifts;
    const Shift best = best_shift();
    if (tried_ >= kMostTried || best.gain <= 0) return shifts + distance_;
    perform(best, shifted_);
    words_.swap(shifted_);
  }
}

TranslationEdits::Window TranslationEdits::window_of(std::size_t row) const {
  const auto middle =
      static_cast<std::size_t>(std::floor(static_cast<double>(row) * ratio_));
  const std::size_t end = reference_.size() + 1;
  return {middle - std::min(middle, beam_),
          row == words_.size() ? end : std::min(end, middle + beam_)};
}

// Of equal costs, first a pair of words, then a deletion, then an insertion.
inline std::uint32_t TranslationEdits::cost(const Tokens& words,
                                            std::size_t row, std::size_t column,
                                            const std::uint32_t* above,
                                            const std::uint32_t* own,
                                            Operation& operation) const {
  operation = Operation::kDelete;
  if (column == 0) return above[0] + 1;
  const bool differ = words[row - 1] != reference_[column - 1];
  const std::uint32_t pair = above[column - 1] + (differ ? 1 : 0);
  const std::uint32_t deletion = above[column] + 1;
  const std::uint32_t insertion = own[column - 1] + 1;
  std::uint32_t least = deletion;
  if (pair <= least) {
    least = pair;
    operation = Operation::kPair;
  }
  if (insertion < least) {
    least = insertion;
    operation = Operation::kInsert;
  }
  return least;
}

void TranslationEdits::align() {
  const std::size_t rows = words_.size() + 1;
  const std::size_t columns = reference_.size() + 1;
  costs_.assign(rows * columns, kUnreached);
  operations_.assign(rows * columns, Operation::kNone);
  for (std::size_t j = 0; j < columns; ++j) {
    costs_[j] = static_cast<std::uint32_t>(j);
    operations_[j] = Operation::kInsert;
  }
  for (std::size_t i = 1; i < rows; ++i) {
    std::uint32_t* const own = costs_.data() + i * columns;
    const Window window = window_of(i);
    for (std::size_t j = window.first; j < window.end; ++j) {
      own[j] =
          cost(words_, i, j, own - columns, own, operations_[i * columns + j]);
    }
  }
  distance_ = costs_.back();

  word_of_.assign(reference_.size(), -1);
  errors_before_.assign(rows, 0);
  reference_errors_before_.assign(columns, 0);
  std::size_t i = words_.size();
  std::size_t j = reference_.size();
  while (i > 0 || j > 0) {
    const Operation operation = operations_[i * columns + j];
    const bool is_pair = operation == Operation::kPair;
    const bool is_error = !is_pair || words_[i - 1] != reference_[j - 1];
    // Of a word of the reference alone: that before it.
    if (is_pair || operation == Operation::kInsert) {
      word_of_[j - 1] = static_cast<std::int64_t>(i) - 1;
      reference_errors_before_[j--] = is_error ? 1 : 0;
    }
    if (operation != Operation::kInsert) {
      errors_before_[i--] = is_error ? 1 : 0;
    }
  }
  for (std::size_t k = 1; k < rows; ++k) {
    errors_before_[k] += errors_before_[k - 1];
  }
  for (std::size_t k = 1; k < columns; ++k) {
    reference_errors_before_[k] += reference_errors_before_[k - 1];
  }
}

TranslationEdits::Shift TranslationEdits::best_shift() {
  Shift best;
  const std::size_t count = words_.size();
  for (std::size_t start = 0; start < count; ++start) {
    const std::size_t first = start - std::min(start, kFarthestShift);
    const std::size_t end =
        std::min(reference_.size(), start + kFarthestShift + 1);
    for (std::size_t at = first; at < end; ++at) {
      const std::size_t most =
          std::min({kLongestShift, count - start, reference_.size() - at});
      for (std::size_t length = 1;
           length <= most &&
           words_[start + length - 1] == reference_[at + length - 1];
           ++length) {
        if (!is_worth(start, at, length)) continue;
        try_shifts(start, at, length, best);
        if (tried_ >= kMostTried) return best;
      }
    }
  }
  return best;
}

// Both parts hold an error, and the words are not to move within themselves.
bool TranslationEdits::is_worth(std::size_t start, std::size_t reference_start,
                                std::size_t length) const {
  const auto place = word_of_[reference_start];
  const auto first = static_cast<std::int64_t>(start);
  const bool is_within =
      place >= first && place < first + static_cast<std::int64_t>(length);
  return !is_within &&
         errors_before_[start + length] != errors_before_[start] &&
         reference_errors_before_[reference_start + length] !=
             reference_errors_before_[reference_start];
}

void TranslationEdits::try_shifts(std::size_t start,
                                  std::size_t reference_start,
                                  std::size_t length, Shift& best) {
  std::int64_t last = -1;
  for (std::size_t at = reference_start; at <= reference_start + length; ++at) {
    // Behind the word of the place before.
    const std::int64_t target = at == 0 ? 0 : word_of_[at - 1] + 1;
    if (target == last) continue;
    last = target;
    ++tried_;
    Shift shift;
    shift.length = length;
    shift.start = start;
    shift.target = static_cast<std::size_t>(target);
    perform(shift, shifted_);
    // A shift that gains less does not matter.
    const std::int64_t limit =
        distance_ - std::max<std::int64_t>(best.gain, 1) + 1;
    shift.gain = distance_ - distance_of(shifted_, limit);
    if (shift.gain > 0 && shift.is_before(best)) best = shift;
  }
}

void TranslationEdits::perform(const Shift& shift, Tokens& words) const {
  words.assign(words_.begin(), words_.end());
  const auto at = [&](std::size_t place) {
    return words.begin() +
           static_cast<std::ptrdiff_t>(std::min(place, words.size()));
  };
  const std::size_t end = shift.start + shift.length;
  if (shift.target < shift.start) {
    std::rotate(at(shift.target), at(shift.start), at(end));
  } else if (shift.target > end) {
    std::rotate(at(shift.start), at(end), at(shift.target));
  } else {
    // As many words as lie before the target follow.
    std::rotate(at(shift.start), at(end), at(shift.length + shift.target));
  }
}

std::int64_t TranslationEdits::distance_of(const Tokens& words,
                                           std::int64_t limit) {
  const std::int64_t least = exact_.levenshtein(reference_, words, distinct_);
  const bool is_exact = reference_.size() < kBeam || least <= kEditsInBeam;
  return is_exact || least >= limit ? least
                                    : distance_near_diagonal(words, limit);
}

std::int64_t TranslationEdits::distance_near_diagonal(const Tokens& words,
                                                      std::int64_t limit) {
  const std::size_t columns = reference_.size() + 1;
  row_.assign(columns, kUnreached);
  above_.resize(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    row_[j] = static_cast<std::uint32_t>(j);
  }
  Operation operation;
  for (std::size_t i = 1; i <= words.size(); ++i) {
    above_.swap(row_);
    const Window window = window_of(i);
    // What the next row reads beside the window is not of this one.
    if (window.first > 0) row_[window.first - 1] = kUnreached;
    std::fill(row_.begin() + static_cast<std::ptrdiff_t>(window.end),
              row_.end(), kUnreached);
    std::uint32_t least = kUnreached;
    for (std::size_t j = window.first; j < window.end; ++j) {
      row_[j] = cost(words, i, j, above_.data(), row_.data(), operation);
      least = std::min(least, row_[j]);
    }
    if (least >= limit) return least;
  }
  return row_.back();
}

namespace {

// A space before . ! ? and , and one for each run of white space.
std::u32string spaced(std::u32string_view sentence) {
  std::u32string made;
  bool is_after_space = false;
  for (const char32_t c : sentence) {
    const bool is_mark = is_point(c) || c == '!' || c == '?';
    if ((is_mark || is_space(c)) && !is_after_space) made += U' ';
    is_after_space = is_space(c);
    if (!is_after_space) made += c;
  }
  return made;
}

// "0 . 1" becomes "0.1"; a digit belongs to one number only.
std::u32string with_numbers(std::u32string_view text) {
  std::u32string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    made += text[i];
    if (i + 4 < text.size() && is_decimal_digit(text[i]) &&
        text[i + 1] == ' ' && is_point(text[i + 2]) && text[i + 3] == ' ' &&
        is_decimal_digit(text[i + 4])) {
      made += text[i + 2];
      made += text[i + 4];
      i += 4;
    }
  }
  return made;
}

// A dot in place of what follows an abbreviation and a space.
std::u32string with_abbreviations(std::u32string_view text) {
  static constexpr std::u32string_view kAbbreviations[] = {
      U"Dr", U"Jr", U"Prof", U"Rev", U"Gen", U"Mr", U"Mt", U"Mrs", U"Ms"};
  std::u32string made;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::u32string_view rest = text.substr(i);
    const auto* const found =
        std::find_if(std::begin(kAbbreviations), std::end(kAbbreviations),
                     [&](std::u32string_view name) {
                       return rest.size() > name.size() + 1 &&
                              rest.substr(0, name.size()) == name &&
                              rest[name.size()] == ' ';
                     });
    if (found == std::end(kAbbreviations)) {
      made += text[i++];
    } else {
      made.append(*found) += U'.';
      i += found->size() + 2;
    }
  }
  return made;
}

void join(std::u32string& text, std::u32string_view from,
          std::u32string_view to) {
  for (std::size_t at = text.find(from); at != std::u32string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

double ExtendedEdits::operator()(std::u32string_view hypothesis,
                                 std::u32string_view reference,
                                 const ExtendedEditCosts& costs) {
  const std::size_t count = hypothesis.size() + 1;
  row_.assign(count, 1);
  row_[0] = 0;
  next_.resize(count);
  visits_.assign(count, -1);
  for (const char32_t c : reference) {
    next_[0] = row_[0] + 1;
    std::size_t nearest = 0;
    for (std::size_t i = 1; i < count; ++i) {
      const double pair = row_[i - 1] + (hypothesis[i - 1] == c ? 0 : 1);
      next_[i] = std::min(
          {next_[i - 1] + costs.deletion, pair, row_[i] + costs.insertion});
      if (next_[i] < next_[nearest]) nearest = i;
    }
    ++visits_[nearest];
    if (c == ' ') {
      const double jump = costs.alpha + next_[nearest];
      for (double& cost : next_) cost = std::min(cost, jump);
    }
    row_.swap(next_);
  }
  // A place that is never visited costs as one that is visited twice.
  std::int64_t again = 0;
  for (std::size_t i = costs.skip_origin ? 1 : 0; i < count; ++i) {
    again += visits_[i] >= 0 ? visits_[i] : 1;
  }
  const double coverage = costs.rho * static_cast<double>(again);
  const double edits = row_.back() + coverage;
  const double length = static_cast<double>(reference.size()) + coverage;
  if (length == 0) return edits > 0 ? 1 : 0;
  return std::min(1.0, edits / length);
}

std::u32string eed_english(std::u32string_view sentence) {
  std::u32string text =
      with_abbreviations(with_numbers(spaced(strip_end(sentence))));
  join(text, U"e . g .", U"e.g.");
  join(text, U"i . e .", U"i.e.");
  join(text, U"U . S .", U"U.S.");
  return U' ' + text + U' ';
}

}  // namespace tally::internal::text
