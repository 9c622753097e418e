#include "tally/testing/matchers.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/sync/collectives.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::testkit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StringMatchResultListener;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<sync::Communicator>;

// What the matcher says; empty if it matches.
template <class Matcher, class Value>
std::string complaint(const Matcher& matcher, const Value& value) {
  StringMatchResultListener listener;
  const ::testing::Matcher<Value> typed = matcher;
  const bool matches = typed.MatchAndExplain(value, &listener);
  return matches ? "" : listener.str();
}

// `call(group)` on each rank.
template <class Call>
std::vector<std::string> on_ranks(int ranks, const Call& call) {
  std::vector<std::string> texts(ranks);
  run_thread_ranks(
      ranks, [&](const Group& group) { texts[group->rank()] = call(group); });
  return texts;
}

TEST(NearTest, MatchesWithinTheTolerance) {
  const at::Tensor expected = at::tensor({1.0, 2.0, 4.0}, at::kDouble);
  EXPECT_THAT(expected.clone(), Near(expected));
  EXPECT_THAT(expected.add(5e-8), Near(expected));
  EXPECT_THAT(expected.add(1e-6), Not(Near(expected)));
  EXPECT_THAT(expected.mul(1.09), Near(expected, 0.1, 0));
  EXPECT_THAT(expected.add(0.09), Near(expected, 0, 0.1));
  EXPECT_THAT(expected.add(0.5), Not(Near(expected, 0.1, 0.1)));
  const at::Tensor narrow = expected.to(at::kFloat);
  EXPECT_THAT(narrow.add(1e-6f), Near(narrow));
  EXPECT_THAT(at::arange(3), Near(at::arange(3)));
  EXPECT_THAT(at::arange(3), Not(Near(at::arange(3).add(1))));
  EXPECT_THAT(at::Tensor(), Near(at::Tensor()));
}

TEST(NearTest, SaysWhereValuesDiffer) {
  const at::Tensor expected = at::zeros({2, 4}, at::kDouble).add(2);
  const at::Tensor actual = expected.clone();
  actual[0][3] = 2.5;
  actual[1][2] = 1;
  EXPECT_EQ(complaint(Near(expected, 1e-3, 0), actual),
            "where 2 of 8 values off by more than rtol 0.001 and atol 0 allow; "
            "largest absolute error 1 at [1, 2], relative 0.5 at [1, 2]\n"
            "  got 2.5, expected 2 at [0, 3]; off by 0.5\n"
            "  got 1, expected 2 at [1, 2]; off by 1 (Double [2, 4], expected "
            "Double [2, 4])");
  EXPECT_THAT(complaint(Near(at::zeros({100})), at::ones({100})),
              HasSubstr("\n  and 95 more"));
}

TEST(NearTest, KnowsNaNAndInfinities) {
  const double nan = NAN, infinity = INFINITY;
  const at::Tensor expected =
      at::tensor({nan, infinity, -infinity, 1.0}, at::kDouble);
  EXPECT_THAT(expected, Near(expected));
  const at::Tensor actual = expected.flip({0});
  EXPECT_THAT(
      complaint(Near(expected, 1, 1), actual),
      HasSubstr("4 of 4 values off by more than rtol 1 and atol 1 allow\n"
                "  got 1, expected nan at [0]\n"
                "  got -inf, expected inf at [1]\n"));
}

TEST(NearTest, ComparesLargeIntegersAndComplexNumbersExactly) {
  const std::int64_t large = std::int64_t{1} << 53;
  const at::Tensor expected = at::tensor({large}, at::kLong);
  EXPECT_THAT(complaint(Near(expected), expected.add(1)),
              HasSubstr("largest absolute error 1 at [0]"));
  const at::Tensor pairs = at::tensor({1.0, 2.0}, at::kDouble);
  const at::Tensor complex = at::view_as_complex(pairs);
  EXPECT_THAT(complex, Near(complex));
  EXPECT_THAT(complex.conj(), Not(Near(complex)));
}

