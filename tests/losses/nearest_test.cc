#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/losses/codebook/nearest_codes.h"

namespace tally::losses::internal {
namespace {

/// Numbers of 24 bits from -1 to 1 that no processor rounds.
at::Tensor numbers(at::IntArrayRef sizes, std::uint64_t seed) {
  at::Tensor result = at::empty(sizes, at::kFloat);
  auto* const values = result.mutable_data_ptr<float>();
  std::uint64_t state = seed;
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values[i] = static_cast<float>(static_cast<std::int64_t>(state >> 40) -
                                   (std::int64_t{1} << 23)) *
                0x1p-23f;
  }
  return result;
}

std::vector<std::int64_t> by_definition(const at::Tensor& tokens,
                                        const at::Tensor& codes, bool cosine) {
  const at::Tensor t = tokens.to(at::kDouble).contiguous();
  const at::Tensor c = codes.to(at::kDouble).contiguous();
  const auto* token = t.const_data_ptr<double>();
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < t.size(0); ++i, token += t.size(1)) {
    long double least = std::numeric_limits<long double>::infinity();
    const auto* code = c.const_data_ptr<double>();
    result.push_back(0);
    for (std::int64_t j = 0; j < c.size(0); ++j, code += c.size(1)) {
      long double sum = 0;
      for (std::int64_t k = 0; k < c.size(1); ++k) {
        const long double a = token[k], b = code[k];
        sum += cosine ? -a * b : (a - b) * (a - b);
      }
      if (sum >= least) continue;
      least = sum;
      result.back() = j;
    }
  }
  return result;
}

/// However the tokens are cut.
void expect_nearest(const at::Tensor& tokens, const at::Tensor& codes,
                    bool cosine, const std::vector<std::int64_t>& expected) {
  const at::Tensor wanted = at::tensor(expected);
  for (std::int64_t rows : {1, 2, 3, 6, 13, 26}) {
    std::vector<at::Tensor> found, by_device;
    for (const at::Tensor& piece : tokens.split(rows)) {
      found.push_back(nearest(piece, codes, cosine));
      by_device.push_back(nearest_by_device(piece, codes, cosine));
    }
    EXPECT_TRUE(at::cat(found).equal(wanted))
        << rows << " rows: " << at::cat(found);
    EXPECT_TRUE(at::cat(by_device).equal(wanted)) << rows << " rows";
  }
}

struct Case {
  std::string name;
  at::Tensor tokens;
  at::Tensor codes;
};

/// Codes that rounded products cannot tell apart.
std::vector<Case> hard_cases(std::int64_t dims) {
  const at::Tensor tokens = numbers({26, dims}, 1);
  const at::Tensor codes = numbers({40, dims}, 2);
  const at::Tensor twice = at::cat({codes, codes.flip(0), codes});
  const at::Tensor near = codes[0] + numbers({40, dims}, 4) * 0x1p-20;
  at::Tensor one_long = twice.clone();
  one_long[5] *= 1e6;
  return {
      {"apart", tokens, codes},
      {"more than one block", tokens, numbers({400, dims}, 3)},
      {"equal", tokens, twice},
      {"all equal", tokens, codes[0].expand_as(codes).contiguous()},
      {"nearly equal", tokens, near},
      {"at codes", near.narrow(0, 3, 26), near},
      {"far from 0", tokens + 1e4, twice + 1e4},
      {"far from 0, narrow", tokens * 0x1p-6 + 8, twice * 0x1p-6 + 8},
      {"one long", tokens, one_long},
      {"squares overflow", tokens * 1e25, twice * 1e25},
      {"squares underflow", tokens * 1e-25, twice * 1e-25},
      {"at 0", at::zeros_like(tokens), codes},
  };
}

TEST(NearestTest, DependsOnTokenAndCodesAlone) {
  for (std::int64_t dims : {1, 7, 64}) {
    for (const Case& one : hard_cases(dims)) {
      for (bool cosine : {false, true}) {
        SCOPED_TRACE(c10::str(one.name, ", size ", dims, ", cosine ", cosine));
        const auto expected = by_definition(one.tokens, one.codes, cosine);
        expect_nearest(one.tokens, one.codes, cosine, expected);
        expect_nearest(one.tokens.to(at::kDouble), one.codes.to(at::kDouble),
                       cosine, expected);
      }
    }
  }
}

