#include "tally/metrics/intervals/row_matches.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/sampling.h"

namespace tally::internal::intervals {
namespace {

constexpr char kDigits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

RowMatch row_match(std::uint8_t bits) {
  if (!(bits & MatchSampling::kSeen)) return RowMatch::kIgnored;
  if (bits & MatchSampling::kNan) return RowMatch::kNan;
  return bits & MatchSampling::kWrong ? RowMatch::kWrong : RowMatch::kRight;
}

void PairedMatches::add(RowMatch first, RowMatch second) {
  TORCH_CHECK_VALUE(
      (first == RowMatch::kIgnored) == (second == RowMatch::kIgnored),
      "compare: expected both models to ignore the same rows");
  if (first == RowMatch::kIgnored) return;
  first_nans += first == RowMatch::kNan;
  second_nans += second == RowMatch::kNan;
  const bool is_first = first != RowMatch::kWrong;
  const bool is_second = second != RowMatch::kWrong;
  ++(is_first    ? is_second ? both : first_only
     : is_second ? second_only
                 : neither);
}

void fill_mcnemar(const PairedMatches& matches, Comparison& comparison) {
  const std::int64_t counted = matches.counted();
  const auto all = static_cast<double>(counted);
  comparison.units = comparison.counted = all;
  comparison.flags.add(IntervalFlag::kFewUnits, all < kFewRows);
  comparison.flags.add(IntervalFlag::kNoSmallP, all < kFewestForP - 1);
  const auto value = [&](std::int64_t correct, std::int64_t nans) {
    return nans > 0 || counted == 0 ? kNaN : static_cast<double>(correct) / all;
  };
  comparison.first.fill_(
      value(matches.both + matches.first_only, matches.first_nans));
  comparison.second.fill_(
      value(matches.both + matches.second_only, matches.second_nans));
  if (counted == 0 || matches.first_nans > 0 || matches.second_nans > 0) return;
  const IntervalBounds ends = paired_difference_interval(
      matches.both, matches.first_only, matches.second_only, matches.neither,
      comparison.level);
  const double difference =
      static_cast<double>(matches.first_only - matches.second_only) / all;
  const auto discordant =
      static_cast<double>(matches.first_only + matches.second_only);
  comparison.difference.fill_(difference);
  comparison.low.fill_(ends.low);
  comparison.high.fill_(ends.high);
  comparison.standard_error.fill_(
      std::sqrt((discordant / all - difference * difference) / all));
  comparison.p_value.fill_(
      mcnemar(matches.first_only, matches.second_only).mid);
}

std::string text_of_matches(const std::vector<RowMatch>& matches) {
  // Three rows in each digit of 6 bits.
  std::string text;
  for (std::size_t i = 0; i < matches.size(); i += 3) {
    unsigned digit = 0;
    for (std::size_t j = i; j < std::min(i + 3, matches.size()); ++j) {
      digit |= static_cast<unsigned>(matches[j]) << 2 * (j - i);
    }
    text += kDigits[digit];
  }
  return text;
}

std::vector<RowMatch> parse_matches(const std::string& text,
                                    std::size_t count) {
  TORCH_CHECK_VALUE(text.size() == (count + 2) / 3,
                    "replicates: expected matches of ", count, " rows, got ",
                    text.size(), " digits");
  std::vector<RowMatch> matches;
  matches.reserve(count);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char* const place = std::strchr(kDigits, text[i]);
    TORCH_CHECK_VALUE(place != nullptr && text[i] != 0,
                      "replicates: expected digits of base 64, got '", text[i],
                      "'");
    const auto digit = static_cast<unsigned>(place - kDigits);
    for (unsigned j = 0; j < 3 && matches.size() < count; ++j) {
      matches.push_back(static_cast<RowMatch>(digit >> 2 * j & 3));
    }
  }
  return matches;
}

}  // namespace tally::internal::intervals