TEST(NearTest, SaysThatShapeOrDtypeDiffers) {
  const at::Tensor expected = at::zeros({2, 3});
  EXPECT_EQ(complaint(Near(expected), at::zeros({3, 2})),
            "where got Float [3, 2], expected Float [2, 3]");
  EXPECT_THAT(complaint(Near(expected), at::zeros({2, 3}, at::kLong)),
              HasSubstr("got Long [2, 3], expected Float [2, 3]"));
  EXPECT_THAT(complaint(Near(expected), at::Tensor()),
              HasSubstr("got nothing, expected Float [2, 3]"));
  std::ostringstream description;
  ::testing::Matcher<at::Tensor>(Near(expected)).DescribeTo(&description);
  EXPECT_EQ(description.str(),
            "is near Float [2, 3] (rtol 1.3e-06, atol 1e-05)");
}

TEST(NearTest, MatchesResultsByName) {
  Results expected, actual, other;
  expected.add("a", at::zeros({}));
  expected.add("b", at::ones({}));
  actual.add("a", at::zeros({}));
  actual.add("b", at::ones({}).add(1));
  other.add("a", at::zeros({}));
  EXPECT_THAT(expected, Near(expected));
  EXPECT_THAT(complaint(Near(expected), actual),
              HasSubstr("in 'b' where 1 of 1 value off"));
  EXPECT_THAT(complaint(Near(expected), other),
              HasSubstr("got the results 'a' expected 'a' 'b'"));
}

TEST(SameOnAllRanksTest, MatchesTheSameBits) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_thread_ranks(ranks, [](const Group&) {
      EXPECT_THAT(at::arange(4), SameOnAllRanks());
      Results results;
      results.add("a", at::ones({2}, at::kHalf).requires_grad_());
      results.add("b", at::Tensor());
      EXPECT_THAT(results, SameOnAllRanks());
    });
  }
  EXPECT_THAT(at::ones({2}), SameOnAllRanks());
}

TEST(SameOnAllRanksTest, NamesTheRanksThatDiffer) {
  for (const int odd : {0, 2}) {
    const auto texts = on_ranks(5, [&](const Group& group) {
      at::Tensor value = at::ones({3}, at::kDouble);
      if (group->rank() == odd) value[1] = 2;
      return complaint(SameOnAllRanks(), value);
    });
    const std::string others = odd == 0 ? "1, 2, 3, 4" : "0, 1, 3, 4";
    for (const std::string& text : texts) {
      EXPECT_THAT(text, HasSubstr("where rank " + std::to_string(odd) +
                                  " differs from ranks " + others + "\nrank " +
                                  std::to_string(odd) + ": "));
      EXPECT_THAT(text, HasSubstr("got 2, expected 1 at [1]"));
    }
  }
  for (const std::string& text : on_ranks(3, [](const Group& group) {
         return complaint(SameOnAllRanks(), at::zeros({group->rank()}));
       })) {
    EXPECT_THAT(text, HasSubstr("ranks 1, 2 differ from rank 0\n"
                                "rank 1: got Float [1], expected Float [0]\n"));
  }
}

TEST(SameOnAllRanksTest, SeesBitsThatAreEqualAsNumbers) {
  for (const std::string& text : on_ranks(2, [](const Group& group) {
         const at::Tensor zero = at::zeros({}, at::kDouble);
         return complaint(SameOnAllRanks(group),
                          group->rank() == 0 ? zero : zero.neg());
       })) {
    EXPECT_THAT(text, HasSubstr("the values differ in their bits"));
  }
}

at::Tensor synced_mean(const Tensors& rows) {
  MeanMetric mean;
  mean.update(rows[0]);
  return mean.compute();
}

// With the gradient of the mean over all ranks.
at::Tensor mean_of_all(const Tensors& rows) {
  const at::Tensor own = at::stack(
      {rows[0].sum(), at::scalar_tensor(rows[0].numel(), at::kDouble)});
  const at::Tensor all = sync::all_reduce(own, sync::Reduction::kSum);
  return all[0].div(all[1]);
}

const at::Tensor& values() {
  static const at::Tensor values =
      at::tensor({0.5, 1.0, -2.0, 4.0, 0.25, 3.0, 1.5}, at::kDouble);
  return values;
}

template <class Function>
std::vector<std::string> one_process(int ranks, const Function& function,
                                     const OneProcessOptions& options = {}) {
  return on_ranks(ranks, [&](const Group&) {
    return std::string(
        EqualsOneProcess(function, {values()}, options).message());
  });
}

