#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/metrics/wrappers/helpers.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::number;
using testkit::refusal_of;
using testkit::same_bits;

at::Tensor of(double value) { return at::tensor({value}); }

std::vector<std::string> names_of(const Results& results) {
  std::vector<std::string> names;
  for (const auto& [name, value] : results) names.push_back(name);
  return names;
}

MultitaskWrapper two_tasks(const MultitaskWrapperOptions& options = {}) {
  MetricCollection of_b;
  of_b.add("mse", MeanSquaredError());
  of_b.add("rmse", MeanSquaredError(MeanSquaredErrorOptions().squared(false)));
  of_b.add("best", MinMaxMetric(MeanSquaredError()));
  MultitaskWrapper tasks(options);
  tasks.add("a", MeanSquaredError());
  tasks.add("b", std::move(of_b));
  return tasks;
}

void update(MultitaskWrapper& tasks, double a, double b) {
  tasks.update({{"a", of(a)}, {"b", of(b)}}, {{"a", of(0)}, {"b", of(0)}});
}

TEST(MultitaskWrapperTest, GivesEachTaskItsInputs) {
  MultitaskWrapper tasks = two_tasks();
  update(tasks, 1, 3);
  const Results batch =
      tasks.forward({{"a", of(2)}, {"b", of(1)}}, {{"a", of(0)}, {"b", of(0)}});
  EXPECT_EQ(number(batch["a"]), 4);
  EXPECT_EQ(number(batch["b.mse"]), 1);
  const Results results = tasks.compute();
  EXPECT_THAT(names_of(results),
              ElementsAre("a", "b.mse", "b.rmse", "b.best.raw", "b.best.min",
                          "b.best.max"));
  EXPECT_EQ(number(results["a"]), 2.5);
  EXPECT_EQ(number(results["b.mse"]), 5);
  EXPECT_DOUBLE_EQ(number(results["b.rmse"]), std::sqrt(5.0));
  // mse and rmse share a state: a, b's first, and best's.
  EXPECT_THAT(names_of(tasks.state()), ::testing::Contains("b.0.sum"));
  EXPECT_THAT(tasks.tasks(), ElementsAre("a", "b"));

  MultitaskWrapper weighted;
  weighted.add("mean", MeanSquaredError());
  const TaskInputs preds = {{"mean", at::tensor({1.0, 3.0})}};
  const TaskInputs target = {{"mean", at::tensor({0.0, 0.0})}};
  const TaskInputs weight = {{"mean", at::tensor({3.0, 1.0})}};
  weighted.update(preds, target, weight);
  EXPECT_EQ(number(weighted.compute()), 3);
}

TEST(MultitaskWrapperTest, NamesTasksAsAsked) {
  MultitaskWrapper tasks =
      two_tasks(MultitaskWrapperOptions().prefix("val/").postfix("_x"));
  EXPECT_THAT(
      names_of(tasks.compute()),
      ElementsAre("val/a_x", "val/b_x.mse", "val/b_x.rmse", "val/b_x.best.raw",
                  "val/b_x.best.min", "val/b_x.best.max"));
  const std::string text = tasks.repr();
  EXPECT_THAT(text, HasSubstr("MultitaskWrapper(tasks={a: MeanSquaredError("));
  EXPECT_THAT(text, HasSubstr(", b: {mse: MeanSquaredError("));
  EXPECT_THAT(text, HasSubstr("best: MinMaxMetric(metric="));
  EXPECT_THAT(text, HasSubstr("}, prefix=val/, postfix=_x)"));
}

