#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tally::internal {

/// Numbers integers in the order of their first occurrence: by a table while
/// they are close to each other.
class IntegerCodes {
 public:
  /// `rows`: of all that will come.
  explicit IntegerCodes(std::size_t rows) : most_(kSpread * rows) {}

  /// `add` gets each new value.
  template <class T, class Add>
  void encode(const T* begin, const T* end, std::int32_t* codes,
              const Add& add) {
    constexpr std::ptrdiff_t kInCache = 1 << 13;
    for (; begin != end; begin += std::min(kInCache, end - begin)) {
      const T* const stop = begin + std::min(kInCache, end - begin);
      if (has_table_ && !covers(begin, stop)) leave_table();
      for (const T* value = begin; value != stop; ++value) {
        *codes++ = has_table_ ? by_table(*value, add) : by_hash(*value, add);
      }
    }
  }

 private:
  static constexpr std::uint64_t kSpread = 4;

  std::uint64_t place_of(std::int64_t value) const {
    return static_cast<std::uint64_t>(value) -
           static_cast<std::uint64_t>(lowest_);
  }

  // Whether the table has a place for each, after it has grown if need be: on
  // one side by its own size at least, so that it seldom does.
  template <class T>
  bool covers(const T* begin, const T* end) {
    auto least = static_cast<std::int64_t>(*begin);
    std::int64_t most = least;
    for (const T* each = begin; each != end; ++each) {
      const auto value = static_cast<std::int64_t>(*each);
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (table_.empty()) lowest_ = least;
    const std::int64_t lowest = std::min(lowest_, least);
    const std::uint64_t below = place_of(lowest_) - place_of(lowest);
    const std::uint64_t range = std::max(
        static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(lowest),
        table_.empty() ? 0 : below + table_.size() - 1);
    if (range >= most_) return false;
    if (range + 1 == table_.size()) return true;
    // No further than to the ends of int64.
    const std::uint64_t spare =
        std::min<std::uint64_t>(table_.size(), most_ - range - 1);
    const std::uint64_t before =
        below == 0 ? 0
                   : std::min(spare, static_cast<std::uint64_t>(lowest) -
                                         static_cast<std::uint64_t>(kLeast));
    std::vector<std::int32_t> table(
        static_cast<std::size_t>(before + range + 1 + (below == 0 ? spare : 0)),
        -1);
    std::copy(table_.begin(), table_.end(),
              table.begin() + static_cast<std::ptrdiff_t>(before + below));
    table_ = std::move(table);
    lowest_ =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(lowest) - before);
    return true;
  }

  void leave_table() {
    has_table_ = false;
    for (std::size_t place = 0; place < table_.size(); ++place) {
      if (table_[place] < 0) continue;
      const auto value = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(lowest_) + place);
      hashed_.emplace(value, table_[place]);
    }
  }

  template <class Add>
  std::int32_t by_table(std::int64_t value, const Add& add) {
    std::int32_t& code = table_[place_of(value)];
    if (code < 0) {
      code = count_++;
      add(value);
    }
    return code;
  }
  template <class Add>
  std::int32_t by_hash(std::int64_t value, const Add& add) {
    const auto [found, is_new] = hashed_.emplace(value, count_);
    if (is_new) {
      ++count_;
      add(value);
    }
    return found->second;
  }

  static constexpr std::int64_t kLeast =
      std::numeric_limits<std::int64_t>::min();

  std::uint64_t most_;
  bool has_table_ = true;
  std::int64_t lowest_ = 0;
  std::vector<std::int32_t> table_;
  std::unordered_map<std::int64_t, std::int32_t> hashed_;
  std::int32_t count_ = 0;
};

}  // namespace tally::internal
