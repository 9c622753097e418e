#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>
#include <torch/data/example.h>
#include <torch/data/transforms/collate.h>

#include <utility>
#include <vector>

namespace tally::training {

/// Collates a list of examples like torch::data::transforms::Stack, and an
/// empty list into a batch without rows, where that one throws. `example` is
/// any example of the data set: batches without rows have its dtypes and sizes.
///
/// Errors: c10::Error, like at::stack, for examples of different sizes.
///
/// Example:
///     training::Stack<> collate(train_set.get(0));
///     auto loader = torch::data::make_data_loader(
///         train_set.map(collate),
///         training::ShardSampler(*train_set.size()), 32);
///     torch::data::Example<> empty_batch = collate.empty_batch();
template <typename E = torch::data::Example<>>
class Stack;

template <>
class Stack<torch::data::Example<>>
    : public torch::data::transforms::Collation<torch::data::Example<>> {
 public:
  explicit Stack(const torch::data::Example<>& example)
      : empty_{at::stack({example.data}).slice(0, 0, 0),
               at::stack({example.target}).slice(0, 0, 0)} {}

  torch::data::Example<> apply_batch(
      std::vector<torch::data::Example<>> examples) override {
    if (examples.empty()) return empty_batch();
    std::vector<at::Tensor> data, targets;
    for (torch::data::Example<>& example : examples) {
      data.push_back(std::move(example.data));
      targets.push_back(std::move(example.target));
    }
    return {at::stack(data), at::stack(targets)};
  }
  /// A batch without rows.
  torch::data::Example<> empty_batch() const {
    return {empty_.data.clone(), empty_.target.clone()};
  }

 private:
  torch::data::Example<> empty_;
};

template <>
class Stack<torch::data::TensorExample>
    : public torch::data::transforms::Collation<torch::data::TensorExample> {
 public:
  explicit Stack(const torch::data::TensorExample& example)
      : empty_(at::stack({example.data}).slice(0, 0, 0)) {}

  torch::data::TensorExample apply_batch(
      std::vector<torch::data::TensorExample> examples) override {
    if (examples.empty()) return empty_batch();
    std::vector<at::Tensor> data;
    for (torch::data::TensorExample& example : examples) {
      data.push_back(std::move(example.data));
    }
    return at::stack(data);
  }
  /// A batch without rows.
  torch::data::TensorExample empty_batch() const { return empty_.data.clone(); }

 private:
  torch::data::TensorExample empty_;
};

}  // namespace tally::training
