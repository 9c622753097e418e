#include "tally/losses/check_distributed_gradients.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <c10/util/StringUtil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/functional/normalization.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/sync/average_over_ranks.h"
#include "tally/sync/collectives.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

namespace F = torch::nn::functional;

using sync::Communicator;
using sync::GradientFlow;
using ::testing::HasSubstr;
using ::testing::Not;
using testkit::learned_rows;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<Communicator>;
using Options = CheckDistributedGradientsOptions;
using Report = DistributedGradientReport;

/// OpenCLIP's loss, gathered in each of its four ways: two linear encoders and
/// a temperature.
Report check_clip(bool local_loss, bool gather_with_grad,
                  const Options& options) {
  const at::Tensor image = learned_rows({5, 4}, 1);
  const at::Tensor text = learned_rows({6, 4}, 2);
  const at::Tensor scale =
      at::full({}, 2.0, at::kDouble).set_requires_grad(true);
  const auto gather = [&](const at::Tensor& features) {
    const auto communicator = sync::default_communicator();
    if (communicator->size() == 1) return Tensors{features};
    Tensors all = sync::gather_all_tensors(
        features,
        gather_with_grad ? GradientFlow::kAllRanks : GradientFlow::kDetached);
    // Without local_loss the own features take their place again.
    if (!gather_with_grad && !local_loss) all[communicator->rank()] = features;
    return all;
  };
  const auto loss = [&](const Tensors& batch) {
    const auto normalized = [](const at::Tensor& features) {
      return F::normalize(features, F::NormalizeFuncOptions().dim(1));
    };
    const at::Tensor images = normalized(batch[0].matmul(image));
    const at::Tensor texts = normalized(batch[1].matmul(text));
    const Tensors all_images = gather(images);
    const Tensors all_texts = gather(texts);
    std::int64_t first = 0;
    const int rank = sync::default_communicator()->rank();
    for (int r = 0; r < rank; ++r) first += all_images[r].size(0);
    const at::Tensor images_here = local_loss ? images : at::cat(all_images);
    const at::Tensor texts_here = local_loss ? texts : at::cat(all_texts);
    const at::Tensor labels =
        at::arange(images_here.size(0), at::kLong).add(local_loss ? first : 0);
    const auto side = [&](const at::Tensor& rows, const Tensors& columns) {
      return F::cross_entropy(rows.matmul(at::cat(columns).t()).mul(scale),
                              labels);
    };
    return side(images_here, all_texts)
        .add(side(texts_here, all_images))
        .div(2);
  };
  return check_distributed_gradients(
      loss, {normal_rows({12, 5}, 3), normal_rows({12, 6}, 4)},
      {{"image", image}, {"text", text}, {"logit_scale", scale}}, options);
}

Options even() { return Options().shards(ShardSizes::kEven); }

THREAD_RANKS_TEST(CheckDistributedGradientsTest,
                  OpenClipWithoutLocalLossOrGradient, 2, 3, 4) {
  const Report report = check_clip(false, false, even());
  EXPECT_FALSE(report.exact());
  for (const char* name : {"image", "text", "input 0", "input 1"}) {
    EXPECT_EQ(report.at(name).verdict, GradientVerdict::kFactor) << name;
    EXPECT_NEAR(report.at(name).factor, 1.0 / self.size(), 1e-12) << name;
    EXPECT_LT(report.at(name).residual, 1e-12) << name;
  }
  EXPECT_EQ(report.at("logit_scale").verdict, GradientVerdict::kExact);
  EXPECT_TRUE(report.loss_exact);
  EXPECT_THAT(c10::str(report), HasSubstr("image        off by the factor "
                                          "1/W\n"));
  EXPECT_THAT(c10::str(report), HasSubstr("logit_scale  exact\n"));
  EXPECT_THAT(c10::str(report), HasSubstr("kLocal"));
}

THREAD_RANKS_TEST(CheckDistributedGradientsTest, OpenClipWithGradientIsExact, 1,
                  2, 3, 4) {
  const Report report = check_clip(false, true, Options());
  EXPECT_TRUE(report.exact()) << report;
}

THREAD_RANKS_TEST(CheckDistributedGradientsTest,
                  OpenClipWithLocalLossAloneIsBiased, 2, 3) {
  const Report report = check_clip(true, false, even());
  for (const char* name : {"image", "text", "input 0", "input 1"}) {
    EXPECT_EQ(report.at(name).verdict, GradientVerdict::kResidual) << name;
    EXPECT_GT(report.at(name).residual, 0.02) << name;
  }
  EXPECT_EQ(report.at("logit_scale").verdict, GradientVerdict::kExact);
  EXPECT_TRUE(report.loss_exact);
  EXPECT_THAT(c10::str(report), HasSubstr("wrong: best fit 0."));
  EXPECT_THAT(c10::str(report), HasSubstr("rows are missing"));
}

