#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tally/metrics/options.h"

namespace tally {

/// What a reader of an interval, a p-value or a compared slice has to know of
/// it; see words(). docs/statistics.md has the simulation behind each
/// threshold.
enum class IntervalFlag {
  kFewUnits,         ///< fewer than 10 units, or 5 groups, count
  kUndefinedBlocks,  ///< without some unit there is no value: no interval
  kNoVariation,      ///< all units say the same: none, or Clopper-Pearson's
  kSmallClass,       ///< fewer than 10 rows decide the value
  kMissingClass,     ///< a class of the average has no rows
  kUnevenUnits,      ///< few of the groups, or of the weights, decide
  kHeavyTails,       ///< few units decide: 95 % is more than the interval has
  kSelected,         ///< the value is the best of several on the same rows
  kNoSmallP,         ///< fewer than 6 units: no p-value is below 0.05
  kSummarized,       ///< from a file without values by unit
  kBiased,           ///< chance makes the value larger; the interval corrects
};

template <>
struct EnumNames<IntervalFlag> {
  static constexpr const char* kNames[] = {
      "few_units",     "undefined_blocks", "no_variation", "small_class",
      "missing_class", "uneven_units",     "heavy_tails",  "selected",
      "no_small_p",    "summarized",       "biased"};
};

/// A sentence on it, without its subject: "few units: ...".
const char* words(IntervalFlag flag);

/// A set of them.
class IntervalFlags {
 public:
  IntervalFlags() = default;
  IntervalFlags(std::initializer_list<IntervalFlag> flags) {
    for (const IntervalFlag flag : flags) add(flag);
  }

  void add(IntervalFlag flag, bool is_set = true) {
    if (is_set) bits_ |= bit(flag);
  }
  void add(IntervalFlags flags) { bits_ |= flags.bits_; }
  bool contains(IntervalFlag flag) const { return (bits_ & bit(flag)) != 0; }
  bool empty() const { return bits_ == 0; }
  /// In the order of the enumeration.
  std::vector<IntervalFlag> list() const;
  /// {"few_units", "small_class"}.
  std::vector<std::string> names() const;
  /// "few_units, small_class".
  std::string text() const;

  friend bool operator==(IntervalFlags a, IntervalFlags b) {
    return a.bits_ == b.bits_;
  }
  friend bool operator!=(IntervalFlags a, IntervalFlags b) { return !(a == b); }

 private:
  static std::uint32_t bit(IntervalFlag flag) {
    return std::uint32_t{1} << static_cast<int>(flag);
  }

  std::uint32_t bits_ = 0;
};

namespace internal::intervals {

/// Below these a result has kFewUnits, kSmallClass, kNoSmallP.
inline constexpr double kFewRows = 10;
inline constexpr double kFewGroups = 5;
inline constexpr double kSmallestClass = 10;
inline constexpr double kFewestForP = 6;
/// kUnevenUnits: the effective number is below this fraction of them.
inline constexpr double kUneven = 0.5;

}  // namespace internal::intervals
}  // namespace tally
