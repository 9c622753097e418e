#include "tally/metrics/slices/slice_keys.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::refusal_of;
using Texts = std::vector<std::string>;
using Values = std::vector<SliceValue>;

TEST(SliceKeysTest, BytesAreInTheOrderOfKeys) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Values values = {{},
                         kLeast,
                         std::int64_t{-1},
                         std::int64_t{0},
                         std::int64_t{255},
                         std::int64_t{256},
                         std::string(),
                         std::string("\0", 1),
                         std::string("\0a", 2),
                         std::string("a"),
                         std::string("a\0", 2),
                         std::string("ab"),
                         std::string("\xff")};
  const SliceKeys keys(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(keys.keys()[i - 1], keys.keys()[i]) << i;
    }
    for (const SliceValue& second : values) {
      const std::vector<SliceValue> key = {values[i], second};
      EXPECT_EQ(internal::slice_key_of(internal::slice_key_bytes(key)), key);
    }
  }
}

TEST(SliceKeysTest, NumberEachKeyOnce) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  // Close to each other, and far apart.
  for (const std::int64_t other : {std::int64_t{-3}, kMost}) {
    const SliceKeys keys(at::tensor({other, -other, other, std::int64_t{0}}));
    EXPECT_THAT(keys.codes(), ElementsAre(0, 1, 0, 2));
    EXPECT_EQ(keys.keys()[1], internal::slice_key_bytes({-other}));
  }
  const SliceKeys texts(Texts{"a", "b", "a", "a"});
  const SliceKeys crossed =
      texts.crossed_with(SliceKeys(at::tensor({7, 7, 8, 7})));
  EXPECT_THAT(crossed.codes(), ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(crossed.keys()[2],
            internal::slice_key_bytes({std::string("a"), std::int64_t{8}}));
}

TEST(SliceKeysTest, FindIntegersWhereverTheyAre) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  // Values that rise, that fall, that lie on both sides and at the ends, and
  // that become too far apart after many rows.
  const at::Tensor rising = at::arange(40000);
  const at::Tensor ends = at::tensor({kMost, kLeast, kMost, kLeast + 1});
  for (const at::Tensor& values :
       {rising, rising.neg(), rising.mul(7919).remainder(30011).sub(15000),
        at::cat({rising.remainder(5), rising.add(kLeast), rising}),
        rising.sub(40000).add(kMost), ends, at::cat({rising, ends, rising}),
        rising.remainder(200).to(at::kByte), rising.remainder(9).to(at::kShort),
        rising.remainder(9).sub(4).to(at::kInt), rising.gt(7)}) {
    const SliceKeys keys(values);
    const at::Tensor expected = values.to(at::kLong).contiguous();
    const auto* const value = expected.const_data_ptr<std::int64_t>();
    std::unordered_map<std::int64_t, std::int32_t> codes;
    for (std::size_t i = 0; i < keys.codes().size(); ++i) {
      const auto code = static_cast<std::int32_t>(codes.size());
      ASSERT_EQ(keys.codes()[i], codes.emplace(value[i], code).first->second);
      ASSERT_EQ(keys.keys()[static_cast<std::size_t>(keys.codes()[i])],
                internal::slice_key_bytes({value[i]}));
    }
    EXPECT_EQ(keys.keys().size(), codes.size());
  }
}

TEST(SliceKeysTest, AreValuesByTheirPlaces) {
  const Values values = {std::string("never"),
                         std::string("b"),
                         {},
                         std::int64_t{7},
                         std::string("b")};
  for (const at::ScalarType dtype : {at::kLong, at::kInt, at::kByte}) {
    const SliceKeys keys(at::tensor({4, 2, 1, 3}).to(dtype), values);
    EXPECT_THAT(keys.codes(), ElementsAre(0, 1, 0, 2));
    EXPECT_THAT(keys.keys(),
                ElementsAre(internal::slice_key_bytes({values[1]}),
                            internal::slice_key_bytes({values[2]}),
                            internal::slice_key_bytes({values[3]})));
  }
  for (const std::int64_t code : {-1, 5}) {
    EXPECT_EQ(refusal_of([&] { SliceKeys(at::tensor({code}), values); }),
              "slices: expected codes from 0 on that are places of 5 values, "
              "got " +
                  std::to_string(code));
  }
  EXPECT_EQ(SliceKeys(at::empty({0}, at::kLong), Values()).size(), 0);
}

TEST(SliceKeysTest, AreIntegersOrTexts) {
  EXPECT_THAT(refusal_of<c10::TypeError>([] { SliceKeys keys(at::rand({3})); }),
              HasSubstr("expected integers or texts as keys, got Float; put "
                        "numbers into bins"));
  EXPECT_EQ(refusal_of([] {
              SliceKeys keys(at::arange(4).view({2, 2}));
            }),
            "slices: expected keys of sizes [N], got [2, 2]");
  EXPECT_EQ(refusal_of([] {
              SliceKeys(at::arange(2)).crossed_with(SliceKeys(at::arange(3)));
            }),
            "slices: expected columns of the same number of rows, got 2 and 3");
}

}  // namespace
}  // namespace tally
