#include "tally/metrics/classification/curves/run_scores.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tally/metrics/classification/curves/score_runs.h"

namespace tally::internal::classification {
namespace {

// So many tables are merged at once: each has a block of entries at hand.
constexpr std::size_t kMostTables = 64;

}  // namespace

std::optional<RunScores> RunScores::of(std::vector<ScoreTable> tables,
                                       std::vector<at::Tensor> bytes) {
  RunScores runs;
  for (const ScoreTable& table : tables) {
    if (table.has_nan) return std::nullopt;
    runs.totals_.add(table.totals);
  }
  while (tables.size() > kMostTables) {
    std::vector<ScoreTable> fewer;
    for (std::size_t i = 0; i < tables.size(); i += kMostTables) {
      const auto first = tables.begin() + static_cast<std::ptrdiff_t>(i);
      const std::size_t count = std::min(kMostTables, tables.size() - i);
      TableBuffer buffer;
      const TableTotals totals =
          buffer.append({first, first + static_cast<std::ptrdiff_t>(count)});
      bytes.push_back(buffer.bytes());
      fewer.push_back({bytes.back().const_data_ptr<std::uint8_t>(),
                       bytes.back().numel(), totals});
    }
    tables = std::move(fewer);
  }
  runs.tables_ = std::move(tables);
  runs.bytes_ = std::move(bytes);
  return runs;
}

double RunScores::pairs_in_order() const {
  WideCount twice = 0;
  WideCount positives = 0;  // above
  for_each_entries([&](const ScoreEntries& block) {
    for (std::int64_t i = 0; i < block.size; ++i) {
      const auto own = static_cast<std::uint64_t>(block.positives[i]);
      twice += (2 * positives + own) *
               static_cast<std::uint64_t>(block.negatives[i]);
      positives += own;
    }
  });
  return static_cast<double>(twice) / 2;
}

double RunScores::sum_of_precisions() const {
  double sum = 0;
  double tp = 0;
  double fp = 0;
  for_each_entries([&](const ScoreEntries& block) {
    // Of each block by itself: there may be many millions of terms.
    double some = 0;
    for (std::int64_t i = 0; i < block.size; ++i) {
      const auto rise = static_cast<double>(block.positives[i]);
      tp += rise;
      fp += static_cast<double>(block.negatives[i]);
      some += rise * (tp / (tp + fp));
    }
    sum += some;
  });
  return sum;
}

}  // namespace tally::internal::classification
