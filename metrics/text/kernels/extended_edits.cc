#include "tally/metrics/text/kernels/extended_edits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

bool is_point(char32_t c) { return c == '.' || c == ','; }

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