TEST(NearestTest, IsTheSameOnEveryProcessor) {
  const Case near = hard_cases(64)[4];
  ASSERT_EQ(near.name, "nearly equal");
  expect_nearest(near.tokens, near.codes, false,
                 {27, 27, 16, 16, 2,  0,  12, 38, 28, 16, 12, 10, 27,
                  18, 22, 38, 16, 10, 14, 27, 17, 17, 27, 16, 16, 16});
}

TEST(NearestTest, IsTheSameForAnyNumberOfThreads) {
  const at::Tensor codes = numbers({512, 24}, 1).repeat({2, 1});
  const at::Tensor tokens = at::cat({codes, numbers({2000, 24}, 2)});
  const int threads = at::get_num_threads();
  for (int some : {1, 2, 5}) {
    at::set_num_threads(some);
    const at::Tensor found = nearest(tokens, codes, false);
    EXPECT_TRUE(found.narrow(0, 0, 512).equal(at::arange(512)));
    EXPECT_TRUE(found.narrow(0, 512, 512).equal(at::arange(512)));
    const at::Tensor last = nearest(tokens.narrow(0, 1900, 1124), codes, false);
    EXPECT_TRUE(last.equal(found.narrow(0, 1900, 1124))) << some << " threads";
  }
  at::set_num_threads(threads);
}

TEST(NearestTest, SquaresOfFloat64MayOverflowOrUnderflow) {
  const at::Tensor tokens = numbers({26, 5}, 1).to(at::kDouble);
  const at::Tensor codes = numbers({40, 5}, 2).to(at::kDouble);
  const auto expected = by_definition(tokens, codes, false);
  // Powers of 2 change no digit.
  for (double scale : {0x1p900, 0x1p-900}) {
    expect_nearest(tokens * scale, codes * scale, false, expected);
  }
  // One code is too far away to be compared.
  at::Tensor far = codes.clone();
  far[0] = 0x1p1000;
  const auto without = by_definition(tokens, far, false);
  expect_nearest(tokens, far, false, without);
}

TEST(NearestTest, NumbersThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  at::Tensor tokens = numbers({26, 5}, 1), codes = numbers({40, 5}, 2);
  auto expected = by_definition(tokens, codes, false);
  tokens[3][1] = nan;
  tokens[4][2] = -infinity;
  expected[3] = expected[4] = 0;
  expect_nearest(tokens, codes, false, expected);
  // As if it were not there.
  const at::Tensor few = codes.narrow(0, 0, 3);
  expected = by_definition(tokens, few, false);
  expected[3] = expected[4] = 0;
  const at::Tensor infinite = at::full({1, 5}, infinity);
  expect_nearest(tokens, at::cat({few, infinite}), false, expected);
  expect_nearest(tokens, infinite, false, std::vector<std::int64_t>(26, 0));
  codes[7][0] = nan;
  codes[9][0] = nan;
  expect_nearest(tokens, codes, false, std::vector<std::int64_t>(26, 7));
}

TEST(NearestTest, ProductsMayBeOfLowerPrecision) {
  const at::Tensor tokens = numbers({300, 64}, 1);
  const at::Tensor codes = numbers({400, 64}, 2);
  const at::Tensor expected = at::tensor(by_definition(tokens, codes, false));
  for (const char* precision : {"high", "medium", "highest"}) {
    at::globalContext().setFloat32MatmulPrecision(precision);
    EXPECT_TRUE(nearest(tokens, codes, false).equal(expected)) << precision;
    EXPECT_TRUE(nearest_by_device(tokens, codes, false).equal(expected))
        << precision;
  }
}

TEST(NearestTest, TakesBatchesOfAnySize) {
  const at::Tensor codes = numbers({3, 2}, 1);
  EXPECT_EQ(nearest(at::zeros({0, 2}), codes, false).numel(), 0);
  EXPECT_EQ(nearest_by_device(at::zeros({0, 2}), codes, false).numel(), 0);
  const at::Tensor one = numbers({1, 2}, 1);
  EXPECT_EQ(nearest(one, one, false).item<std::int64_t>(), 0);
  EXPECT_EQ(nearest_by_device(one, one, false).item<std::int64_t>(), 0);
  // Products of several pieces, and rows that do not lie together.
  const at::Tensor many = numbers({1 << 20, 2}, 2), some = numbers({50, 2}, 3);
  const at::Tensor found = nearest(many.flip(0), some, false).flip(0);
  EXPECT_TRUE(found.equal(nearest(many, some, false)));
  EXPECT_TRUE(found.narrow(0, 0, 9).equal(
      at::tensor(by_definition(many.narrow(0, 0, 9), some, false))));
}

}  // namespace
}  // namespace tally::losses::internal