TEST(EqualsOneProcessTest, HoldsForWhatIsSynced) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::string& text : one_process(ranks, synced_mean)) {
      EXPECT_EQ(text, "");
    }
    for (const std::string& text : one_process(ranks, mean_of_all)) {
      EXPECT_EQ(text, "");
    }
  }
}

TEST(EqualsOneProcessTest, HoldsForRowsOfEachRank) {
  const auto centered = [](const Tensors& rows) {
    return rows[0].sub(mean_of_all(rows));
  };
  const auto options = OneProcessOptions().value(RankValue::kOfOwnRows);
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::string& text : one_process(ranks, centered, options)) {
      EXPECT_EQ(text, "");
    }
  }
}

TEST(EqualsOneProcessTest, SaysInWhichSplitTheValueDiffers) {
  // Means of means are right for even splits.
  const auto mean_of_means = [](const Tensors& rows) {
    return sync::all_reduce(rows[0].mean(), sync::Reduction::kSum)
        .div(sync::default_communicator()->size());
  };
  const auto texts = on_ranks(2, [&](const Group&) {
    return std::string(
        EqualsOneProcess(mean_of_means, {values().narrow(0, 0, 6)}).message());
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("split \"uneven\", rows [1, 5]: the value is "
                                "not that of one process\nrank 0: "));
    EXPECT_THAT(text, HasSubstr("\nrank 1: "));
  }
}

TEST(EqualsOneProcessTest, SaysThatGradientsDiffer) {
  // Each rank sees its own rows' gradient only, and not times W.
  const auto detached = [](const Tensors& rows) {
    const at::Tensor value = mean_of_all(rows);
    return value.detach().add(
        value.sub(value.detach()).div(sync::default_communicator()->size()));
  };
  for (const std::string& text : one_process(3, detached)) {
    EXPECT_THAT(text, HasSubstr("the gradients are not those of one process"));
    EXPECT_THAT(text, HasSubstr("input 0  off by the factor 1/W"));
  }
  for (const std::string& text :
       one_process(3, detached, OneProcessOptions().check_gradients(false))) {
    EXPECT_EQ(text, "");
  }
}

TEST(EqualsOneProcessTest, LeavesIdleRanksOutIfToldTo) {
  const auto strict = [](const Tensors& rows) {
    TORCH_CHECK_VALUE(rows[0].numel() > 0, "no rows");
    return mean_of_all(rows);
  };
  const auto options = OneProcessOptions().idle_ranks(false);
  for (const std::string& text : one_process(3, strict, options)) {
    EXPECT_EQ(text, "");
  }
  for (const std::string& text : on_ranks(3, [&](const Group&) {
         return refusal_of<c10::Error>(
             [&] { EqualsOneProcess(strict, {at::ones({2})}, options); });
       })) {
    EXPECT_THAT(text, HasSubstr("at least as many rows as ranks without idle "
                                "ranks, got 2 for 3 ranks"));
  }
}

TEST(EqualsOneProcessTest, RefusesRowsThatDoNotFit) {
  const auto refusal = [](const auto& function, const Tensors& rows) {
    return refusal_of<c10::ValueError>(
        [&] { EqualsOneProcess(function, rows); });
  };
  EXPECT_THAT(refusal(synced_mean, {}), HasSubstr("at least one tensor"));
  EXPECT_THAT(refusal(synced_mean, {at::ones({2}), at::ones({3})}),
              HasSubstr("expected 2 rows in tensor 1, got 3"));
  EXPECT_THAT(refusal(synced_mean, {at::ones({})}),
              HasSubstr("expected rows in tensor 0, got a 0-dim tensor"));
  EXPECT_THAT(
      refusal([](const Tensors&) { return at::Tensor(); }, {at::ones({2})}),
      HasSubstr("expected a value, got none"));
}

TEST(EqualsOneProcessTest, TellsAllRanksThatOneThrew) {
  const auto texts = on_ranks(3, [&](const Group& group) {
    return refusal_of<std::exception>([&] {
      EqualsOneProcess(
          [&](const Tensors& rows) {
            if (group->rank() == 1 && rows[0].size(0) < 7) {
              throw std::runtime_error("a bug on rank 1");
            }
            return rows[0].sum();
          },
          {values()});
    });
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("a bug on rank 1"));
  }
}

}  // namespace
}  // namespace tally::testkit
