#include "tally/metrics/aggregation/throughput.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally {
namespace {

struct Sums {
  double items = 0;
  double seconds = 0;
};

std::map<std::int64_t, Sums> sums_of(const at::Tensor& ranks,
                                     const at::Tensor& items,
                                     const at::Tensor& seconds) {
  std::map<std::int64_t, Sums> sums;
  const auto* const rank = ranks.const_data_ptr<std::int64_t>();
  const auto* const item = items.const_data_ptr<double>();
  const auto* const second = seconds.const_data_ptr<double>();
  for (std::int64_t i = 0; i < ranks.numel(); ++i) {
    Sums& own = sums[rank[i]];
    own.items += item[i];
    own.seconds += second[i];
  }
  return sums;
}

RankTimes::State state_of(const std::map<std::int64_t, Sums>& sums) {
  std::vector<std::int64_t> ranks;
  std::vector<double> items;
  std::vector<double> seconds;
  for (const auto& [rank, own] : sums) {
    ranks.push_back(rank);
    items.push_back(own.items);
    seconds.push_back(own.seconds);
  }
  RankTimes::State state;
  if (ranks.empty()) return state;
  state.ranks = Rows(internal::tensor_of(ranks));
  state.items = Rows(internal::tensor_of(items));
  state.seconds = Rows(internal::tensor_of(seconds));
  return state;
}

at::Tensor plain(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.detach().to(at::kCPU, dtype).reshape(-1).contiguous();
}

std::map<std::int64_t, Sums> sums_of(const RankTimes::State& state) {
  if (!state.ranks.defined()) return {};
  // What was loaded may be anything.
  TORCH_CHECK_VALUE(state.items.size() == state.ranks.size() &&
                        state.seconds.size() == state.ranks.size(),
                    "Throughput: expected as many items and seconds as ranks, "
                    "got ",
                    state.items.size(), " and ", state.seconds.size(), " for ",
                    state.ranks.size());
  return sums_of(plain(state.ranks.tensor(), at::kLong),
                 plain(state.items.tensor(), at::kDouble),
                 plain(state.seconds.tensor(), at::kDouble));
}

void check_amounts(const char* input, const at::Tensor& amounts) {
  const auto* const data = amounts.const_data_ptr<double>();
  for (std::int64_t i = 0; i < amounts.numel(); ++i) {
    TORCH_CHECK_VALUE(data[i] >= 0 && std::isfinite(data[i]), "expected ",
                      input, " to be finite and at least 0, got ", data[i],
                      " at position ", i);
  }
}

}  // namespace

RankTimes::State RankTimes::State::merge(const State& a, const State& b) {
  if (!a.ranks.defined()) return b;
  if (!b.ranks.defined()) return a;
  auto sums = sums_of(a);
  for (const auto& [rank, other] : sums_of(b)) {
    Sums& own = sums[rank];
    own.items += other.items;
    own.seconds += other.seconds;
  }
  return state_of(sums);
}

RankTimes::State RankTimes::observe(const at::Tensor& items,
                                    const at::Tensor& seconds,
                                    const at::Tensor& rank) const {
  internal::check_real("items", items);
  internal::check_real("seconds", seconds);
  internal::check_same_shape("seconds", seconds, "items", items);
  internal::check_same_shape("rank", rank, "items", items);
  TORCH_CHECK_TYPE(at::isIntegralType(rank.scalar_type(), /*includeBool=*/true),
                   "expected rank to be integers, got ", rank.scalar_type());
  const at::Tensor own_items = plain(items, at::kDouble);
  const at::Tensor own_seconds = plain(seconds, at::kDouble);
  const at::Tensor ranks = plain(rank, at::kLong);
  check_amounts("items", own_items);
  check_amounts("seconds", own_seconds);
  for (std::int64_t i = 0; i < ranks.numel(); ++i) {
    const std::int64_t each = ranks.const_data_ptr<std::int64_t>()[i];
    TORCH_CHECK_VALUE(each >= 0, "expected rank to be at least 0, got ", each,
                      " at position ", i);
  }
  return state_of(sums_of(ranks, own_items, own_seconds));
}

ItemRate Throughput::evaluate(const State& state) const {
  double items = 0;
  double seconds = 0;
  for (const auto& [rank, own] : sums_of(state)) {
    items += own.items;
    seconds = std::max(seconds, own.seconds);
  }
  return {Number(items / seconds), Number(seconds / items), Number(items),
          Number(seconds)};
}

template class MetricOf<Throughput, RankTimes, ItemRate>;

}  // namespace tally