THREAD_RANKS_TEST(CheckDistributedGradientsTest,
                  OpenClipWithLocalLossAndGradientIsExact, 2, 3, 4) {
  const Report report = check_clip(true, true, even());
  EXPECT_TRUE(report.exact()) << report;
  // As long as the ranks have the same number of rows.
  const Report uneven = check_clip(true, true, Options());
  EXPECT_FALSE(uneven.exact());
  EXPECT_FALSE(uneven.loss_exact);
  EXPECT_THAT(c10::str(uneven), HasSubstr("do not average to the loss"));
}

TEST(CheckDistributedGradientsTest, MetricLossesAreExact) {
  const at::Tensor x = normal_rows({11, 4}, 5), y = normal_rows({11}, 6);
  const auto check = [&](std::unique_ptr<Metric> metric, GradientFlow flow,
                         const Options& options) {
    torch::nn::Sequential model(torch::nn::Linear(4, 3),
                                torch::nn::Linear(3, 1));
    model->to(at::kDouble);
    std::uint64_t seed = 7;
    for (at::Tensor& p : model->parameters()) {
      p.set_data(normal_rows(p.sizes(), seed++));
    }
    MetricLoss loss(std::move(metric), MetricLossOptions().gradient_flow(flow));
    return check_distributed_gradients(
        [&](const Tensors& batch) {
          return loss->forward(model->forward(batch[0]).reshape({-1}),
                               batch[1]);
        },
        {x, y}, model->named_parameters().pairs(), options);
  };
  for (ShardSizes shards :
       {ShardSizes::kEven, ShardSizes::kUneven, ShardSizes::kIdle}) {
    run_thread_ranks(3, [&](Group) {
      const Options options = Options().shards(shards);
      for (const GradientFlow flow :
           {GradientFlow::kReplicated, GradientFlow::kAllRanks}) {
        const Report report =
            check(std::make_unique<MeanSquaredError>(), flow, options);
        EXPECT_TRUE(report.exact()) << report;
        EXPECT_EQ(report.parameters[0].name, "0.weight");
      }
      const Report pearson = check(std::make_unique<PearsonCorrCoef>(),
                                   GradientFlow::kReplicated, options);
      EXPECT_TRUE(pearson.exact()) << pearson;

      const Options summed =
          Options(options).gradients(GradientReduction::kSum);
      const Report local = check(std::make_unique<MeanSquaredError>(),
                                 GradientFlow::kLocal, summed);
      EXPECT_TRUE(local.exact()) << local;
      const Report replicated = check(std::make_unique<MeanSquaredError>(),
                                      GradientFlow::kReplicated, summed);
      EXPECT_EQ(replicated.at("1.bias").verdict, GradientVerdict::kFactor);
      EXPECT_THAT(c10::str(replicated), HasSubstr("1.bias    off by the factor "
                                                  "W\n"));
      const Report detached = check(std::make_unique<MeanSquaredError>(),
                                    GradientFlow::kDetached, options);
      EXPECT_EQ(detached.at("0.weight").factor, 0);
      EXPECT_THAT(c10::str(detached), HasSubstr("off by the factor 0\n"));
    });
  }
}

/// The entropy of how often codes are used, with some mean over ranks.
Report check_entropy(const std::function<at::Tensor(const at::Tensor& local,
                                                    double count)>& mean,
                     const Options& options = Options()) {
  const at::Tensor codes = learned_rows({3, 5}, 1);
  return check_distributed_gradients(
      [&](const Tensors& batch) {
        const at::Tensor p =
            mean(batch[0].matmul(codes).softmax(1).mean(0), batch[0].size(0));
        return p.mul(p.log()).sum().neg();
      },
      {normal_rows({10, 3}, 2)}, {{"codes", codes}}, options);
}

