#include "tally/losses/common/scored_labels.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/query_lists.h"
#include "tally/state/codec.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {

at::Tensor checked_query(const std::string& loss, const at::Tensor& preds,
                         const at::Tensor& query) {
  if (!query.defined()) return query;
  TORCH_CHECK_VALUE(
      query.layout() == at::kStrided && query.sizes() == preds.sizes() &&
          query.device() == preds.device() &&
          at::isIntegralType(query.scalar_type(), /*includeBool=*/false),
      loss, ": expected query of integers of size ", preds.sizes(), " on ",
      preds.device(), ", got ", query.toString(), ' ', query.sizes());
  return query.flatten().to(at::kLong);
}

ScoredLabels scored_labels(const std::string& loss, const at::Tensor& preds,
                           const at::Tensor& target, const at::Tensor& query) {
  check_labels(loss, LabelMode::kBinary, {}, preds, target);
  TORCH_CHECK_VALUE(!target.is_floating_point(), loss,
                    ": expected target of integers or bool, got ",
                    target.toString());
  ScoredLabels result;
  result.positive = target.flatten().to(at::kBool);
  const at::Tensor wrong = target.flatten().masked_select(
      target.flatten().ne(result.positive.to(target.scalar_type())));
  TORCH_CHECK_VALUE(wrong.numel() == 0, loss,
                    ": expected target of 0 and 1, got ",
                    wrong[0].item<std::int64_t>());
  result.query = checked_query(loss, preds, query);
  result.scores = preds.flatten().to(at::kDouble);
  result.is = result.positive.nonzero().squeeze(1);
  result.isnt = result.positive.logical_not().nonzero().squeeze(1);
  result.result_dtype = sync::accumulate_dtype(preds.scalar_type());
  return result;
}

LabelAgreement agree_on_labels(const sync::Call& call,
                               c10::function_ref<ScoredLabels()> prepare,
                               ScoredLabels& own) {
  const sync::Agreement agreement = sync::agree(call, [&] {
    own = prepare();
    sync::Offer offer;
    offer.schema =
        c10::str(own.result_dtype, own.query.defined() ? " by query" : "");
    Encoder encoder(offer.payload);
    encoder.integer(own.is.size(0));
    encoder.integer(own.isnt.size(0));
    return offer;
  });
  std::vector<std::int64_t> positives, negatives;
  for (const std::string_view payload : agreement.payloads) {
    Decoder decoder(payload);
    positives.push_back(decoder.integer());
    negatives.push_back(decoder.integer());
  }
  return {RankRows(std::move(positives)), RankRows(std::move(negatives))};
}

at::Tensor loss_without_pairs(const sync::Call& call, const ScoredLabels& own) {
  return replicated_value(
      call, at::zeros({}, own.scores.options().dtype(own.result_dtype)),
      {own.scores}, {at::zeros_like(own.scores.detach())});
}

namespace {

using QueryIds = std::vector<std::int64_t>;

QueryIds ids_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.cpu().contiguous();
  const auto* const data = plain.const_data_ptr<std::int64_t>();
  return QueryIds(data, data + plain.numel());
}

/// Indices in ascending order of ids, equal ones in their own.
QueryIds order_of(const QueryIds& ids) {
  QueryIds order(ids.size());
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
  const QueryIds of_positives =
      ids_of(all_rows(call, positives, own.query.index_select(0, own.is)));
  const QueryIds of_own = ids_of(own.query);
  const QueryIds order = order_of(of_positives), own_order = order_of(of_own);
  QueryLists lists;
  QueryIds kept;
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
