#include "tally/losses/calibration/confidences.h"

#include <c10/util/Exception.h>

#include "tally/sync/reduction.h"

namespace tally::losses::internal {

Confidences confidences_of(const std::string& loss, LabelMode mode,
                           ScoreKind input, const at::Tensor& preds,
                           const at::Tensor& target) {
  check_labels(loss, mode, {}, preds, target);
  const bool binary = mode == LabelMode::kBinary;
  TORCH_CHECK_VALUE(!target.is_floating_point() &&
                        (binary || target.dim() + 1 == preds.dim()),
                    loss, ": expected target of integers, a class for each ",
                    "sample, got ", target.toString(), ' ', target.sizes());
  const std::int64_t classes = binary ? 2 : preds.size(1);
  const at::Tensor labels = target.flatten();
  const at::Tensor wrong =
      labels.masked_select(labels.lt(0).logical_or(labels.ge(classes)));
  TORCH_CHECK_VALUE(wrong.numel() == 0, loss,
                    ": expected target to be a class below ", classes, ", got ",
                    wrong[0].item<std::int64_t>());

  const bool logits = input == ScoreKind::kLogits;
  const at::Tensor p = preds.to(sync::accumulate_dtype(preds.scalar_type()));
  if (binary) {
    return {(logits ? p.sigmoid() : p).flatten(), labels.to(p.scalar_type())};
  }
  const at::Tensor of_classes =
      (logits ? p.softmax(1) : p).movedim(1, -1).reshape({-1, classes});
  const at::Tensor best = of_classes.detach().argmax(1, /*keepdim=*/true);
  return {of_classes.gather(1, best).squeeze(1),
          best.squeeze(1).eq(labels).to(p.scalar_type())};
}

void check_confidence_options(const std::string& loss, LabelMode mode,
                              ScoreKind input) {
  TORCH_CHECK_VALUE(mode != LabelMode::kMultilabel, loss,
                    ": expected mode to be binary or multiclass, got "
                    "multilabel");
  TORCH_CHECK_VALUE(input != ScoreKind::kScores, loss,
                    ": expected input to be probabilities or logits, got "
                    "scores");
}

}  // namespace tally::losses::internal
