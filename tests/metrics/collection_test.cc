#include "tally/metrics/collection.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <sstream>

#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/three_metrics.h"

namespace tally {
namespace {

using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::batch;
using testkit::near;
using testkit::refusal_of;
using testkit::rmse;
using testkit::run_thread_ranks;
using testkit::same_bits;
using testkit::Samples;
using testkit::three_metrics;
using testkit::update;
using Names = std::vector<std::string>;

Names names_of(const Results& results) {
  Names names;
  for (const auto& [name, value] : results) names.push_back(name);
  return names;
}

/// Counts its calls; refuses what is marked.
struct Watched {
  static inline std::atomic<int> observed{0};
  struct State {
    at::Tensor sums;
    void fields(Fields& f) { f("sums", sums); }
  };
  State observe(const at::Tensor& preds, const at::Tensor&) const {
    ++observed;
    TORCH_CHECK_VALUE(preds.numel() == 0 || preds.max().item<double>() < 1000,
                      "preds are too large");
    return {preds.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true)};
  }
};
struct Sums final : MetricOf<Sums, Watched, at::Tensor> {
  static constexpr const char* kName = "Sums";
  at::Tensor evaluate(const State& state) const {
    return state.sums.defined() ? state.sums : at::zeros({0}, at::kDouble);
  }
};
struct SumOfSums final : MetricOf<SumOfSums, Watched, at::Tensor> {
  static constexpr const char* kName = "SumOfSums";
  at::Tensor evaluate(const State& state) const {
    return state.sums.defined() ? state.sums.sum() : at::zeros({}, at::kDouble);
  }
};

TEST(MetricCollectionTest, GroupsByConstructionNeverByValue) {
  MetricCollection metrics = three_metrics();
  // The same values as "mse" for every input without NaN; another state.
  metrics.add(
      "mse_ignore",
      MeanSquaredError({}, MetricOptions().nan_policy(NanPolicy::kIgnore)));
  metrics.add("rmse_ignore",
              MeanSquaredError(MeanSquaredErrorOptions().squared(false),
                               MetricOptions().nan_policy(NanPolicy::kIgnore)));
  const std::vector<Names> groups = {
      {"mse", "rmse"}, {"pearson"}, {"mse_ignore", "rmse_ignore"}};
  EXPECT_EQ(metrics.groups(), groups);
  update(metrics, batch(5, 1));
  metrics.compute();
  EXPECT_EQ(metrics.groups(), groups);
}

TEST(MetricCollectionTest, GivesTheValuesOfItsMetricsAlone) {
  MetricCollection metrics = three_metrics();
  MeanSquaredError mse;
  PearsonCorrCoef pearson;
  MeanSquaredError root = rmse();
  for (int i = 0; i < 3; ++i) {
    update(metrics, batch(4 + i, i));
    update(mse, batch(4 + i, i));
    update(pearson, batch(4 + i, i));
    update(root, batch(4 + i, i));
  }
  const Results results = metrics.compute();
  EXPECT_THAT(names_of(results), ElementsAre("mse", "pearson", "rmse"));
  EXPECT_TRUE(same_bits(results["mse"], mse.compute()));
  EXPECT_TRUE(same_bits(results["pearson"], pearson.compute()));
  EXPECT_TRUE(same_bits(results["rmse"], root.compute()));
}

TEST(MetricCollectionTest, ObservesOncePerGroup) {
  MetricCollection metrics;
  metrics.add("sums", Sums());
  metrics.add("sum", SumOfSums());
  Watched::observed = 0;
  update(metrics, batch(3, 1));
  EXPECT_EQ(Watched::observed, 1);
  metrics.forward(batch(3, 2).preds, batch(3, 2).target);
  EXPECT_EQ(Watched::observed, 2);
  EXPECT_EQ(metrics.update_count(), 2);
  EXPECT_EQ(metrics.extract("sum")->update_count(), 2);
}

TEST(MetricCollectionTest, ForwardGivesTheValuesOfTheBatch) {
  MetricCollection metrics = three_metrics();
  MetricCollection all = three_metrics();
  for (int i = 0; i < 3; ++i) {
    const Samples b = batch(4, i);
    MetricCollection fresh = three_metrics();
    update(fresh, b);
    update(all, b);
    EXPECT_TRUE(same_bits(metrics.forward(b.preds, b.target), fresh.compute()));
  }
  EXPECT_TRUE(same_bits(metrics.compute(), all.compute()));
}

TEST(MetricCollectionTest, ForwardKeepsTheGraph) {
  MetricCollection metrics = three_metrics();
  Samples b = batch(4, 1);
  b.preds.set_requires_grad(true);
  const Results results = metrics.forward(b.preds, b.target);
  results["mse"].add(results["rmse"]).backward();
  EXPECT_TRUE(b.preds.grad().defined());
  EXPECT_FALSE(metrics.compute()["mse"].requires_grad());
}

TEST(MetricCollectionTest, TellsOtherRanksWhenOneCannotTakePart) {
  run_thread_ranks(2, [](const auto& communicator) {
    MetricCollection metrics(MetricOptions().dist_sync_on_step(true));
    metrics.add("mse", MeanSquaredError());
    metrics.add("sums", Sums());
    const bool fails = communicator->rank() == 0;
    const at::Tensor preds = at::full({2}, fails ? 2000.0 : 2.0, at::kDouble);
    try {
      metrics.forward(preds, preds);
      ADD_FAILURE() << "no error";
    } catch (const SyncError& error) {
      EXPECT_FALSE(fails);
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
      EXPECT_THAT(error.message(), HasSubstr("preds are too large"));
    } catch (const c10::ValueError&) {
      EXPECT_TRUE(fails);
    }
    EXPECT_EQ(metrics.status(), MetricStatus::kEmpty);
    const at::Tensor ones = at::ones({2}, at::kDouble);
    EXPECT_EQ(metrics.forward(ones, ones)["mse"].template item<double>(), 0);
  });
}

/// `metrics` refuses the batch and is as it was.
void check_refused(MetricCollection& metrics, const Samples& b,
                   const std::string& message) {
  const Results state = metrics.state();
  const std::int64_t count = metrics.update_count();
  EXPECT_THAT(refusal_of([&] { update(metrics, b); }), HasSubstr(message));
  EXPECT_THAT(refusal_of([&] { metrics.forward(b.preds, b.target); }),
              HasSubstr(message));
  EXPECT_TRUE(same_bits(metrics.state(), state));
  EXPECT_EQ(metrics.update_count(), count);
}

TEST(MetricCollectionTest, IsAsItWasWhenAMemberRefusesABatch) {
  MetricCollection metrics;
  metrics.add("mse", MeanSquaredError());
  metrics.add("sums", Sums());
  metrics.add("rmse", rmse());
  const at::Tensor large = at::full({3}, 2000.0, at::kDouble);
  check_refused(metrics, {large, large}, "preds are too large");
  EXPECT_EQ(metrics.status(), MetricStatus::kEmpty);
  update(metrics, batch(3, 1));
  // When it observes, and when its state does not fit the accumulated one.
  check_refused(metrics, {large, large}, "preds are too large");
  check_refused(metrics, batch(2, 1), "sums");
  // The first of all members.
  check_refused(metrics, {large, batch(2, 1).target}, "MeanSquaredError");
  update(metrics, batch(3, 2));
  EXPECT_EQ(metrics.update_count(), 2);
}

TEST(MetricCollectionTest, SaysWhichMemberRefusedABatch) {
  MetricCollection metrics;
  metrics.add("mse", MeanSquaredError());
  metrics.add("sum of preds", SumOfSums());
  const at::Tensor large = at::full({3}, 2000.0, at::kDouble);
  try {
    metrics.update(large, large);
    ADD_FAILURE() << "no error";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("as 'sum of preds' of a collection"));
  }
  EXPECT_THAT(refusal_of([&] { metrics.update(large); }),
              HasSubstr("MeanSquaredError: expected 2 to 3 inputs, got 1; they "
                        "are preds, target[, weight]"));
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] { metrics.update(large, "text"); }),
      HasSubstr("MeanSquaredError: expected target to be"));
}

