// What a program of a user compiles that names metrics and losses.
#include <ATen/core/Tensor.h>

#include "tally/losses/contrastive/clip_loss.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/regression/mean_squared_error.h"

namespace tally {

at::Tensor names_metrics(const at::Tensor& preds, const at::Tensor& target) {
  MulticlassAccuracy accuracy(10);
  accuracy.update(preds, target);
  MeanSquaredError error;
  error.update(preds, target);
  BinaryRecallAtFixedPrecision recall(0.5);
  recall.update(preds, target);
  losses::ClipLoss loss;
  return accuracy.compute() + error.forward(preds, target) +
         recall.compute().recall + loss->forward(preds, target, target.sum());
}

}  // namespace tally
