#include "tally/metrics/resampling/jackknife.h"

#include <numeric>
#include <utility>

#include "tally/metrics/common/constants.h"

namespace tally::internal {

std::vector<AnyState> without_each(const AnyState& empty,
                                   c10::ArrayRef<AnyState> states,
                                   const char* owner) {
  // First all before each, then the rest is added from the end.
  std::vector<AnyState> others = {empty};
  for (const AnyState& state : states) {
    AnyState next = others.back();
    merge(next, state, owner);
    others.push_back(std::move(next));
  }
  AnyState after = empty;
  for (std::size_t i = states.size(); i-- > 0;) {
    merge(others[i], after, owner);
    AnyState own = states[i];
    merge(own, std::move(after), owner);
    after = std::move(own);
  }
  return others;
}

double jackknife_variance(const std::vector<double>& without) {
  if (without.size() < 2) return kNaN;
  const auto count = static_cast<double>(without.size());
  const double mean =
      std::accumulate(without.begin(), without.end(), 0.0) / count;
  double squares = 0;
  for (const double each : without) squares += (each - mean) * (each - mean);
  return (count - 1) / count * squares;
}

}  // namespace tally::internal
