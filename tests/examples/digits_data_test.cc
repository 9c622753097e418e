#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tally/examples/digits/data.h"
#include "tally/tests/testing/refusal.h"

namespace digits {
namespace {

std::string row_of(const std::string& pixel, const std::string& label) {
  std::string row;
  for (int i = 0; i < 64; ++i) row += pixel + ",";
  return row + label + "\n";
}

std::string refusal_of(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/digits.csv";
  std::ofstream(path) << text;
  const std::string refusal = tally::testkit::refusal_of<std::runtime_error>(
      [&] { read_digits(path); });
  std::remove(path.c_str());
  return refusal.substr(refusal.find("digits.csv"));
}

TEST(DigitsDataTest, ReadsTheFileInTheRepository) {
  const Digits digits = read_digits(find_digits());
  ASSERT_EQ(digits.images.sizes(), at::IntArrayRef({1797, 64}));
  ASSERT_EQ(digits.size(), 1797);
  EXPECT_EQ(digits.images.scalar_type(), at::kDouble);
  EXPECT_EQ(digits.images[0][2].item<double>(), 5.0 / 16);
  EXPECT_EQ(digits.labels[3].item<std::int64_t>(), 3);
  EXPECT_EQ(digits.images.max().item<double>(), 1);
}

TEST(DigitsDataTest, SplitsTheSameWayEachTime) {
  const Digits digits = read_digits(find_digits());
  const Split first = split(digits);
  EXPECT_EQ(first.train.size(), 1437);
  EXPECT_EQ(first.test.size(), 360);
  EXPECT_TRUE(split(digits).test.images.equal(first.test.images));
  // Nothing is lost or repeated.
  EXPECT_TRUE(first.train.images.sum(0)
                  .add(first.test.images.sum(0))
                  .equal(digits.images.sum(0)));
}

TEST(DigitsDataTest, SaysWhereTheFileIsNotAsExpected) {
  const std::string good = row_of("16", "9");
  EXPECT_EQ(refusal_of(good + row_of("17", "9")),
            "digits.csv, row 2, column 1: expected an integer from 0 to 16, "
            "got '17'");
  EXPECT_EQ(refusal_of(row_of("0", "10")),
            "digits.csv, row 1, column 65: expected an integer from 0 to 9, "
            "got '10'");
  EXPECT_EQ(refusal_of(row_of(" 1", "3")),
            "digits.csv, row 1, column 1: expected an integer from 0 to 16, "
            "got ' 1'");
  EXPECT_EQ(refusal_of(good + good + "0,1,2\n"),
            "digits.csv, row 3, column 4: the line ends");
  EXPECT_EQ(refusal_of(good + "\n" + good),
            "digits.csv, row 2, column 1: expected an integer from 0 to 16, "
            "got ''");
  EXPECT_EQ(refusal_of(row_of("0", "1,2")),
            "digits.csv, row 1, column 66: expected the line to end, got '2'");
  EXPECT_EQ(refusal_of(good), "digits.csv: expected more than 360 rows, got 1");
  EXPECT_THROW(read_digits("no/digits.csv"), std::runtime_error);
}

}  // namespace
}  // namespace digits
