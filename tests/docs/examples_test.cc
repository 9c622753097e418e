#include <gtest/gtest.h>
#include <tally/tally.h>
#include <torch/torch.h>

#include <iostream>

#include "tally/tests/docs/things.h"

// Here, as torch::data costs each source that includes it.
struct TrainSet : torch::data::datasets::Dataset<TrainSet> {
  torch::data::Example<> get(std::size_t) override { return {}; }
  std::optional<std::size_t> size() const override { return 0; }
};
TrainSet train_set;

// Behind the others.
#include "tests/docs/other.inc"

namespace {

// That they compile is all there is to test, as their inputs are made up.
TEST(ExamplesTest, Compile) {}

}  // namespace