TEST(MultitaskWrapperTest, IsAMetric) {
  MultitaskWrapper tasks = two_tasks();
  update(tasks, 1, 3);
  EXPECT_TRUE(tasks.is_differentiable());
  EXPECT_FALSE(tasks.higher_is_better().has_value());
  const Results before = tasks.compute();
  const auto copy = tasks.clone();
  EXPECT_TRUE(same_bits(copy->compute_results(), before));
  MultitaskWrapper loaded = two_tasks();
  ASSERT_TRUE(loaded.deserialize(tasks.serialize()).ok());
  EXPECT_TRUE(same_bits(loaded.compute(), before));
  loaded.merge_state(tasks);
  EXPECT_EQ(loaded.update_count(), 2);
  EXPECT_TRUE(same_bits(loaded.compute(), before));
  loaded.reset();
  update(loaded, 1, 1);
  EXPECT_EQ(number(loaded.compute()["b.best.max"]), 9);
  EXPECT_EQ(number(loaded.compute()["b.best.min"]), 1);
  loaded.set_metric_options(MetricOptions().compute_with_cache(false));
  EXPECT_FALSE(loaded.clone()->metric_options().compute_with_cache());
  loaded.set_dtype(at::kFloat);
  EXPECT_EQ(loaded.compute()["a"].scalar_type(), at::kFloat);

  MultitaskWrapper other;
  other.add("a", MeanSquaredError());
  EXPECT_EQ(other.deserialize(tasks.serialize()).code(),
            absl::StatusCode::kFailedPrecondition);
  other.add("c", BootStrapper(MeanSquaredError()));
  EXPECT_FALSE(other.is_differentiable());
}

TEST(MultitaskWrapperTest, HasGradients) {
  MultitaskWrapper tasks;
  tasks.add("a", MeanSquaredError());
  const at::Tensor preds = of(3).set_requires_grad(true);
  tasks.forward({{"a", preds}}, {{"a", of(1)}})["a"].backward();
  EXPECT_EQ(number(preds.grad()), 4);
}

THREAD_RANKS_TEST(MultitaskWrapperTest, SyncsInOneCollective, 1, 2, 3, 5) {
  const int rank = self.rank();
  MultitaskWrapper tasks = two_tasks();
  if (rank == 0 || rank + 1 < self.size()) update(tasks, rank, 2 * rank);
  const Results results = tasks.compute();
  EXPECT_EQ(self.group()->collectives(), self.size() > 1 ? 1 : 0);
  double sum = 0;
  const int seen = std::max(self.size() - 1, 1);
  for (int r = 0; r < seen; ++r) sum += r * r;
  EXPECT_DOUBLE_EQ(number(results["a"]), sum / seen);
  EXPECT_DOUBLE_EQ(number(results["b.best.max"]), 4 * sum / seen);
}

TEST(MultitaskWrapperTest, RefusesOtherTasksAndInputs) {
  MultitaskWrapper tasks = two_tasks();
  const TaskInputs both = {{"a", of(1)}, {"b", of(1)}};
  const TaskInputs one = {{"a", of(1)}};
  const TaskInputs wrong = {{"a", of(1)}, {"c", of(1)}};
  EXPECT_THAT(refusal_of<c10::Error>([&] { tasks.update(one, both); }),
              HasSubstr("MultitaskWrapper: expected preds of the tasks a, b, "
                        "got a"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tasks.update(both, wrong); }),
              HasSubstr("expected target of the tasks a, b, got a, c"));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { tasks.update(both, both, TaskInputs()); }),
      HasSubstr("expected weight of the tasks a, b, got none"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tasks.update(of(1), of(1)); }),
              HasSubstr("MultitaskWrapper: expected preds to be a std::map"));
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                tasks.update({{"a", of(1)}, {"b", at::ones({2})}}, both);
              }),
              HasSubstr("MeanSquaredError"));
  EXPECT_EQ(tasks.status(), MetricStatus::kEmpty);
  MultitaskWrapper none;
  EXPECT_THAT(refusal_of<c10::Error>([&] { none.update(both, both); }),
              HasSubstr("expected a task before the first update"));
}

TEST(MultitaskWrapperTest, RefusesTasksThatDoNotFit) {
  MultitaskWrapper tasks = two_tasks();
  const auto refusal = [&](const std::string& name, OwnedMetric metric) {
    return refusal_of<c10::Error>([&] { tasks.add(name, std::move(metric)); });
  };
  EXPECT_THAT(refusal("a", MeanMetric()),
              HasSubstr("expected one task of each name, got 'a' twice"));
  EXPECT_THAT(refusal("", MeanMetric()),
              HasSubstr("expected a name for a task, got an empty one"));
  EXPECT_THAT(
      refusal("c", MeanMetric({}, MetricOptions().sync_on_compute(false))),
      HasSubstr("without options for syncing"));
  update(tasks, 1, 1);
  EXPECT_THAT(refusal("c", MeanMetric()),
              HasSubstr("to be added before the first update, got 'c'"));
  EXPECT_THAT(tasks.tasks(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace tally
