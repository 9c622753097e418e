#include "tally/metrics/retrieval/kernels/query_index.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace tally::internal::retrieval {
namespace {

// Slots for each row that are cheaper than sorting.
constexpr std::uint64_t kSlotsPerRow = 4;
constexpr std::uint64_t kFewSlots = 1024;

}  // namespace

QueryIndex::QueryIndex(const std::int64_t* indexes, std::int64_t rows)
    : indexes_(indexes) {
  if (rows == 0) {
    begins_ = {0};
    return;
  }
  std::int64_t least = indexes[0];
  std::int64_t most = indexes[0];
  bool in_order = true;
  for (std::int64_t i = 1; i < rows; ++i) {
    least = std::min(least, indexes[i]);
    most = std::max(most, indexes[i]);
    in_order &= indexes[i - 1] <= indexes[i];
  }
  least_ = static_cast<std::uint64_t>(least);
  // Unsigned: indexes may be as far apart as int64 goes.
  const std::uint64_t range = static_cast<std::uint64_t>(most) - least_;
  if (in_order) {
    take_runs(indexes, nullptr, rows);
  } else if (rows <= std::numeric_limits<std::uint32_t>::max() &&
             range <
                 kSlotsPerRow * static_cast<std::uint64_t>(rows) + kFewSlots) {
    count_slots(rows, range);
  } else {
    sort_rows(rows, range);
  }
}

// The queries of rows that are in order, or by the order given.
void QueryIndex::take_runs(const std::int64_t* indexes,
                           const std::int64_t* order, std::int64_t rows) {
  const auto index = [=](std::int64_t i) {
    return indexes[order == nullptr ? i : order[i]];
  };
  for (std::int64_t i = 0; i < rows; ++i) {
    if (i == 0 || index(i) != ids_.back()) {
      ids_.push_back(index(i));
      begins_.push_back(i);
    }
  }
  begins_.push_back(rows);
}

void QueryIndex::count_slots(std::int64_t rows, std::uint64_t range) {
  slots_.assign(range + 1, 0);
  for (std::int64_t i = 0; i < rows; ++i) ++slots_[slot(i)];
  std::uint32_t begin = 0;
  for (std::uint64_t i = 0; i <= range; ++i) {
    const std::uint32_t count = std::exchange(slots_[i], begin);
    if (count == 0) continue;
    ids_.push_back(static_cast<std::int64_t>(least_ + i));
    begins_.push_back(begin);
    begin += count;
  }
  begins_.push_back(rows);
}

// By digits, of which there are as many as the range has.
void QueryIndex::sort_rows(std::int64_t rows, std::uint64_t range) {
  constexpr int kDigitBits = 11;
  constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigitBits;
  order_.resize(rows);
  for (std::int64_t i = 0; i < rows; ++i) order_[i] = i;
  std::vector<std::int64_t> spare(rows);
  for (int shift = 0; shift < 64 && range >> shift != 0; shift += kDigitBits) {
    std::array<std::int64_t, kDigits> next{};
    const auto digit = [&](std::int64_t row) {
      return (static_cast<std::uint64_t>(slot(row)) >> shift) & (kDigits - 1);
    };
    for (std::int64_t i = 0; i < rows; ++i) ++next[digit(i)];
    std::int64_t begin = 0;
    for (std::int64_t& count : next) begin += std::exchange(count, begin);
    for (const std::int64_t row : order_) spare[next[digit(row)]++] = row;
    order_.swap(spare);
  }
  take_runs(indexes_, order_.data(), rows);
}

}  // namespace tally::internal::retrieval
