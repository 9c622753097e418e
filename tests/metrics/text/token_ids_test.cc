#include "tally/metrics/text/kernels/token_ids.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tally::internal::text {
namespace {

TEST(TokenIdsTest, EqualTokensHaveEqualIds) {
  TokenIds ids;
  EXPECT_EQ(ids.id("the"), 0u);
  EXPECT_EQ(ids.id("cat"), 1u);
  EXPECT_EQ(ids.id(std::string("the")), 0u);
  EXPECT_EQ(ids.id(""), 2u);
  EXPECT_EQ(ids.id(std::string_view("a\0b", 3)), 3u);
  EXPECT_EQ(ids.id(std::string_view("a\0c", 3)), 4u);
  EXPECT_EQ(ids.size(), 5u);
  ids.clear();
  EXPECT_EQ(ids.size(), 0u);
  EXPECT_EQ(ids.id("cat"), 0u);
  EXPECT_EQ(ids.id(U"cat"), 1u);
}

TEST(TokenIdsTest, ManyTokensKeepTheirIds) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 5000; ++i) tokens.push_back("t" + std::to_string(i));
  TokenIds ids;
  for (int round = 0; round < 3; ++round) {
    ids.clear();
    for (std::uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(ids.id(tokens[i]), i);
    for (std::uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(ids.id(tokens[i]), i);
  }
}

}  // namespace
}  // namespace tally::internal::text
