#include "tally/metrics/text/kernels/common_subsequence.h"

namespace tally::internal::text {

void CommonSubsequence::set_reference(Words reference, std::size_t vocabulary) {
  for (const std::uint32_t word : reference_) last_[word] = kNone;
  if (last_.size() < vocabulary) last_.resize(vocabulary, kNone);
  reference_.assign(reference.begin(), reference.end());
  before_.resize(reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    before_[i] = last_[reference[i]];
    last_[reference[i]] = static_cast<std::uint32_t>(i);
  }
  blocks_ = (reference.size() + 63) / 64;
  matches_.assign(blocks_, 0);
}

template <class Visit>
void CommonSubsequence::visit_columns(Words other, const Visit& visit) {
  bits_.assign(blocks_, ~std::uint64_t{0});
  for (const std::uint32_t word : other) {
    const std::uint32_t last = last_[word];
    for (auto at = last; at != kNone; at = before_[at]) {
      matches_[at / 64] |= std::uint64_t{1} << at % 64;
    }
    std::uint64_t carry = 0;
    // A column without a match is the one before it.
    for (std::size_t b = 0; last != kNone && b < blocks_; ++b) {
      const std::uint64_t found = bits_[b] & matches_[b];
      const std::uint64_t sum = bits_[b] + found;
      const std::uint64_t next = sum + carry;
      carry = sum < found || next < carry;
      bits_[b] = next | (bits_[b] & ~found);
    }
    for (auto at = last; at != kNone; at = before_[at]) matches_[at / 64] = 0;
    visit();
  }
}

std::int64_t CommonSubsequence::length(Words other) {
  visit_columns(other, [] {});
  std::int64_t length = 0;
  for (std::size_t i = 0; i < reference_.size(); ++i) {
    length += (bits_[i / 64] >> i % 64 & 1) == 0;
  }
  return length;
}

void CommonSubsequence::mark(Words other, std::vector<char>& hit) {
  table_.clear();
  table_.reserve(blocks_ * other.size());
  visit_columns(other, [this] {
    table_.insert(table_.end(), bits_.begin(), bits_.end());
  });
  std::size_t i = reference_.size(), j = other.size();
  while (i > 0 && j > 0) {
    const std::size_t word = i - 1;
    const std::uint64_t column = table_[(j - 1) * blocks_ + word / 64];
    if (reference_[word] == other[j - 1]) {
      hit[word] = 1;
      --i;
      --j;
    } else if ((column >> word % 64 & 1) == 0) {
      // The length grows with the reference's word, so that it is the same
      // without the other's.
      --j;
    } else {
      --i;
    }
  }
}

}  // namespace tally::internal::text