TEST(MetricCollectionTest, NamesResults) {
  MetricCollection inner;
  inner.prefix("of_").postfix("_all");
  inner.add("mse", MeanSquaredError());
  inner.add("pearson", PearsonCorrCoef());
  MetricCollection middle;
  middle.add("rmse", rmse());
  middle.add("inner", std::move(inner));
  MetricCollection metrics = three_metrics();
  metrics.add("middle", std::move(middle));
  metrics.prefix("val/").postfix("#1");
  const Names names = {"mse",
                       "pearson",
                       "rmse",
                       "middle.rmse",
                       "middle.inner.of_mse_all",
                       "middle.inner.of_pearson_all"};
  EXPECT_EQ(metrics.names(), names);
  EXPECT_EQ(metrics.size(), 6);
  EXPECT_TRUE(metrics.contains("middle.rmse"));
  EXPECT_FALSE(metrics.contains("val/middle.rmse#1"));
  // Nesting does not keep states apart.
  EXPECT_EQ(metrics.groups().size(), 2);
  update(metrics, batch(4, 1));
  const Results results = metrics.compute();
  Names shown;
  for (const std::string& name : names) shown.push_back("val/" + name + "#1");
  EXPECT_EQ(names_of(results), shown);
  EXPECT_TRUE(same_bits(results["val/rmse#1"], results["val/middle.rmse#1"]));
  metrics.prefix("test/");
  EXPECT_TRUE(metrics.compute().contains("test/mse#1"));
}

