#include "tally/testing/internal/splits.h"

#include <algorithm>

#include "tally/testing/internal/cuts.h"

namespace tally::testkit::internal {
namespace {

using Weights = std::vector<std::int64_t>;

// Rows in chunks of at most `chunk`, so that ranks accumulate as well.
std::vector<Batch> chunks(const Batch& rows, std::int64_t first,
                          std::int64_t last, std::int64_t chunk) {
  std::vector<Batch> batches;
  for (; first < last; first += chunk) {
    batches.push_back(rows_of(rows, first, std::min(first + chunk, last)));
  }
  return batches;
}

Split cut_rows(std::string name, const Batch& rows, const Weights& weights,
               std::int64_t chunk) {
  Split split{std::move(name), {}};
  const std::vector<std::int64_t> at = cuts(rows.front().rows(), weights);
  for (size_t r = 0; r < weights.size(); ++r) {
    split.ranks.push_back(chunks(rows, at[r], at[r + 1], chunk));
  }
  return split;
}

Split deal_batches(std::string name, const std::vector<Batch>& batches,
                   const Weights& weights) {
  Split split{std::move(name), {}};
  const auto at = cuts(static_cast<std::int64_t>(batches.size()), weights);
  for (size_t r = 0; r < weights.size(); ++r) {
    split.ranks.emplace_back(batches.begin() + at[r],
                             batches.begin() + at[r + 1]);
  }
  return split;
}

Split deal_in_turn(const Batch& rows, int ranks) {
  Split split{"rows in turn", {}};
  for (int r = 0; r < ranks; ++r) {
    Batch own;
    for (const BatchInput& input : rows) {
      own.push_back(input.slice(r, input.rows(), ranks));
    }
    split.ranks.push_back({std::move(own)});
  }
  return split;
}

}  // namespace

std::vector<Split> splits_of(const std::vector<Batch>& dealt, int ranks,
                             const SplitOptions& options) {
  const auto count = static_cast<size_t>(ranks);
  const Weights even(count, 1);
  Weights uneven(count);
  for (size_t r = 0; r < count; ++r) {
    uneven[r] = static_cast<std::int64_t>((r + 1) * (r + 1));
  }
  Weights one(count, 0);
  one[count / 2] = 1;
  Weights idle_first(count, 1);
  Weights idle_last(count, 1);
  if (ranks > 1) {
    idle_first.front() = 0;
    idle_last.back() = 0;
  }

  std::vector<Split> splits;
  if (!options.cut_rows) {
    splits.push_back(deal_batches("even", dealt, even));
    splits.push_back(deal_batches("uneven", dealt, uneven));
    splits.push_back(deal_batches("all on one rank", dealt, one));
    splits.push_back(deal_batches("idle first rank", dealt, idle_first));
    return splits;
  }
  const Batch rows = joined(dealt);
  splits.push_back(cut_rows("even", rows, even, 4));
  splits.push_back(cut_rows("uneven", rows, uneven, rows.front().rows()));
  splits.push_back(cut_rows("all on one rank", rows, one, 7));
  splits.push_back(cut_rows("idle first rank", rows, idle_first, 5));
  splits.push_back(cut_rows("idle last rank", rows, idle_last, 3));
  if (options.empty_batches) {
    Split split = cut_rows("empty batches", rows, idle_first, 6);
    for (auto& batches : split.ranks) {
      batches.insert(batches.begin(), rows_of(rows, 0, 0));
    }
    splits.push_back(std::move(split));
  }
  if (options.in_turn && ranks <= rows.front().rows()) {
    splits.push_back(deal_in_turn(rows, ranks));
  }
  return splits;
}

std::vector<Batch> step_of(const Batch& rows, int ranks, bool empty_batches) {
  Weights weights(static_cast<std::size_t>(ranks), 1);
  weights.back() = 3;
  if (ranks > 2 && empty_batches) weights[1] = 0;
  const auto at = cuts(rows.front().rows(), weights);
  std::vector<Batch> parts;
  for (int r = 0; r < ranks; ++r) {
    parts.push_back(rows_of(rows, at[r], at[r + 1]));
  }
  return parts;
}

}  // namespace tally::testkit::internal
