#include "tally/metrics/common/best_permutation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace tally::internal {
namespace {

constexpr std::int64_t kNone = -1;
// Costs are multiples of 2^-34 of the largest finite score.
constexpr int kCostBits = 34;
// Sums that differ by so much are equal: 2^-30, and how much `terms` are
// rounded.
std::int64_t slack_of_sums(std::int64_t terms) { return 16 + terms; }

// Integers that are lower for better scores; empty with NaN. `terms` of them
// will be added.
std::vector<std::int64_t> costs_of(const std::vector<double>& scores,
                                   bool maximize, std::int64_t terms) {
  double largest = 0;
  for (const double score : scores) {
    if (std::isnan(score)) return {};
    if (std::isfinite(score)) largest = std::max(largest, std::abs(score));
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  // More than all finite ones of a permutation, and than all good infinities.
  const std::int64_t good = (std::int64_t{2} << kCostBits) * (terms + 1);
  const std::int64_t bad = good * (terms + 1);
  std::vector<std::int64_t> costs;
  for (const double score : scores) {
    const double cost = maximize ? -score : score;
    costs.push_back(std::isfinite(cost)
                        ? std::llrint(std::ldexp(cost, kCostBits - exponent))
                    : cost > 0 ? bad
                               : -good);
  }
  return costs;
}

// Shortest augmenting paths (Jonker and Volgenant 1987).
class Assignment {
 public:
  Assignment(const std::vector<std::int64_t>& costs, std::int64_t size)
      : costs_(costs), size_(size) {
    const auto count = static_cast<std::size_t>(size);
    row_prices_.assign(count, 0);
    column_prices_.assign(count, 0);
    row_of_.assign(count, kNone);
    column_of_.assign(count, kNone);
    for (std::int64_t row = 0; row < size; ++row) add(row);
  }

  // Among all that cost at most `more`.
  std::vector<std::int64_t> first(std::int64_t more) {
    const std::int64_t most = cost() + more;
    for (std::int64_t row = 0; row < size_; ++row) {
      for (std::int64_t column = 0; column < column_of_[row]; ++column) {
        if (row_of_[column] < row || slack(row, column) > more) continue;
        const Assignment before = *this;
        move(row, column);
        if (cost() <= most) break;
        column_of_ = before.column_of_;
        row_of_ = before.row_of_;
        row_prices_ = before.row_prices_;
        column_prices_ = before.column_prices_;
      }
      fixed_ = row + 1;
    }
    return column_of_;
  }

 private:
  std::int64_t slack(std::int64_t row, std::int64_t column) const {
    return costs_[row * size_ + column] - row_prices_[row] -
           column_prices_[column];
  }
  std::int64_t cost() const {
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < size_; ++row) {
      sum += costs_[row * size_ + column_of_[row]];
    }
    return sum;
  }

  // Gives the row, the first that is not fixed, the column for good.
  void move(std::int64_t row, std::int64_t column) {
    const std::int64_t other = row_of_[column];
    row_of_[column_of_[row]] = kNone;
    row_of_[column] = row;
    column_of_[row] = column;
    column_of_[other] = kNone;
    fixed_ = row + 1;
    add(other);
    fixed_ = row;
  }

  void add(std::int64_t start) {
    const auto count = static_cast<std::size_t>(size_);
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> length(count, kFar), from(count, kNone);
    std::vector<char> done(count, 0);
    std::vector<std::int64_t> seen;
    std::int64_t row = start, distance = 0, end = kNone;
    while (end == kNone) {
      std::int64_t nearest = kNone;
      for (std::int64_t column = 0; column < size_; ++column) {
        const bool is_fixed =
            row_of_[column] != kNone && row_of_[column] < fixed_;
        if (done[column] || is_fixed) continue;
        const std::int64_t there = distance + slack(row, column);
        if (there < length[column]) {
          length[column] = there;
          from[column] = row;
        }
        if (nearest == kNone || length[column] < length[nearest]) {
          nearest = column;
        }
      }
      distance = length[nearest];
      done[nearest] = 1;
      seen.push_back(nearest);
      row = row_of_[nearest];
      if (row == kNone) end = nearest;
    }
    row_prices_[start] += distance;
    for (const std::int64_t column : seen) {
      const std::int64_t saved = distance - length[column];
      column_prices_[column] -= saved;
      if (row_of_[column] != kNone) row_prices_[row_of_[column]] += saved;
    }
    for (std::int64_t column = end; column != kNone;) {
      row = from[column];
      row_of_[column] = row;
      std::swap(column, column_of_[row]);
      if (row == start) break;
    }
  }

  const std::vector<std::int64_t>& costs_;
  const std::int64_t size_;
  // Rows before this one keep their columns.
  std::int64_t fixed_ = 0;
  std::vector<std::int64_t> row_prices_, column_prices_;
  std::vector<std::int64_t> row_of_, column_of_;
};

}  // namespace

std::vector<std::int64_t> best_permutation(const std::vector<double>& scores,
                                           std::int64_t size, bool maximize) {
  const std::vector<std::int64_t> costs = costs_of(scores, maximize, size);
  if (costs.empty()) {
    std::vector<std::int64_t> same(static_cast<std::size_t>(size));
    std::iota(same.begin(), same.end(), 0);
    return same;
  }
  return Assignment(costs, size).first(slack_of_sums(size));
}

std::int64_t best_place(const std::vector<double>& scores, bool maximize) {
  const std::vector<std::int64_t> costs = costs_of(scores, maximize, 1);
  if (costs.empty()) return 0;
  const std::int64_t most =
      *std::min_element(costs.begin(), costs.end()) + slack_of_sums(1);
  return std::find_if(costs.begin(), costs.end(),
                      [=](std::int64_t cost) { return cost <= most; }) -
         costs.begin();
}

}  // namespace tally::internal
