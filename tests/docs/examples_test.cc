#include <gtest/gtest.h>
#include <tally/tally.h>
#include <torch/torch.h>

#include <iostream>
#include <string>

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
