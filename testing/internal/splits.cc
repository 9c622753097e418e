#include "tally/testing/internal/splits.h"

#include <algorithm>
#include <utility>

#include "tally/testing/internal/cuts.h"
#include "tally/testing/internal/shrink.h"

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

namespace {

class Shrinker {
 public:
  Shrinker(FailingCase failing, const Trial& trial)
      : failing_(std::move(failing)), trial_(trial) {}

  void take_ranks() {
    const std::vector<int> ranks = failing_.ranks;
    const int most = *std::max_element(ranks.begin(), ranks.end());
    for (int fewer = 1; fewer <= most; ++fewer) {
      if (fails(failing_.rows, {fewer})) return;
      // What fails may depend on how many rows a rank gets.
      for (std::int64_t row = 0; row < rows() && rows() > 1; ++row) {
        if (fails(without(row, 1), {fewer})) return;
      }
    }
  }

  // Halves first, then quarters, and at last single rows.
  void take_rows() {
    for (std::int64_t part = rows() / 2; part > 0; part /= 2) {
      while (take_part(part)) {
      }
    }
  }

  FailingCase take() { return std::move(failing_); }

 private:
  std::int64_t rows() const { return failing_.rows.front().rows(); }

  Batch without(std::int64_t first, std::int64_t count) const {
    return joined({rows_of(failing_.rows, 0, first),
                   rows_of(failing_.rows, first + count, rows())});
  }

  bool take_part(std::int64_t part) {
    bool any = false;
    for (std::int64_t first = rows() - part; first >= 0; first -= part) {
      if (part >= rows()) break;
      any = fails(without(first, part), failing_.ranks) || any;
    }
    return any;
  }

  bool fails(const Batch& rows, const std::vector<int>& ranks) {
    for (const Finding& finding : trial_(rows, ranks)) {
      if (finding.what != failing_.finding.what) continue;
      failing_ = {rows, ranks, finding};
      return true;
    }
    return false;
  }

  FailingCase failing_;
  const Trial& trial_;
};

}  // namespace

FailingCase shrink(FailingCase failing, bool over_ranks, const Trial& trial) {
  Shrinker shrinker(std::move(failing), trial);
  if (over_ranks) shrinker.take_ranks();
  shrinker.take_rows();
  if (over_ranks) shrinker.take_ranks();
  return shrinker.take();
}

}  // namespace tally::testkit::internal
