#include "tally/metrics/clustering/kernels/expected_information.h"

#include <algorithm>
#include <utility>

#include "tally/metrics/tables/information.h"

namespace tally::internal::clustering {
namespace {

// What is less likely than that, relative to the most likely count, adds
// nothing.
constexpr double kUnlikely = 1e-18;

// Equal sums, and how many there are.
struct Sums {
  std::int64_t value;
  double times;
};

std::vector<Sums> grouped(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  std::vector<Sums> result;
  for (const std::int64_t value : values) {
    if (result.empty() || result.back().value != value) {
      result.push_back({value, 0});
    }
    result.back().times += 1;
  }
  return result;
}

// The mean of n log(n total / (a b)) over the hypergeometric distribution of n,
// the count of a cell. From the most likely n outwards, probabilities are
// products of ratios; their sum divides them, so that no factorial is needed.
template <class Log>
double mean_of_cell(std::int64_t a, std::int64_t b, std::int64_t total,
                    const Log& log) {
  const std::int64_t least = std::max(a + b - total, std::int64_t{0});
  const std::int64_t most = std::min(a, b);
  const std::int64_t mode =
      std::clamp(static_cast<std::int64_t>((static_cast<double>(a) + 1) *
                                           (static_cast<double>(b) + 1) /
                                           (static_cast<double>(total) + 2)),
                 least, most);
  const double log_expected = log(a) + log(b) - log(total);
  const auto rest = static_cast<double>(total - a - b);
  const auto size_a = static_cast<double>(a);
  const auto size_b = static_cast<double>(b);
  double weights = 0;
  double sum = 0;
  const auto add = [&](std::int64_t n, double weight) {
    weights += weight;
    if (n > 0) sum += weight * static_cast<double>(n) * (log(n) - log_expected);
  };
  add(mode, 1);
  double weight = 1;
  for (std::int64_t n = mode; n < most;) {
    const auto x = static_cast<double>(n);
    weight *= (size_a - x) * (size_b - x) / ((x + 1) * (rest + x + 1));
    if (weight < kUnlikely) break;
    add(++n, weight);
  }
  weight = 1;
  for (std::int64_t n = mode; n > least;) {
    const auto x = static_cast<double>(n);
    weight *= x * (rest + x) / ((size_a - x + 1) * (size_b - x + 1));
    if (weight < kUnlikely) break;
    add(--n, weight);
  }
  return sum / weights;
}

}  // namespace

double expected_information(std::vector<std::int64_t> rows,
                            std::vector<std::int64_t> columns,
                            std::int64_t total) {
  const std::vector<Sums> by_row = grouped(std::move(rows));
  const std::vector<Sums> by_column = grouped(std::move(columns));
  const tables::Logarithms log(total);
  double sum = 0;
  for (const Sums& row : by_row) {
    for (const Sums& column : by_column) {
      sum += row.times * column.times *
             mean_of_cell(row.value, column.value, total, log);
    }
  }
  return sum / static_cast<double>(total);
}

}  // namespace tally::internal::clustering