THREAD_RANKS_TEST(CheckDistributedGradientsTest,
                  MeansOverRanksInVectorQuantizers, 2) {
  // What vector-quantize-pytorch ships: the reduced mean is dropped.
  const Report shipped = check_entropy([](const at::Tensor& local, double) {
    sync::all_reduce(local);
    const int ranks = sync::default_communicator()->size();
    return local.div(ranks);
  });
  EXPECT_FALSE(shipped.loss_exact);
  EXPECT_EQ(shipped.at("codes").verdict, GradientVerdict::kResidual);
  EXPECT_GT(shipped.at("codes").residual, 0.02);

  // Right for ranks of one size only.
  const auto mean_of_means = [](const at::Tensor& local, double) {
    return sync::all_reduce(local, sync::Reduction::kMean);
  };
  EXPECT_TRUE(check_entropy(mean_of_means, Options().rows({5, 5})).exact());
  EXPECT_FALSE(check_entropy(mean_of_means).exact());

  const auto average = [](const at::Tensor& local, double count) {
    return sync::average_over_ranks(local, count);
  };
  const Report report = check_entropy(average);
  EXPECT_TRUE(report.exact()) << report;
  const Report idle =
      check_entropy(average, Options().shards(ShardSizes::kIdle));
  EXPECT_TRUE(idle.exact()) << idle;
}

TEST(CheckDistributedGradientsTest, NamesTheFactorOfEachRank) {
  const auto check = [](bool weighted) {
    const at::Tensor w = learned_rows({3}, 1);
    return check_distributed_gradients(
        [&](const Tensors& batch) {
          const at::Tensor mean = batch[0].matmul(w).square().mean();
          if (!weighted) return mean;
          const double rows = static_cast<double>(batch[0].size(0));
          const at::Tensor all =
              sync::all_reduce(at::full({}, rows, at::kDouble));
          const int ranks = sync::default_communicator()->size();
          return mean.mul(ranks * rows / all.item<double>());
        },
        {normal_rows({6, 3}, 2)}, {{"w", w}});
  };
  run_thread_ranks(3, [&](Group) {
    const Report report = check(false);
    EXPECT_EQ(report.rows, (std::vector<std::int64_t>{1, 2, 3}));
    const GradientCheck& input = report.at("input 0");
    ASSERT_EQ(input.verdict, GradientVerdict::kFactorPerRank);
    EXPECT_NEAR(input.rank_factors[0], 2, 1e-12);
    EXPECT_NEAR(input.rank_factors[1], 1, 1e-12);
    EXPECT_NEAR(input.rank_factors[2], 2.0 / 3, 1e-12);
    EXPECT_EQ(report.at("w").verdict, GradientVerdict::kResidual);
    EXPECT_THAT(c10::str(report),
                HasSubstr("off by a factor on each rank: 2 1 0.6667\n"));
    EXPECT_TRUE(check(true).exact()) << check(true);
  });
}

// Exact features, and a temperature with W times its gradient.
THREAD_RANKS_TEST(CheckDistributedGradientsTest,
                  FindsLossesThatWereScaledToMendTheRest, 3) {
  const at::Tensor w = learned_rows({3}, 1);
  const at::Tensor scale = learned_rows({1}, 2);
  const Report report = check_distributed_gradients(
      [&](const Tensors& batch) {
        const auto all =
            at::cat(sync::gather_all_tensors(batch[0].matmul(w)));  // kLocal
        const int ranks = sync::default_communicator()->size();
        return all.mul(scale).square().mean().mul(ranks);
      },
      {normal_rows({6, 3}, 2)}, {{"w", w}, {"scale", scale}});
  EXPECT_EQ(report.at("w").verdict, GradientVerdict::kExact);
  EXPECT_EQ(report.at("input 0").verdict, GradientVerdict::kExact);
  EXPECT_NEAR(report.at("scale").factor, 3, 1e-12);
  EXPECT_THAT(c10::str(report), HasSubstr("the loss was scaled"));
}

THREAD_RANKS_TEST(CheckDistributedGradientsTest,
                  LossesMayAddUpWhenGradientsAreSummed, 2) {
  const at::Tensor w = learned_rows({3}, 1);
  const Report report = check_distributed_gradients(
      [&](const Tensors& batch) { return batch[0].matmul(w).sin().sum(); },
      {normal_rows({6, 3}, 2)}, {{"w", w}},
      Options().gradients(GradientReduction::kSum));
  EXPECT_TRUE(report.exact()) << report;
}

