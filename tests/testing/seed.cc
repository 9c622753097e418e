#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace tally::testkit {
namespace {

/// Every test draws the same numbers in every run, and others with
/// --gtest_random_seed. LibTorch seeds its generator from the machine's.
class Seed : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo&) override {
    at::manual_seed(::testing::GTEST_FLAG(random_seed));
  }
};

[[maybe_unused]] const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Seed);
  return true;
}();

}  // namespace
}  // namespace tally::testkit
