#include "tally/metrics/detection/curves/hit_lists.h"

#include <algorithm>

#include "tally/metrics/detection/kernels/match_rules.h"
#include "tally/metrics/detection/kernels/score_order.h"

namespace tally::internal::detection {
namespace {

// Calls `visit` with each bit that is set, the first of which is `offset`.
template <class Visit>
void for_each_bit(std::uint64_t word, std::size_t offset, const Visit& visit) {
  for (; word != 0; word &= word - 1) {
    visit(offset + static_cast<std::size_t>(__builtin_ctzll(word)));
  }
}

}  // namespace

HitLists::HitLists(const DistinctRows& rows)
    : words_(rows.words),
      thresholds_(rows.thresholds),
      hits_(rows.areas * rows.thresholds),
      ignored_(rows.areas * rows.thresholds),
      ignored_areas_(rows.areas),
      masks_(rows.areas * rows.words) {
  for (std::size_t bit = 0; bit < hits_.size(); ++bit) {
    masks_[bit / thresholds_ * words_ + bit / 64] |= std::uint64_t{1}
                                                     << bit % 64;
  }
}

void HitLists::read(const ClassRows& rows, std::int64_t max_detections) {
  for (auto& hits : hits_) hits.clear();
  std::fill(ignored_.begin(), ignored_.end(), 0);
  std::fill(ignored_areas_.begin(), ignored_areas_.end(), 0);
  count_ = 0;
  for (const std::int64_t* row : rows.detections) {
    if (MatchRow::rank(row) >= max_detections) continue;
    const double score = score_of(row[MatchRow::kScore]);
    if (count_ == 0) first_score_ = score;
    ++count_;
    add_ignored(row + MatchRow::kBits + words_);
    for (std::size_t word = 0; word < words_; ++word) {
      const auto bits = static_cast<std::uint64_t>(row[MatchRow::kBits + word]);
      for_each_bit(bits, 64 * word, [&](std::size_t bit) {
        if (bit >= hits_.size()) return;
        const std::int64_t counted =
            count_ - ignored_[bit] - ignored_areas_[bit / thresholds_];
        hits_[bit].push_back({static_cast<double>(counted), score});
      });
    }
  }
}

// Mostly, what is ignored is so at all thresholds.
void HitLists::add_ignored(const std::int64_t* bits) {
  for (std::size_t area = 0; area < ignored_areas_.size(); ++area) {
    const std::uint64_t* mask = &masks_[area * words_];
    bool all = true;
    for (std::size_t word = 0; word < words_; ++word) {
      all &=
          (static_cast<std::uint64_t>(bits[word]) & mask[word]) == mask[word];
    }
    if (all) {
      ++ignored_areas_[area];
      continue;
    }
    for (std::size_t word = 0; word < words_; ++word) {
      for_each_bit(static_cast<std::uint64_t>(bits[word]) & mask[word],
                   64 * word, [this](std::size_t bit) { ++ignored_[bit]; });
    }
  }
}

}  // namespace tally::internal::detection