TEST(MetricCollectionTest, ResultsOfSeveralMembersAreTensorsOfTheirOwn) {
  MetricCollection metrics;
  metrics.add("a", Sums());
  metrics.add("b", Sums());
  update(metrics, batch(3, 1));
  const Results expected = metrics.compute();
  metrics.compute()["a"].fill_(7);
  metrics.forward(batch(3, 1).preds, batch(3, 1).target)["b"].fill_(7);
  metrics.state().begin()->second.fill_(7);
  metrics.reset();
  update(metrics, batch(3, 1));
  EXPECT_TRUE(same_bits(metrics.compute(), expected));
}

TEST(MetricCollectionTest, ExtractsMembers) {
  MetricCollection metrics = three_metrics();
  update(metrics, batch(4, 1));
  update(metrics, batch(4, 2));
  const auto member = metrics.extract("rmse");
  EXPECT_EQ(member->repr(), "MeanSquaredError(squared=false, num_outputs=1)");
  EXPECT_EQ(member->update_count(), 2);
  EXPECT_TRUE(same_bits(member->compute_results().begin()->second,
                        metrics.compute()["rmse"]));
  member->reset();
  EXPECT_EQ(metrics.update_count(), 2);
  EXPECT_THAT(refusal_of<c10::IndexError>([&] { metrics.extract("mae"); }),
              HasSubstr("unknown metric 'mae'; there are: mse, pearson, rmse"));
  EXPECT_THAT(
      refusal_of<c10::IndexError>([] { MetricCollection().extract("mae"); }),
      HasSubstr("there are: none"));
}

TEST(MetricCollectionTest, ShowsMembersAndGivesNumbers) {
  MetricCollection metrics;
  metrics.add("sum", SumOfSums());
  const MetricCollection& all = metrics;
  EXPECT_EQ(all["sum"].name(), "SumOfSums");
  EXPECT_THAT(refusal_of<c10::IndexError>([&] { all["mean"]; }),
              HasSubstr("unknown metric 'mean'; there are: sum"));
  metrics.update(at::ones({3}), at::ones({3}));
  EXPECT_EQ(metrics.number("sum"), 3);
  EXPECT_EQ(metrics.compute_local().number("sum"), 3);
}

