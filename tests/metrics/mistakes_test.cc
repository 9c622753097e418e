#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace tally {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(MistakesTest, EachIsOneErrorThatSaysWhatToWrite) {
  std::ifstream said("tests/metrics/mistakes.txt");
  std::vector<std::string> errors;
  for (std::string line; std::getline(said, line);) {
    if (line.find("error: ") != std::string::npos) errors.push_back(line);
  }
  EXPECT_THAT(
      errors,
      UnorderedElementsAre(
          HasSubstr("observe() of an observer is const"),
          HasSubstr("merge of a state is `static State merge("),
          HasSubstr("validate() of options takes the metric's name and is "
                    "const"),
          HasSubstr("this one takes other options than the metric has"),
          HasSubstr("an observer that needs MetricOptions takes them behind "
                    "the metric's options"),
          HasSubstr("those with a default, and no others, are optional"),
          HasSubstr("the InputKind of each of kInputs goes with the type"),
          HasSubstr("a field is an std::int64_t, a tally::Number (use it for "
                    "double and float)"),
          HasSubstr("give the metric its name"),
          HasSubstr("expected inputs as the metric's header lists them"),
          HasSubstr("a loss needs a differentiable metric, and this one is "
                    "not"),
          HasSubstr("slices have no forward()"),
          HasSubstr("intervals and comparisons have no forward()"),
          HasSubstr("a braced list has no type"),
          HasSubstr("a braced list has no type")));
}

}  // namespace
}  // namespace tally
