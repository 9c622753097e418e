#include "tally/metrics/clustering/kernels/contingency_scores.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/tables/information.h"

namespace tally::internal::clustering {
namespace {

__extension__ using Wide = __int128;

Wide pairs_in(std::int64_t count) { return Wide{count} * (count - 1) / 2; }

Wide pairs_in(const std::vector<std::int64_t>& counts) {
  Wide pairs = 0;
  for (const std::int64_t count : counts) pairs += pairs_in(count);
  return pairs;
}

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

using tables::Contingency;

constexpr std::int64_t kNone = -1;
constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
// Lengths of paths are at most four counts.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 61;

// Successive shortest augmenting paths (Jonker and Volgenant 1987), over edges
// of length -count; a row may stay alone, by an edge of length 0.
class Assignment {
 public:
  explicit Assignment(const Contingency& table) {
    // Each row is one search.
    const bool swapped = table.rows.size() > table.columns.size();
    const std::size_t rows = swapped ? table.columns.size() : table.rows.size();
    const std::size_t columns =
        swapped ? table.rows.size() : table.columns.size();
    begins_.resize(rows + 1);
    for (const Contingency::Cell& cell : table.cells) {
      ++begins_[(swapped ? cell.column : cell.row) + 1];
    }
    for (std::size_t i = 1; i <= rows; ++i) begins_[i] += begins_[i - 1];
    edges_.resize(table.cells.size());
    std::vector<std::int64_t> next = begins_;
    for (const Contingency::Cell& cell : table.cells) {
      const auto [row, column] = swapped ? std::pair(cell.column, cell.row)
                                         : std::pair(cell.row, cell.column);
      edges_[next[row]++] = {column, cell.count};
    }
    of_row_.assign(rows, kNone);
    row_prices_.assign(rows, 0);
    of_column_.assign(columns, kNone);
    column_prices_.assign(columns, 0);
    lengths_.assign(columns, kFar);
    done_.assign(columns, false);
    from_.assign(columns, kNone);
  }

  std::int64_t solve() {
    const auto rows = static_cast<std::int64_t>(of_row_.size());
    for (std::int64_t row = 0; row < rows; ++row) add(row);
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (auto i = begins_[row]; i < begins_[row + 1]; ++i) {
        if (edges_[i].column == of_row_[row]) sum += edges_[i].count;
      }
    }
    return sum;
  }

 private:
  struct Edge {
    std::int64_t column, count;
  };
  struct Reached {
    std::int64_t row, length;
  };

  // Finds a column for the row; others may change theirs, or lose it.
  void add(std::int64_t start) {
    std::vector<Reached> rows;
    std::vector<std::int64_t> seen;
    // Nearest first; of equally near columns those that are free.
    using Candidate = std::tuple<std::int64_t, bool, std::int64_t>;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> near;
    std::int64_t alone = kNone;
    std::int64_t length_alone = kFar;
    std::int64_t length = 0;
    std::int64_t row = start;
    std::int64_t end = kNone;  // a free column
    while (true) {
      rows.push_back({row, length});
      if (length - row_prices_[row] < length_alone) {
        length_alone = length - row_prices_[row];
        alone = row;
      }
      for (auto i = begins_[row]; i < begins_[row + 1]; ++i) {
        const auto [column, count] = edges_[i];
        if (done_[column]) continue;
        const std::int64_t there =
            length - count - row_prices_[row] - column_prices_[column];
        if (there >= lengths_[column]) continue;
        if (lengths_[column] == kFar) seen.push_back(column);
        lengths_[column] = there;
        from_[column] = row;
        near.emplace(there, of_column_[column] != kNone, column);
      }
      while (!near.empty() &&
             (done_[std::get<2>(near.top())] ||
              std::get<0>(near.top()) != lengths_[std::get<2>(near.top())])) {
        near.pop();
      }
      if (near.empty() || length_alone <= std::get<0>(near.top())) {
        length = length_alone;
        break;
      }
      const std::int64_t column = std::get<2>(near.top());
      length = std::get<0>(near.top());
      near.pop();
      done_[column] = true;
      if (of_column_[column] == kNone) {
        end = column;
        break;
      }
      row = of_column_[column];
    }
    for (const Reached& reached : rows) {
      row_prices_[reached.row] += length - reached.length;
    }
    for (const std::int64_t column : seen) {
      if (done_[column]) column_prices_[column] -= length - lengths_[column];
    }
    change(start, end, alone);
    for (const std::int64_t column : seen) {
      lengths_[column] = kFar;
      done_[column] = false;
    }
  }

  // Along the path back from its end: a free column, or a row to leave alone.
  void change(std::int64_t start, std::int64_t end, std::int64_t alone) {
    std::int64_t column = end;
    if (column == kNone) {
      column = std::exchange(of_row_[alone], kNone);
      if (alone == start) return;
    }
    while (true) {
      const std::int64_t row = from_[column];
      of_column_[column] = row;
      column = std::exchange(of_row_[row], column);
      if (row == start) return;
    }
  }

  std::vector<std::int64_t> begins_;  // of the edges of each row
  std::vector<Edge> edges_;
  std::vector<std::int64_t> of_row_, of_column_;
  // No edge is longer than the sum of its ends' prices; those of the
  // assignment are as long.
  std::vector<std::int64_t> row_prices_, column_prices_;
  // Of the present search.
  std::vector<std::int64_t> lengths_, from_;
  std::vector<bool> done_;
};

}  // namespace

PairsOfSamples::PairsOfSamples(const tables::Contingency& table) {
  Wide together = 0;
  for (const auto& cell : table.cells) together += pairs_in(cell.count);
  const Wide preds = pairs_in(table.rows);
  const Wide target = pairs_in(table.columns);
  both = static_cast<double>(together);
  preds_only = static_cast<double>(preds - together);
  target_only = static_cast<double>(target - together);
  none = static_cast<double>(pairs_in(table.total) - preds - target + together);
}

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

std::int64_t largest_assignment(const Contingency& table) {
  TORCH_CHECK_VALUE(table.total < kMostSamples,
                    "expected less than 2^61 samples, got ", table.total);
  return Assignment(table).solve();
}

}  // namespace tally::internal::clustering
