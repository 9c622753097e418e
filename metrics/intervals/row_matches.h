#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/intervals/comparison.h"
#include "tally/state/fields.h"

/// Which rows are correct: McNemar's test, also of runs made apart.
namespace tally::internal::intervals {

/// What is known of a row.
enum class RowMatch : std::uint8_t { kIgnored, kRight, kWrong, kNan };

/// By the bits of MatchSampling.
RowMatch row_match(std::uint8_t bits);

/// Rows by which models are correct.
struct PairedMatches {
  std::int64_t both = 0;
  std::int64_t first_only = 0;
  std::int64_t second_only = 0;
  std::int64_t neither = 0;
  std::int64_t first_nans = 0;
  std::int64_t second_nans = 0;

  void fields(Fields& f) {
    f("both", both)("first_only", first_only)("second_only", second_only);
    f("neither", neither);
    f("first_nans", first_nans)("second_nans", second_nans);
  }
  /// Throws c10::ValueError for a row that one model alone ignores.
  void add(RowMatch first, RowMatch second);
  std::int64_t counted() const {
    return both + first_only + second_only + neither;
  }
};

/// Both values, their difference, its interval and McNemar's p-value; see
/// ModelComparison. Its numbers are 0-dim, and NaN at first.
void fill_mcnemar(const PairedMatches& matches, Comparison& comparison);

/// Three rows in each digit of base 64.
std::string text_of_matches(const std::vector<RowMatch>& matches);
/// Throws c10::ValueError for a text that is not that of so many.
std::vector<RowMatch> parse_matches(const std::string& text, std::size_t count);

}  // namespace tally::internal::intervals
