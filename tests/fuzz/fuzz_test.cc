#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/registry/registry.h"
#include "tally/sync/errors.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/saved.h"
#include "tally/tests/testing/mutator.h"

// What the fuzzer begins with, and texts near by, through the functions that
// the fuzzer calls. CONTRIBUTING.md says how to fuzz.

namespace tally::fuzz {
namespace {

constexpr int kMutations = 1500;

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

/// Made seeds, and the files of the corpus in the order of their names.
std::vector<std::string> inputs_of(const Entry& entry) {
  std::vector<std::string> inputs;
  if (entry.seeds != nullptr) inputs = entry.seeds();
  const std::filesystem::path folder =
      std::filesystem::path("tests/fuzz/corpus") / entry.name;
  std::vector<std::filesystem::path> files;
  if (std::filesystem::exists(folder)) {
    files.assign(std::filesystem::directory_iterator(folder), {});
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) inputs.push_back(contents_of(path));
  return inputs;
}

/// What is wrong with how an input was taken; empty if nothing is.
std::string defect(const Entry& entry, const std::string& input) {
  try {
    entry.run(input);
    return {};
  } catch (const std::exception& error) {
    return sync::describe(error) + "\n for " +
           ::testing::PrintToString(input.substr(0, 200));
  }
}

class FuzzTest : public ::testing::TestWithParam<Entry> {};

TEST_P(FuzzTest, TakesItsCorpus) {
  const auto inputs = inputs_of(GetParam());
  ASSERT_FALSE(inputs.empty());
  for (const std::string& input : inputs) {
    EXPECT_EQ(defect(GetParam(), input), "");
  }
  EXPECT_EQ(defect(GetParam(), ""), "");
}

TEST_P(FuzzTest, TakesWhatIsNearItsCorpus) {
  const auto inputs = inputs_of(GetParam());
  testkit::Mutator mutate(1);
  for (int i = 0; i < kMutations && !HasFailure(); ++i) {
    EXPECT_EQ(defect(GetParam(), mutate(inputs[i % inputs.size()])), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Entries, FuzzTest, ::testing::ValuesIn(entries()),
                         [](const auto& entry) {
                           return std::string(entry.param.name);
                         });

TEST(ForgedUnitsTest, WithMoreRowsThanThereAreAreRefused) {
  IntervalOptions options;
  options.method(IntervalMethod::kJackknife).replicates(20);
  IntervalMetric interval(make_metric("SpearmanCorrCoef"), options);
  // The first byte is the method's.
  const std::string body =
      contents_of("tests/fuzz/corpus/interval/rows_of_a_part").substr(1);
  ASSERT_TRUE(interval.deserialize(sealed(body)).ok());
  try {
    interval.compute();
    FAIL() << "expected an error";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                ::testing::HasSubstr("numbers and rows of each part"));
  }
}

}  // namespace
}  // namespace tally::fuzz
