#pragma once

#include <torch/data/datasets/base.h>
#include <torch/data/example.h>

#include <cstddef>
#include <optional>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

// What the examples of the documentation call train_set and test_set.
struct TrainSet : torch::data::datasets::Dataset<TrainSet> {
  torch::data::Example<> get(std::size_t) override { return {}; }
  std::optional<std::size_t> size() const override { return 0; }
};
inline TrainSet train_set, test_set;
// And a group of the program's own.
inline c10::intrusive_ptr<c10d::ProcessGroup> group;
