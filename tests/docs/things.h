#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/ordered_dict.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/sync/communicator.h"

// What the examples of headers take for granted. Those of the guides have a
// model and data of LibTorch: see guides_examples.cc.
struct Batch {
  at::Tensor data, target, mask;
  std::int64_t size() const { return data.size(0); }
};
struct Linear {
  at::Tensor weight = at::zeros({10, 4}).requires_grad_();
  at::Tensor bias = at::zeros({10}).requires_grad_();
};
struct Model {
  at::Tensor forward(const at::Tensor& x) {
    return x.matmul(linear->weight.t()).add(linear->bias);
  }
  std::vector<at::Tensor> parameters() {
    return {linear->weight, linear->bias};
  }
  torch::OrderedDict<std::string, at::Tensor> named_parameters() {
    torch::OrderedDict<std::string, at::Tensor> named;
    named.insert("weight", linear->weight);
    return named;
  }
  std::shared_ptr<Linear> linear = std::make_shared<Linear>();
};
struct Optimizer {
  void step() {}
  void zero_grad() {}
};
struct Things {
  at::Tensor preds, target, weight, value, features, x, y, loss, losses, scores;
  at::Tensor indexes, boxes, labels;
  std::shared_ptr<Model> model = std::make_shared<Model>();
  std::vector<Batch> batches;
  std::vector<Batch>* loader = &batches;
  Batch batch;
  Optimizer optimizer;
  tally::MetricCollection metric;
  std::function<at::Tensor(const Batch&)> score_of, loss_of;
};

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
  auto& losses = things.losses;       \
  auto& scores = things.scores;       \
  auto& model = things.model;         \
  auto& batches = things.batches;     \
  auto& loader = things.loader;       \
  auto& batch = things.batch;         \
  auto& optimizer = things.optimizer; \
  auto& metric = things.metric;       \
  auto& score_of = things.score_of;   \
  auto& loss_of = things.loss_of;     \
  auto communicator = sync::default_communicator();