THREAD_RANKS_TEST(CheckDistributedGradientsTest,
                  GradientsThatAreNoneAndShouldBe, 2) {
  const at::Tensor w = learned_rows({3}, 1), unused = learned_rows({3}, 2);
  const auto loss = [&](bool wrong) {
    return [&, wrong](const Tensors& batch) {
      at::Tensor value = batch[0].matmul(w).mean();
      const bool alone = sync::default_communicator()->size() == 1;
      if (wrong && !alone) value = value.add(unused.sum());
      return value;
    };
  };
  const auto check = [&](bool wrong) {
    return check_distributed_gradients(loss(wrong),
                                       {normal_rows({6, 3}, 3), at::arange(6)},
                                       {{"w", w}, {"unused", unused}}, even());
  };
  const Report right = check(false);
  EXPECT_TRUE(right.exact()) << right;
  EXPECT_EQ(right.inputs.size(), 1u);  // integers have no gradient
  EXPECT_EQ(check(true).at("unused").verdict, GradientVerdict::kResidual);
  EXPECT_THAT(c10::str(check(true)),
              HasSubstr("a gradient where one process has none"));
  EXPECT_THROW(right.at("nothing"), c10::IndexError);
}

TEST(CheckDistributedGradientsTest, SaysWhatNarrowDtypesDoNotShow) {
  const auto check = [](at::ScalarType dtype) {
    const at::Tensor w = normal_rows({3}, 1).to(dtype).set_requires_grad(true);
    return check_distributed_gradients(
        [&](const Tensors& batch) {
          return sync::all_gather(batch[0].mul(w)).square().mean();
        },
        {normal_rows({8, 3}, 2).to(dtype)}, {{"w", w}});
  };
  run_thread_ranks(2, [&](Group) {
    EXPECT_THAT(c10::str(check(at::kDouble)), Not(HasSubstr("Use float64")));
    const Report single = check(at::kFloat);
    EXPECT_TRUE(single.exact()) << single;
    EXPECT_EQ(single.tolerance, 1e-4);
    EXPECT_THAT(c10::str(single),
                HasSubstr("errors below 0.0001 are not detected"));
    const Report narrow = check(at::kBFloat16);
    EXPECT_TRUE(narrow.exact()) << narrow;
  });
}

// Here even one process detaches what it gathered: all agree, and are wrong.
TEST(CheckDistributedGradientsTest, FindsGraphsThatAreCutInOneProcessAsWell) {
  const auto check = [](bool check_reference) {
    const at::Tensor w = learned_rows({3}, 1);
    return check_distributed_gradients(
        [&](const Tensors& batch) {
          const at::Tensor rows = batch[0].matmul(w);
          const at::Tensor all =
              at::cat(sync::gather_all_tensors(rows, GradientFlow::kDetached));
          return rows.mul(all.mean()).mean();
        },
        {normal_rows({6, 3}, 2)}, {{"w", w}},
        even().check_reference(check_reference));
  };
  run_thread_ranks(2, [&](Group) {
    const Report report = check(true);
    EXPECT_FALSE(report.exact());
    EXPECT_EQ(report.cut_in_reference,
              (std::vector<std::string>{"input 0", "w"}));
    EXPECT_THAT(c10::str(report),
                HasSubstr("exact; in one process not the derivative\n"));
    EXPECT_THAT(c10::str(report), HasSubstr("check_reference(false)"));
    EXPECT_TRUE(check(false).exact());
  });
}

TEST(CheckDistributedGradientsTest, LeavesGradientsAndSeedsAlike) {
  const at::Tensor w = learned_rows({3}, 1);
  w.mutable_grad() = at::full({3}, 5.0, at::kDouble);
  Tensors noise;
  const Report report = check_distributed_gradients(
      [&](const Tensors& batch) {
        noise.push_back(at::rand({4}));
        return batch[0].matmul(w).mean();
      },
      {normal_rows({6, 3}, 2)}, {{"w", w}}, Options().seed(3));
  EXPECT_TRUE(report.exact()) << report;
  EXPECT_TRUE(w.grad().equal(at::full({3}, 5.0, at::kDouble)));
  ASSERT_EQ(noise.size(), 6u);
  for (const at::Tensor& n : noise) EXPECT_TRUE(n.equal(noise[0]));
}

THREAD_RANKS_TEST(CheckDistributedGradientsTest, UsesTheRanksThatItIsGiven, 2) {
  const sync::CommunicatorGuard alone(sync::single_process_communicator());
  const at::Tensor w = learned_rows({3}, 1);
  const Report report = check_distributed_gradients(
      [&](const Tensors& batch) {
        return sync::all_gather(batch[0].matmul(w)).mean();
      },
      {normal_rows({6, 3}, 2)}, {{"w", w}},
      Options().communicator(self.group()).rows({6, 0}));
  EXPECT_TRUE(report.exact()) << report;
  EXPECT_EQ(report.rank_losses.size(), 2u);
}

}  // namespace
}  // namespace tally::losses
