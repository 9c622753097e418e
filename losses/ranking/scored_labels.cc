#include "tally/losses/ranking/scored_labels.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "tally/losses/all_rows.h"
#include "tally/losses/label_inputs.h"
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

}  // namespace tally::losses::internal
