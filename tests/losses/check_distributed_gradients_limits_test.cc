#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <c10/util/StringUtil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tally/losses/check_distributed_gradients.h"
#include "tally/sync/collectives.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/loss_harness.h"

// What could pass for exact and is not, or was not compared.
namespace tally::losses {
namespace {

using sync::Communicator;
using sync::GradientFlow;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::learned_rows;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<Communicator>;
using Options = CheckDistributedGradientsOptions;
using Report = DistributedGradientReport;

bool alone() { return sync::default_communicator()->size() == 1; }

/// The mean of all ranks' numbers.
at::Tensor mean_of_all(const at::Tensor& numbers,
                       GradientFlow flow = GradientFlow::kReplicated) {
  return at::cat(sync::gather_all_tensors(numbers, flow)).mean();
}

TEST(CheckDistributedGradientsTest, NoGradientAnywhereIsNotExact) {
  const auto check = [](bool check_reference) {
    const at::Tensor w = learned_rows({3}, 1);
    const at::Tensor bias = learned_rows({}, 2);
    return check_distributed_gradients(
        [&](const Tensors& batch) {
          // Of a bias that changes nothing there is a graph.
          return mean_of_all(batch[0].matmul(w), GradientFlow::kDetached)
              .add(bias - bias);
        },
        {normal_rows({6, 3}, 2)}, {{"w", w}, {"bias", bias}},
        Options().check_reference(check_reference));
  };
  run_thread_ranks(2, [&](Group) {
    const Report report = check(true);
    EXPECT_FALSE(report.exact());
    EXPECT_EQ(report.at("w").verdict, GradientVerdict::kNone);
    EXPECT_THAT(report.cut_in_reference, ElementsAre("input 0", "w"));
    EXPECT_THAT(c10::str(report),
                HasSubstr("w        no gradient, in one process either; in one "
                          "process not the derivative\n"));
    EXPECT_THAT(c10::str(report), HasSubstr("* No gradient was compared.\n"));
    EXPECT_THAT(c10::str(report),
                HasSubstr("* Not compared: w, bias, input 0.\n"));
    // Not even where nothing tells that there should be one.
    EXPECT_FALSE(check(false).exact());
  });
}

TEST(CheckDistributedGradientsTest, FindsParametersThatAreCutInOneProcess) {
  const at::Tensor w = learned_rows({3}, 1), scale = learned_rows({}, 2);
  const at::Tensor before = scale.detach().clone();
  const Report report = check_distributed_gradients(
      [&](const Tensors& batch) {
        return batch[0].matmul(w).square().mean().mul(scale.detach());
      },
      {normal_rows({6, 3}, 2)}, {{"w", w}, {"scale", scale}});
  EXPECT_FALSE(report.exact());
  EXPECT_THAT(report.cut_in_reference, ElementsAre("scale"));
  EXPECT_TRUE(scale.detach().equal(before));
}

TEST(CheckDistributedGradientsTest, InfinitiesHideNoErrors) {
  const auto check = [](double offset) {
    const at::Tensor w = learned_rows({3}, 1);
    const at::Tensor root = at::full({}, offset, at::kDouble);
    root.set_requires_grad(true);
    return check_distributed_gradients(
        [&](const Tensors& batch) {
          // kLocal, which is off by W.
          return mean_of_all(batch[0].matmul(w), GradientFlow::kLocal)
              .add(root.sqrt());
        },
        {normal_rows({6, 3}, 2)}, {{"w", w}, {"root", root}},
        Options().check_reference(false));
  };
  run_thread_ranks(2, [&](Group) {
    const Report infinite = check(0);
    EXPECT_FALSE(infinite.exact());
    EXPECT_EQ(infinite.at("w").verdict, GradientVerdict::kFactor);
    EXPECT_EQ(infinite.at("root").verdict, GradientVerdict::kNotFinite);
    EXPECT_THAT(c10::str(infinite),
                HasSubstr("root     infinite in one process,"
                          " infinite over the ranks\n"));
    const Report nan = check(-1);
    EXPECT_EQ(nan.at("w").verdict, GradientVerdict::kFactor);
    EXPECT_THAT(c10::str(nan),
                HasSubstr("root     NaN in one process, NaN over "
                          "the ranks\n"));
    EXPECT_FALSE(nan.loss_exact);
  });
}

TEST(CheckDistributedGradientsTest, NanOnTheRanksAloneIsNamed) {
  run_thread_ranks(3, [](Group group) {
    const at::Tensor w = learned_rows({3}, 1);
    const Report report = check_distributed_gradients(
        [&](const Tensors& batch) {
          const at::Tensor loss = mean_of_all(batch[0].matmul(w));
          const bool bad = !alone() && group->rank() == 1;
          return bad ? loss + (w * 0).sum().sqrt() : loss;
        },
        {normal_rows({6, 3}, 2)}, {{"w", w}});
    EXPECT_FALSE(report.exact());
    EXPECT_EQ(report.at("w").in_one_process, "");
    EXPECT_EQ(report.at("w").over_ranks, "NaN");
    EXPECT_EQ(report.at("input 0").verdict, GradientVerdict::kExact);
  });
}

TEST(CheckDistributedGradientsTest, SmallGradientsAreComparedToo) {
  const auto check = [](double size) {
    const at::Tensor large = learned_rows({3}, 1), small = learned_rows({3}, 2);
    return check_distributed_gradients(
        [&, size](const Tensors& batch) {
          const at::Tensor off =
              mean_of_all(batch[0].matmul(small).sin(), GradientFlow::kLocal);
          return mean_of_all(batch[0].matmul(large)).add(off * size);
        },
        {normal_rows({6, 3}, 3)}, {{"large", large}, {"small", small}});
  };
  run_thread_ranks(2, [&](Group) {
    const Report found = check(1e-12);
    EXPECT_FALSE(found.exact());
    EXPECT_EQ(found.at("small").verdict, GradientVerdict::kFactor);
    EXPECT_NEAR(found.at("small").factor, 0.5, 1e-9);
    // Exact for all that can be known, and named.
    const Report lost = check(1e-17);
    EXPECT_TRUE(lost.exact());
    EXPECT_EQ(lost.at("small").verdict, GradientVerdict::kTooSmall);
    EXPECT_THAT(c10::str(lost), HasSubstr("* Not compared: small.\n"));
    EXPECT_EQ(check(0).at("small").verdict, GradientVerdict::kNone);
  });
}

// Rank 0's rows, whose gradients are a billionth of the others', get twice
// theirs.
TEST(CheckDistributedGradientsTest, SmallGradientsOfOneRankAreComparedToo) {
  const auto check = [](double size) {
    const at::Tensor w = learned_rows({3}, 1);
    return check_distributed_gradients(
        [&, size](const Tensors& batch) {
          at::Tensor rows = batch[0];
          if (!alone() && sync::default_communicator()->rank() == 0) {
            rows = 2 * rows - rows.detach();
          }
          return mean_of_all((rows * batch[1]).matmul(w));
        },
        {normal_rows({6, 3}, 2), at::cat({at::full({2, 1}, size, at::kDouble),
                                          at::full({4, 1}, 1.0, at::kDouble)})},
        {{"w", w}}, Options().tolerance(1e-6));
  };
  run_thread_ranks(2, [&](Group) {
    const Report report = check(1e-9);
    EXPECT_FALSE(report.exact());
    EXPECT_EQ(report.at("input 0").verdict, GradientVerdict::kFactorPerRank);
    EXPECT_THAT(c10::str(report),
                HasSubstr("input 0  off by a factor on each rank: 2 1\n"));
    const Report lost = check(1e-17);
    EXPECT_TRUE(lost.exact()) << lost;
    EXPECT_THAT(c10::str(lost),
                HasSubstr("* Not compared: input 0 on rank 0, "));
  });
}

TEST(CheckDistributedGradientsTest, SmallLossesAreComparedToo) {
  run_thread_ranks(2, [](Group) {
    const at::Tensor w = learned_rows({3}, 1);
    const Report report = check_distributed_gradients(
        [&](const Tensors& batch) {
          const at::Tensor loss = mean_of_all(batch[0].matmul(w)) * 1e-10;
          return alone() ? loss : loss + 1e-12;
        },
        {normal_rows({6, 3}, 2)}, {{"w", w}});
    EXPECT_FALSE(report.loss_exact);
    EXPECT_FALSE(report.exact());
    EXPECT_EQ(report.at("w").verdict, GradientVerdict::kExact);
  });
}

TEST(CheckDistributedGradientsTest, NamesWhatTheBatchDoesNotShow) {
  const at::Tensor one = normal_rows({3, 3}, 2);
  const auto check = [&](const at::Tensor& batch) {
    const at::Tensor w =
        normal_rows({3}, 1).to(at::kFloat).set_requires_grad(true);
    return c10::str(check_distributed_gradients(
        [&](const Tensors& rows) {
          // Each rank's own mean, which is wrong.
          return rows[0].matmul(w.to(at::kDouble)).mean().square();
        },
        {batch}, {{"w", w}}, Options().shards(ShardSizes::kEven)));
  };
  run_thread_ranks(2, [&](Group) {
    EXPECT_THAT(check(at::cat({one, one})),
                HasSubstr("* Every rank has the same rows: "));
    const std::string text = check(normal_rows({6, 3}, 3));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("the same rows")));
    EXPECT_THAT(text,
                HasSubstr("differences of the loss, which requires float64: "
                          "w.\n"));
  });
  EXPECT_THAT(
      check(one),
      HasSubstr(
          "* One rank: nothing that depends on other ranks was checked.\n"));
}

}  // namespace
}  // namespace tally::losses
