#include <ATen/ops/zeros.h>
#include <c10/util/Type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/serialize.h>

#include <memory>
#include <sstream>
#include <typeinfo>

#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"
#include "tally/training/sync_batch_norm.h"

namespace tally::training {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::run_thread_ranks;

TEST(ConvertSyncBatchNormTest, TakesThePlaceOfABatchNorm) {
  torch::nn::BatchNorm2d other(
      torch::nn::BatchNormOptions(3).eps(1e-3).momentum(0.3));
  {
    const at::NoGradGuard no_grad;
    other->weight.fill_(2);
  }
  other->eval();
  SyncBatchNorm2d norm(other);
  EXPECT_TRUE(norm->weight.is_same(other->weight));
  EXPECT_TRUE(norm->running_var.is_same(other->running_var));
  EXPECT_TRUE(
      norm->named_buffers()["running_mean"].is_same(other->running_mean));
  EXPECT_FALSE(norm->is_training());
  EXPECT_EQ(norm->options.eps(), 1e-3);
  EXPECT_EQ(norm->options.momentum(), 0.3);

  const auto copy =
      std::dynamic_pointer_cast<SyncBatchNorm2dImpl>(norm->clone());
  EXPECT_FALSE(copy->weight.is_same(norm->weight));
  EXPECT_TRUE(copy->weight.equal(norm->weight));
  EXPECT_EQ(c10::str(*norm),
            "tally::training::SyncBatchNorm2d(3, eps=0.001, momentum=0.3, "
            "affine=true, track_running_stats=true)");

  std::stringstream bytes;
  torch::save(norm, bytes);
  torch::nn::BatchNorm2d loaded(3);
  torch::load(loaded, bytes);
  EXPECT_TRUE(loaded->weight.equal(norm->weight));
}

// A Sequential cannot hold another one as it is.
struct BlockImpl : torch::nn::SequentialImpl {
  using SequentialImpl::SequentialImpl;
  at::Tensor forward(const at::Tensor& input) {
    return SequentialImpl::forward(input);
  }
};
TORCH_MODULE(Block);

torch::nn::Sequential net_with_norms() {
  torch::nn::BatchNorm2d shared(4);
  return torch::nn::Sequential(
      torch::nn::Conv2d(2, 4, 3), shared,
      Block(torch::nn::Conv2d(4, 4, 1), shared, torch::nn::BatchNorm2d(4)));
}

TEST(ConvertSyncBatchNormTest, ConvertsSequentials) {
  torch::nn::Sequential net = net_with_norms();
  const auto parameters = net->named_parameters();
  EXPECT_EQ(convert_sync_batch_norm(*net), 3u);
  EXPECT_EQ(net->named_parameters().keys(), parameters.keys());
  for (const auto& item : net->named_parameters()) {
    EXPECT_TRUE(item.value().is_same(parameters[item.key()])) << item.key();
  }
  const auto modules = net->named_modules();
  const auto* norm = modules["2.2"]->as<SyncBatchNorm2d>();
  ASSERT_NE(norm, nullptr);
  EXPECT_EQ(norm->options.name(), "2.2");
  EXPECT_EQ(modules["1"], modules["2.1"]);
  EXPECT_EQ(modules["1"]->as<torch::nn::BatchNorm2d>(), nullptr);
  EXPECT_EQ(convert_sync_batch_norm(*net), 0u);
}

TEST(ConvertSyncBatchNormTest, ForwardFindsThem) {
  run_thread_ranks(2, [&](const auto& communicator) {
    torch::nn::Sequential net = net_with_norms();
    convert_sync_batch_norm(*net);
    net->forward(at::zeros({2 - 2 * communicator->rank(), 2, 5, 5}));
    EXPECT_EQ(communicator->collectives(), 3);
  });
}

struct Net : torch::nn::Module {
  Net() : norm(register_module("norm", torch::nn::BatchNorm1d(4))) {}
  torch::nn::BatchNorm1d norm;
};

TEST(ConvertSyncBatchNormTest, RefusesWhatItCannotExchange) {
  const auto net = std::make_shared<Net>();
  torch::nn::Sequential model;
  model->push_back("first", torch::nn::BatchNorm1d(4));
  model->register_module("net", net);
  EXPECT_THAT(
      refusal_of([&] { convert_sync_batch_norm(*model); }),
      HasSubstr("expected batch norms in Sequentials, got net.norm in " +
                c10::demangle(typeid(Net).name()) +
                ", whose forward() calls a member of type BatchNorm"));
  EXPECT_NE(model->ptr(0)->as<torch::nn::BatchNorm1d>(), nullptr);
  EXPECT_THAT(
      refusal_of([&] { convert_sync_batch_norm(*net->norm); }),
      HasSubstr("expected a module that holds batch norms, got "
                "torch::nn::BatchNorm1dImpl; make a SyncBatchNorm of it"));
}

TEST(ConvertSyncBatchNormTest, RefusesOtherRanks) {
  run_thread_ranks(2, [](const auto& communicator) {
    torch::nn::Sequential net(torch::nn::BatchNorm1d(4),
                              torch::nn::BatchNorm1d(4));
    EXPECT_EQ(convert_sync_batch_norm(*net, communicator), 2u);
    EXPECT_EQ(convert_sync_batch_norm(*net, communicator), 0u);
    EXPECT_THAT(refusal_of([&] {
                  convert_sync_batch_norm(*net,
                                          sync::single_process_communicator());
                }),
                HasSubstr("expected 0 to have single process, got a "
                          "SyncBatchNorm of " +
                          communicator->describe()));
  });
}

}  // namespace
}  // namespace tally::training