TEST(MetricCollectionTest, ClonesShareNothing) {
  MetricCollection metrics =
      three_metrics(MetricOptions().compute_with_cache(false));
  metrics.prefix("a/").postfix("/z");
  update(metrics, batch(4, 1));
  const Results before = metrics.compute();
  MetricCollection copy = metrics.clone();
  EXPECT_EQ(copy.groups(), metrics.groups());
  EXPECT_FALSE(copy.metric_options().compute_with_cache());
  EXPECT_TRUE(same_bits(copy.compute(), before));
  update(copy, batch(4, 2));
  EXPECT_TRUE(same_bits(metrics.compute(), before));
  EXPECT_EQ(metrics.update_count(), 1);
  EXPECT_EQ(copy.update_count(), 2);
}

TEST(MetricCollectionTest, Resets) {
  MetricCollection metrics = three_metrics();
  const Results fresh = metrics.state();
  update(metrics, batch(4, 1));
  metrics.compute();
  metrics.reset();
  EXPECT_EQ(metrics.status(), MetricStatus::kEmpty);
  EXPECT_TRUE(same_bits(metrics.state(), fresh));
  update(metrics, batch(4, 1));
  metrics.sync();
  metrics.reset();
  EXPECT_EQ(metrics.status(), MetricStatus::kEmpty);
}

TEST(MetricCollectionTest, MergesStates) {
  MetricCollection a = three_metrics();
  MetricCollection b = three_metrics();
  MetricCollection both = three_metrics();
  update(a, batch(4, 1));
  update(b, batch(3, 2));
  update(b, batch(2, 3));
  for (int i : {1, 2, 3}) update(both, batch(5 - i, i));
  a.merge_state(b);
  EXPECT_EQ(a.update_count(), 3);
  EXPECT_TRUE(near(a.compute(), both.compute(), {1e-12, 0}));
  EXPECT_EQ(b.update_count(), 2);
  EXPECT_THAT(refusal_of([&] { a.merge_state(a); }), HasSubstr("got itself"));
  MetricCollection other;
  other.add("mse", MeanSquaredError());
  EXPECT_THAT(refusal_of([&] { a.merge_state(other); }),
              HasSubstr("expected the same metrics"));
  EXPECT_EQ(a.update_count(), 3);
}

