// A program that opens the namespaces of LibTorch and of Tally.

#include <torch/nn.h>
#include <torch/torch.h>

#include "tally/tally.h"

using namespace torch;            // NOLINT
using namespace torch::indexing;  // NOLINT
using namespace torch::nn;        // NOLINT
using namespace tally;            // NOLINT
using namespace tally::losses;    // NOLINT

double train(Tensor inputs, const Tensor& target) {
  Sequential model(Linear(4, 8), ReLU(), Dropout(0.5), Linear(8, 3));
  optim::SGD optimizer(model->parameters(), 0.1);
  torch::nn::CrossEntropyLoss own;
  GlobalCrossEntropyLoss global;
  ClipLoss clip;
  MulticlassAccuracy accuracy(3);
  MetricCollection metrics;
  metrics.add("f1", "MulticlassF1Score(num_classes=3)");
  const Tensor first = inputs.index({Slice(0, 2), Ellipsis});
  const Tensor scores = model->forward(first);
  const Tensor loss = own->forward(scores, target.index({Slice(None, 2)})) +
                      global->forward(scores, target.slice(0, 0, 2));
  loss.backward();
  optimizer.step();
  accuracy.update(scores, target.slice(0, 0, 2));
  SlicedMetric sliced{MulticlassAccuracy(3)};
  for (const SliceResult& slice : sliced.compute()) {
    if (slice.is_other()) return slice.results.number();
  }
  return accuracy.number() + MSELoss()->forward(first, first).item<double>();
}
