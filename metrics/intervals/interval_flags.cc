#include "tally/metrics/intervals/interval_flags.h"

#include <c10/util/StringUtil.h>

#include <iterator>

namespace tally {

const char* words(IntervalFlag flag) {
  switch (flag) {
    case IntervalFlag::kFewUnits:
      return "few units: with fewer than 10 units, or 5 groups, the interval "
             "contains the truth less often than it says";
    case IntervalFlag::kUndefinedBlocks:
      return "undefined blocks: some of the units, or rows that are alone in "
             "their bin, leave no value, so that there is no interval";
    case IntervalFlag::kNoVariation:
      return "no variation: all units have the same value, which does not say "
             "that others would";
    case IntervalFlag::kSmallClass:
      return "small class: fewer than 10 rows decide the value";
    case IntervalFlag::kMissingClass:
      return "missing class: a class of the average has no rows";
    case IntervalFlag::kUnevenUnits:
      return "uneven units: few groups, or few weights, decide the value";
    case IntervalFlag::kHeavyTails:
      return "heavy tails: a few units decide the value, and others like them "
             "may be missing";
    case IntervalFlag::kSelected:
      return "selected: the value is the best of several on these rows, such "
             "as that of a threshold; on new rows it is worse";
    case IntervalFlag::kNoSmallP:
      return "no small p: with fewer than 6 units no p-value is below 0.05";
    case IntervalFlag::kSummarized:
      return "summarized: from blocks of rows, without the values of units";
    case IntervalFlag::kBiased:
      return "biased: in so few rows chance makes the value larger than that "
             "of all; the interval is corrected for it, the value is not";
  }
  return "";
}

std::vector<IntervalFlag> IntervalFlags::list() const {
  std::vector<IntervalFlag> flags;
  for (std::size_t i = 0; i < std::size(EnumNames<IntervalFlag>::kNames); ++i) {
    const auto flag = static_cast<IntervalFlag>(i);
    if (contains(flag)) flags.push_back(flag);
  }
  return flags;
}

std::vector<std::string> IntervalFlags::names() const {
  std::vector<std::string> names;
  for (const IntervalFlag flag : list()) {
    names.push_back(internal::OptionType<IntervalFlag>::print(flag));
  }
  return names;
}

std::string IntervalFlags::text() const { return c10::Join(", ", names()); }

}  // namespace tally
