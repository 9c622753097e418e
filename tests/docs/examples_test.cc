#include <gtest/gtest.h>
#include <tally/tally.h>
#include <torch/torch.h>

#include <functional>
#include <iostream>
#include <memory>
#include <vector>

// What the examples of the documentation take for granted.
struct Batch {
  at::Tensor data, target, mask;
  std::int64_t size() const { return data.size(0); }
};
struct DataSet {
  std::int64_t size() const { return 0; }
  Batch get(std::int64_t) const { return {}; }
};
struct Model {
  at::Tensor forward(const at::Tensor& x) { return linear->forward(x); }
  std::vector<at::Tensor> parameters() { return linear->parameters(); }
  torch::nn::Linear linear{4, 10};
};
struct Things {
  at::Tensor preds, target, weight, value, features, x, y, loss, losses, scores;
  std::shared_ptr<Model> model = std::make_shared<Model>();
  std::vector<Batch> batches;
  std::vector<Batch>* loader = &batches;
  Batch batch;
  DataSet set;
  torch::optim::SGD optimizer{model->parameters(), 0.1};
  tally::MulticlassAccuracy metric{10};
  std::function<at::Tensor(const Batch&)> score_of, loss_of;
};

#define EXAMPLE_THINGS(things)        \
  using namespace tally;              \
  auto& preds = things.preds;         \
  auto& target = things.target;       \
  auto& weight = things.weight;       \
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
  auto& set = things.set;             \
  auto& optimizer = things.optimizer; \
  auto& metric = things.metric;       \
  auto& score_of = things.score_of;   \
  auto& loss_of = things.loss_of;     \
  auto communicator = sync::default_communicator();

#include "tests/docs/examples.inc"

namespace {

// The README's first lines, run; the others need only compile, as their inputs
// are made up.
TEST(ExamplesTest, ReadmeRuns) {
  Things things;
  things.loader->push_back(
      {torch::rand({40, 4}), torch::arange(40).remainder(10), {}});
  things.preds = torch::rand({5}).requires_grad_();
  things.target = torch::rand({5});
  ::testing::internal::CaptureStdout();
  example_README_md_1(things);
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("accuracy"), std::string::npos) << printed;
  EXPECT_NE(printed.find("auroc"), std::string::npos) << printed;
  EXPECT_TRUE(things.preds.grad().defined());
}

}  // namespace
