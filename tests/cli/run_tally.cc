#include "tally/tests/cli/run_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::cli {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Words evaluate(Words words) {
  words.insert(words.begin(), {"cli/tally", "evaluate"});
  return words;
}

void expect_near(const Json& value, const Json& wanted, double tolerance) {
  ASSERT_EQ(value.is_array(), wanted.is_array()) << value << wanted;
  if (!value.is_array()) {
    EXPECT_NEAR(value.get<double>(), wanted.get<double>(), tolerance);
    return;
  }
  ASSERT_EQ(value.size(), wanted.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    expect_near(value[i], wanted[i], tolerance);
  }
}

void expect_refusal(const testkit::Program::Result& result,
                    const std::string& what) {
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(result.errors, StartsWith("tally: "));
  EXPECT_THAT(result.errors, HasSubstr(what));
  EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1);
}

}  // namespace tally::cli
