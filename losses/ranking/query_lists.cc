#include "tally/losses/ranking/query_lists.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <numeric>

#include "tally/losses/all_rows.h"

namespace tally::losses::internal {
namespace {

using Ids = std::vector<std::int64_t>;

Ids ids_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.cpu().contiguous();
  const auto* const data = plain.const_data_ptr<std::int64_t>();
  return Ids(data, data + plain.numel());
}

/// Indices in ascending order of ids, equal ones in their own.
Ids order_of(const Ids& ids) {
  Ids order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(),
      [&](std::int64_t a, std::int64_t b) { return ids[a] < ids[b]; });
  return order;
}

}  // namespace

QueryLists query_lists(const sync::Call& call, const RankRows& positives,
                       const ScoredLabels& own) {
  const auto options = own.is.options();
  if (!own.query.defined()) {
    return {{{0, positives.total(), 0, own.scores.numel(),
              positives.before(call.rank())}},
            at::arange(positives.total(), options),
            at::arange(own.scores.numel(), options)};
  }
  const Ids of_positives =
      ids_of(all_rows(call, positives, own.query.index_select(0, own.is)));
  const Ids of_own = ids_of(own.query);
  const Ids order = order_of(of_positives), own_order = order_of(of_own);
  QueryLists lists;
  Ids kept;
  std::size_t row = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    const std::int64_t id = of_positives[order[begin]];
    QueryList query{};
    query.first = static_cast<std::int64_t>(begin);
    for (; begin < order.size() && of_positives[order[begin]] == id; ++begin) {
      ++query.positives;
      query.before += order[begin] < positives.before(call.rank()) ? 1 : 0;
    }
    query.own_first = static_cast<std::int64_t>(kept.size());
    while (row < own_order.size() && of_own[own_order[row]] < id) ++row;
    for (; row < own_order.size() && of_own[own_order[row]] == id; ++row) {
      kept.push_back(own_order[row]);
    }
    query.own = static_cast<std::int64_t>(kept.size()) - query.own_first;
    lists.queries.push_back(query);
  }
  lists.order = at::tensor(order, options);
  lists.own_order = at::tensor(kept, options);
  return lists;
}

}  // namespace tally::losses::internal