TEST(MetricCollectionTest, SavesAndLoads) {
  const std::string path = ::testing::TempDir() + "/collection.tally";
  MetricCollection metrics = three_metrics();
  update(metrics, batch(4, 1));
  update(metrics, batch(4, 2));
  ASSERT_TRUE(metrics.save(path).ok());
  MetricCollection loaded = three_metrics();
  const absl::Status status = loaded.load(path);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(loaded.update_count(), 2);
  EXPECT_TRUE(same_bits(loaded.compute(), metrics.compute()));
  update(loaded, batch(4, 3));
  update(metrics, batch(4, 3));
  EXPECT_TRUE(same_bits(loaded.state(), metrics.state()));
  std::remove(path.c_str());

  const Results before = loaded.state();
  EXPECT_EQ(loaded.load(path).code(), absl::StatusCode::kNotFound);
  std::string bytes = metrics.serialize();
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_EQ(loaded.deserialize(bytes).code(), absl::StatusCode::kDataLoss);
  MetricCollection other;
  other.add("mse", MeanSquaredError());
  EXPECT_EQ(loaded.deserialize(other.serialize()).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(same_bits(loaded.state(), before));
  EXPECT_EQ(loaded.update_count(), 3);
}

TEST(MetricCollectionTest, SetsTheDtypeOfResults) {
  MetricCollection metrics = three_metrics();
  update(metrics, batch(4, 1));
  metrics.compute();
  metrics.set_dtype(at::kFloat);
  for (const auto& [name, value] : metrics.compute()) {
    EXPECT_EQ(value.scalar_type(), at::kFloat) << name;
  }
  metrics.to(at::kCPU);
  EXPECT_EQ(metrics.clone().compute()["mse"].scalar_type(), at::kFloat);
}

TEST(MetricCollectionTest, PrintsItsMembers) {
  MetricCollection metrics;
  metrics.prefix("val/");
  metrics.add("mse", MeanSquaredError());
  metrics.add("pearson", PearsonCorrCoef(2));
  std::ostringstream text;
  text << metrics;
  EXPECT_EQ(text.str(),
            "MetricCollection(\n"
            "  val/mse: MeanSquaredError(squared=true, num_outputs=1)\n"
            "  val/pearson: PearsonCorrCoef(num_outputs=2)\n"
            ")");
}

TEST(MetricCollectionTest, CanBeEmpty) {
  MetricCollection metrics;
  EXPECT_EQ(metrics.update_count(), 0);
  EXPECT_TRUE(metrics.compute().empty());
  EXPECT_THAT(metrics.groups(), IsEmpty());
  run_thread_ranks(2, [](const auto&) {
    EXPECT_TRUE(MetricCollection().compute().empty());
  });
}

TEST(MetricCollectionTest, RefusesMembers) {
  MetricCollection metrics = three_metrics();
  const auto refusal = [&](std::string name, auto metric) {
    return refusal_of([&] { metrics.add(std::move(name), std::move(metric)); });
  };
  EXPECT_THAT(refusal("mse", PearsonCorrCoef()), HasSubstr("'mse' twice"));
  EXPECT_THAT(refusal("", PearsonCorrCoef()),
              HasSubstr("expected a name for PearsonCorrCoef"));
  EXPECT_THAT(refusal("null", std::unique_ptr<Metric>()), HasSubstr("null"));
  MeanSquaredError used;
  update(used, batch(2, 1));
  EXPECT_THAT(refusal("used", std::move(used)),
              HasSubstr("one whose update_count is 1"));
  for (const MetricOptions& options :
       {MetricOptions().dist_sync_on_step(true),
        MetricOptions().sync_on_compute(false),
        MetricOptions().compute_with_cache(false),
        MetricOptions().communicator(sync::single_process_communicator()),
        MetricOptions().gradient_flow(sync::GradientFlow::kAllRanks),
        MetricOptions().timeout(std::chrono::seconds(1))}) {
    EXPECT_THAT(refusal("own", MeanSquaredError({}, options)),
                HasSubstr("give them to the collection"));
  }
  EXPECT_EQ(metrics.size(), 3);
  update(metrics, batch(2, 1));
  EXPECT_THAT(refusal("late", MeanSquaredError()),
              HasSubstr("before the first update"));
}

TEST(MetricCollectionTest, RefusesNestedCollections) {
  MetricCollection metrics = three_metrics();
  const auto refusal = [&](const std::string& name, MetricCollection nested) {
    return refusal_of([&] { metrics.add(name, std::move(nested)); });
  };
  EXPECT_THAT(refusal("", three_metrics()), HasSubstr("expected a name"));
  MetricCollection used = three_metrics();
  update(used, batch(2, 1));
  EXPECT_THAT(refusal("used", std::move(used)),
              HasSubstr("one whose update_count is 1"));
  EXPECT_THAT(
      refusal("own", three_metrics(MetricOptions().sync_on_compute(false))),
      HasSubstr("give them to the outer collection"));
  metrics.add("nested.pearson", PearsonCorrCoef());
  MetricCollection nested = three_metrics();
  EXPECT_THAT(refusal_of([&] { metrics.add("nested", std::move(nested)); }),
              HasSubstr("'nested.pearson' twice"));
  EXPECT_EQ(metrics.size(), 4);
  EXPECT_EQ(nested.size(), 3);
}

}  // namespace
}  // namespace tally
