#include "tally/metrics/text/kernels/edit_alignment.h"

#include <algorithm>
#include <cmath>

namespace tally::internal::text {
namespace {

constexpr std::size_t kBits = 64;
// So many blocks for all tokens together make a table.
constexpr std::size_t kTableBlocks = std::size_t{1} << 16;

std::size_t common_prefix(TokenSpan a, TokenSpan b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(end.first - a.begin());
}

// Takes off what both begin and then end with; returns how many tokens.
std::size_t trim_common(TokenSpan& a, TokenSpan& b) {
  const std::size_t prefix = common_prefix(a, b);
  a = a.slice(prefix);
  b = b.slice(prefix);
  std::size_t suffix = 0;
  while (suffix < a.size() && suffix < b.size() &&
         a[a.size() - 1 - suffix] == b[b.size() - 1 - suffix]) {
    ++suffix;
  }
  a = a.slice(0, a.size() - suffix);
  b = b.slice(0, b.size() - suffix);
  return prefix + suffix;
}

std::uint64_t bit_of(std::size_t place) {
  return std::uint64_t{1} << place % kBits;
}

}  // namespace

EditCounts& EditCounts::operator+=(const EditCounts& other) {
  hits += other.hits;
  substitutions += other.substitutions;
  deletions += other.deletions;
  insertions += other.insertions;
  return *this;
}

void EditAlignment::set_reference(TokenSpan reference, std::size_t distinct) {
  reference_ = reference;
  blocks_ = (reference.size() + kBits - 1) / kBits;
  is_table_ = blocks_ == 1 || distinct * blocks_ <= kTableBlocks;
  if (is_table_) {
    if (table_.size() < distinct * blocks_) table_.resize(distinct * blocks_);
    for (std::size_t i = 0; i < reference.size(); ++i) {
      table_[reference[i] * blocks_ + i / kBits] |= bit_of(i);
    }
    return;
  }
  // Counts stand two behind their token, then the ends of what is filled one
  // behind, and at last the start of each.
  starts_.assign(distinct + 2, 0);
  for (const std::uint32_t token : reference) ++starts_[token + 2];
  for (std::size_t t = 2; t < starts_.size(); ++t) starts_[t] += starts_[t - 1];
  places_.resize(reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    places_[starts_[reference[i] + 1]++] = static_cast<std::uint32_t>(i);
  }
  one_row_.assign(blocks_, 0);
  last_token_ = 0;
}

void EditAlignment::clear_reference() {
  if (!is_table_) return;
  for (std::size_t i = 0; i < reference_.size(); ++i) {
    table_[reference_[i] * blocks_ + i / kBits] = 0;
  }
}

const std::uint64_t* EditAlignment::places_of(std::uint32_t token) {
  if (is_table_) return table_.data() + token * blocks_;
  const auto set = [&](std::uint32_t of, bool is_set) {
    for (std::uint32_t i = starts_[of]; i < starts_[of + 1]; ++i) {
      const std::uint32_t place = places_[i];
      one_row_[place / kBits] &= ~bit_of(place);
      if (is_set) one_row_[place / kBits] |= bit_of(place);
    }
  };
  set(last_token_, false);
  set(token, true);
  last_token_ = token;
  return one_row_.data();
}

int EditAlignment::next_row(std::uint32_t token, const Cells* row,
                            Cells* next) {
  const std::uint64_t* const places = places_of(token);
  std::uint64_t plus_carry = 1;
  std::uint64_t minus_carry = 0;
  std::uint64_t plus = 0;
  std::uint64_t minus = 0;
  for (std::size_t block = 0; block < blocks_; ++block) {
    const Cells cells = row[block];
    const std::uint64_t same = places[block] | minus_carry;
    const std::uint64_t diagonal =
        (((same & cells.plus) + cells.plus) ^ cells.plus) | same | cells.minus;
    plus = cells.minus | ~(diagonal | cells.plus);
    minus = diagonal & cells.plus;
    const std::uint64_t plus_in = plus << 1 | plus_carry;
    const std::uint64_t minus_in = minus << 1 | minus_carry;
    plus_carry = plus >> (kBits - 1);
    minus_carry = minus >> (kBits - 1);
    next[block] = {minus_in | ~(diagonal | plus_in), plus_in & diagonal};
  }
  const std::uint64_t last = bit_of(reference_.size() - 1);
  return static_cast<int>((plus & last) != 0) -
         static_cast<int>((minus & last) != 0);
}

EditCounts EditAlignment::align(TokenSpan reference, TokenSpan hypothesis,
                                std::size_t distinct, std::size_t limit) {
  EditCounts counts;
  counts.hits = static_cast<std::int64_t>(trim_common(reference, hypothesis));
  if (reference.empty() || hypothesis.empty()) {
    counts.deletions += static_cast<std::int64_t>(reference.size());
    counts.insertions += static_cast<std::int64_t>(hypothesis.size());
    return counts;
  }
  set_reference(reference, distinct);
  counts += trace(reference, hypothesis, limit);
  clear_reference();
  return counts;
}

EditCounts EditAlignment::trace(TokenSpan reference, TokenSpan hypothesis,
                                std::size_t limit) {
  // Row 0 and each `step`-th are kept; rows between two of those are computed
  // again once the trace arrives there.
  const std::size_t count = hypothesis.size();
  const std::size_t row_bytes = blocks_ * sizeof(Cells);
  std::size_t step = count;
  if (count * row_bytes > limit) {
    step = static_cast<std::size_t>(std::sqrt(static_cast<double>(count))) + 1;
  }
  rows_.resize((std::min(step, count) + 1) * blocks_);
  kept_rows_.resize((count / step + 1) * blocks_);
  const auto row = [&](std::size_t i) { return rows_.data() + i * blocks_; };
  const auto kept = [&](std::size_t i) {
    return kept_rows_.data() + i * blocks_;
  };
  std::fill_n(kept(0), blocks_, Cells{~std::uint64_t{0}, 0});
  std::size_t first = (count - 1) / step * step;  // of the rows in rows_
  const auto fill = [&](std::size_t from, std::size_t to) {
    std::copy_n(kept(from / step), blocks_, row(0));
    for (std::size_t j = from; j < to; ++j) {
      next_row(hypothesis[j], row(j - from), row(j - from + 1));
    }
  };
  for (std::size_t from = 0; from < first; from += step) {
    fill(from, from + step);
    std::copy_n(row(step), blocks_, kept(from / step + 1));
  }
  fill(first, count);

  EditCounts counts;
  std::size_t i = reference.size();
  std::size_t j = count;
  const auto cells = [&](std::size_t of_row) -> const Cells& {
    return row(of_row - first)[(i - 1) / kBits];
  };
  while (i > 0 && j > 0) {
    if ((cells(j).plus & bit_of(i - 1)) != 0) {
      ++counts.deletions;
      --i;
      continue;
    }
    --j;
    if (j > 0 && (cells(j).minus & bit_of(i - 1)) != 0) {
      ++counts.insertions;
    } else {
      --i;
      const bool is_hit = reference[i] == hypothesis[j];
      ++(is_hit ? counts.hits : counts.substitutions);
    }
    if (j == first && j > 0) {
      first -= step;
      fill(first, first + step);
    }
  }
  counts.deletions += static_cast<std::int64_t>(i);
  counts.insertions += static_cast<std::int64_t>(j);
  return counts;
}

std::int64_t EditAlignment::levenshtein(TokenSpan a, TokenSpan b,
                                        std::size_t distinct) {
  trim_common(a, b);
  if (a.size() < b.size()) std::swap(a, b);
  auto distance = static_cast<std::int64_t>(a.size());
  if (b.empty()) return distance;
  set_reference(a, distinct);
  rows_.assign(blocks_, Cells{~std::uint64_t{0}, 0});
  for (const std::uint32_t token : b) {
    distance += next_row(token, rows_.data(), rows_.data());
  }
  clear_reference();
  return distance;
}

std::int64_t EditAlignment::common_length(TokenSpan a, TokenSpan b,
                                          std::size_t distinct) {
  auto length = static_cast<std::int64_t>(trim_common(a, b));
  if (a.size() < b.size()) std::swap(a, b);
  if (b.empty()) return length;
  set_reference(a, distinct);
  // `plus` has a 0 where one more token is common than before the place.
  rows_.assign(blocks_, Cells{~std::uint64_t{0}, 0});
  for (const std::uint32_t token : b) {
    const std::uint64_t* const places = places_of(token);
    std::uint64_t carry = 0;
    for (std::size_t block = 0; block < blocks_; ++block) {
      const std::uint64_t old = rows_[block].plus;
      const std::uint64_t common = old & places[block];
      const std::uint64_t sum = old + common;
      const std::uint64_t carried = sum + carry;
      carry = static_cast<std::uint64_t>(sum < old) |
              static_cast<std::uint64_t>(carried < sum);
      rows_[block].plus = carried | (old & ~places[block]);
    }
  }
  clear_reference();
  for (std::size_t i = 0; i < a.size(); ++i) {
    length += (rows_[i / kBits].plus & bit_of(i)) == 0;
  }
  return length;
}

}  // namespace tally::internal::text
