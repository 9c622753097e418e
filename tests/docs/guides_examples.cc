#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <tally/tally.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>

#include "tally/files/files.h"
#include "tally/plots/plots.h"
#include "tally/report/results_report.h"
#include "tally/tests/docs/train_set.h"

// What the guides take for granted: a model, an optimizer and a loader as a
// program has them.
inline auto make_loader() {
  using torch::data::samplers::SequentialSampler;
  return torch::data::make_data_loader<SequentialSampler>(
      train_set.map(torch::data::transforms::Stack<>()), 32);
}
struct GuideThings {
  at::Tensor preds, target, weight, value, features, x, y, loss, terms, scores;
  at::Tensor indexes, boxes, labels;
  torch::nn::Linear model{4, 10};
  torch::optim::SGD optimizer{model->parameters(), 0.1};
  decltype(make_loader()) loader = make_loader();
  tally::MetricCollection metric;
};
using Things = GuideThings;

#define EXAMPLE_THINGS(things)        \
  using namespace tally;              \
  auto& preds = things.preds;         \
  auto& target = things.target;       \
  auto& weight = things.weight;       \
  auto& indexes = things.indexes;     \
  auto& boxes = things.boxes;         \
  auto& labels = things.labels;       \
  auto& value = things.value;         \
  auto& features = things.features;   \
  auto& x = things.x;                 \
  auto& y = things.y;                 \
  auto& loss = things.loss;           \
  auto& terms = things.terms;         \
  auto& scores = things.scores;       \
  auto& model = things.model;         \
  auto& loader = things.loader;       \
  auto& optimizer = things.optimizer; \
  auto& metric = things.metric;       \
  auto ranks = sync::default_communicator();

// What single pages take for granted, besides.
at::Tensor is_sample;
tally::MetricCollection metrics;
at::Tensor groups, rows;
tally::sync::Call call("example");
void check(const at::Tensor&) {}
at::Tensor forward(const at::Tensor& own) { return own; }
at::Tensor backward(const tally::sync::Call&, const at::Tensor&,
                    const at::Tensor& gradient) {
  return gradient;
}

// Behind the others.
#include "tests/docs/guides.inc"
