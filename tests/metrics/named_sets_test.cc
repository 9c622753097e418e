#include "tally/metrics/slices/named_sets.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/confusion_matrix.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/text/word_error_rate.h"
#include "tally/metrics/wrappers/running.h"
#include "tally/sync/errors.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::refusal_of;

std::vector<std::string> names_of(const Results& results) {
  std::vector<std::string> names;
  for (const auto& [name, value] : results) names.push_back(name);
  return names;
}

// By hand: 2 of 4 and 1 of 1.
TEST(NamedSetsTest, HasTheValuesOfEachSetAndBothMeans) {
  NamedSets sets({"noisy", "clean"}, BinaryAccuracy());
  sets.update("noisy", at::tensor({1, 0}), at::tensor({1, 1}));
  sets.update("clean", at::tensor({0}), at::tensor({0}));
  sets.update("noisy",
              {{"target", at::tensor({0, 0})}, {"preds", at::tensor({0, 1})}});
  const Results results = sets.compute();
  EXPECT_THAT(
      names_of(results),
      ElementsAre("noisy/BinaryAccuracy", "clean/BinaryAccuracy",
                  "mean/BinaryAccuracy", "weighted_mean/BinaryAccuracy"));
  EXPECT_EQ(results.number("noisy/BinaryAccuracy"), 0.5);
  EXPECT_EQ(results.number("clean/BinaryAccuracy"), 1);
  EXPECT_EQ(results.number("mean/BinaryAccuracy"), 0.75);
  EXPECT_EQ(results.number("weighted_mean/BinaryAccuracy"), 0.6);
  EXPECT_EQ(sets.rows("noisy"), 4);
  EXPECT_EQ(sets.rows("clean"), 1);
  EXPECT_EQ(sets.update_count(), 3);
}

TEST(NamedSetsTest, WeightsMayBeGiven) {
  NamedSets sets({"a", "b", "c"}, MeanMetric(),
                 NamedSetsOptions().weights({1, 3, 0}));
  for (const char* set : {"a", "b"}) {
    sets.update(set, set == std::string("a") ? 2.0 : 6.0);
  }
  // A set of weight 0 is left out, whatever it has.
  EXPECT_EQ(sets.compute().number("weighted_mean/MeanMetric"), 5);
  EXPECT_TRUE(std::isnan(sets.compute().number("mean/MeanMetric")));
  sets.update("c", 1.0);
  EXPECT_EQ(sets.compute().number("mean/MeanMetric"), 3);
  EXPECT_EQ(sets.compute().number("weighted_mean/MeanMetric"), 5);
  EXPECT_EQ(sets.rows("a"), 1);
}

TEST(NamedSetsTest, OnlyNumbersHaveMeans) {
  NamedSets sets({"a", "b"});
  sets.add("matrix", BinaryConfusionMatrix());
  sets.add("roc", BinaryROC());
  sets.add("accuracy", BinaryAccuracy());
  sets.update("a", at::tensor({0.9, 0.2}), at::tensor({1, 1}));
  sets.update("b", at::tensor({0.9, 0.2}), at::tensor({1, 0}));
  const Results results = sets.compute();
  EXPECT_THAT(
      names_of(results),
      ElementsAre("a/matrix", "a/roc.fpr", "a/roc.tpr", "a/roc.thresholds",
                  "a/accuracy", "b/matrix", "b/roc.fpr", "b/roc.tpr",
                  "b/roc.thresholds", "b/accuracy", "mean/accuracy",
                  "weighted_mean/accuracy"));
  EXPECT_EQ(results.number("mean/accuracy"), 0.75);
}

// The error rate of nothing is 0, which is none of the set's.
TEST(NamedSetsTest, ASetWithoutRowsHasNoMean) {
  NamedSets sets({"full", "empty"}, WordErrorRate());
  sets.update("full", std::vector<std::string>{"a b"},
              std::vector<std::string>{"a c"});
  const Results results = sets.compute();
  EXPECT_EQ(results.number("full/WordErrorRate"), 0.5);
  EXPECT_TRUE(std::isnan(results.number("mean/WordErrorRate")));
  EXPECT_EQ(results.number("weighted_mean/WordErrorRate"), 0.5);
  const Results none = NamedSets({"a"}, MeanMetric()).compute();
  EXPECT_TRUE(std::isnan(none.number("a/MeanMetric")));
  EXPECT_TRUE(std::isnan(none.number("mean/MeanMetric")));
  EXPECT_TRUE(std::isnan(none.number("weighted_mean/MeanMetric")));
}

TEST(NamedSetsTest, RefusesWhatItCannotName) {
  const auto refusal = [](std::vector<std::string> sets,
                          NamedSetsOptions options = {}) {
    return refusal_of([&] { NamedSets(sets, MeanMetric(), options); });
  };
  EXPECT_EQ(refusal({}), "NamedSets: expected at least one set, got none");
  EXPECT_EQ(refusal({"a", "b", "a"}),
            "NamedSets: expected each set once, got 'a' twice");
  EXPECT_EQ(refusal({"a/b"}),
            "NamedSets: expected names of sets without '/', got 'a/b'");
  EXPECT_THAT(refusal({""}), HasSubstr("got ''"));
  for (const char* name : {"mean", "weighted_mean"}) {
    EXPECT_THAT(refusal({name}), HasSubstr("than those of the means"));
  }
  EXPECT_EQ(refusal({"a", "b"}, NamedSetsOptions().weights({1})),
            "NamedSets: expected a weight for each of 2 sets, got 1");
  for (const double weight :
       {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THAT(refusal({"a"}, NamedSetsOptions().weights({weight})),
                HasSubstr("expected finite weights of at least 0, got "));
  }
  EXPECT_THAT(refusal_of([] {
                NamedSets sets({"a"});
                sets.add("x", Running(MeanMetric(), RunningOptions(2)));
              }),
              HasSubstr("does not depend on the batches"));
}

TEST(NamedSetsTest, AnUpdateThatIsRefusedChangesNothing) {
  NamedSets sets({"clean", "noisy"}, BinaryAccuracy());
  sets.update("clean", at::tensor({1}), at::tensor({1}));
  const std::string before = sets.serialize();
  EXPECT_EQ(refusal_of([&] {
              sets.update("nosiy", at::tensor({1}), at::tensor({1}));
            }),
            "NamedSets: expected one of the sets clean, noisy, got 'nosiy'; "
            "did you mean 'noisy'?");
  EXPECT_THAT(refusal_of<c10::IndexError>([&] {
                sets.update("noisy", at::tensor({1}), at::tensor({7}));
              }),
              HasSubstr("got 7 at position 0"));
  EXPECT_THAT(refusal_of([&] { sets.rows("x"); }),
              HasSubstr("expected one of the sets"));
  EXPECT_EQ(sets.serialize(), before);
  EXPECT_EQ(refusal_of([] {
              NamedSets none({"a"});
              none.compute();
            }),
            "NamedSets: expected a metric, see add()");
}

TEST(NamedSetsTest, ResultsOfSeparateEvaluationsAreJoined) {
  const auto of = [](const char* name, std::int64_t rows, double weight,
                     double value) {
    SetResult set{name, rows, weight, {}};
    set.results.add("f1", at::full({}, value, at::kDouble));
    return set;
  };
  const Results joined = join_sets({of("a", 1, 1, 0.5), of("b", 9, 3, 0.25)});
  EXPECT_THAT(names_of(joined),
              ElementsAre("a/f1", "b/f1", "mean/f1", "weighted_mean/f1"));
  EXPECT_EQ(joined.number("mean/f1"), 0.375);
  EXPECT_EQ(joined.number("weighted_mean/f1"), 0.3125);
  EXPECT_THAT(refusal_of([&] {
                join_sets({of("a", 1, 1, 0), of("a", 1, 1, 0)});
              }),
              HasSubstr("got 'a' twice"));
}

/// Rows i of a set are those of a rank with the number i % size, of which the
/// last has none if there are three.
void update(NamedSets& sets, int rank, int size) {
  const int busy = size == 3 ? 2 : size;
  if (rank >= busy) return;
  const std::vector<std::int64_t> rows = {7, 12, 1};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const at::Tensor own = at::arange(rank, rows[i], busy);
    sets.update(sets.sets()[i], own.remainder(3), own.remainder(2));
  }
}

RANKS_TEST(NamedSetsRanksTest, NumberOfRanksDoesNotShow, 1, 2, 3) {
  const auto make = [](MetricOptions options) {
    return NamedSets(
        {"b", "a", "c"},
        MulticlassAccuracy(
            MulticlassAccuracyOptions(3).average(Average::kMicro), options));
  };
  NamedSets alone = make(MetricOptions().sync_on_compute(false));
  update(alone, 0, 1);
  NamedSets sets = make(MetricOptions());
  update(sets, self.rank(), self.size());
  const Results wanted = alone.compute();
  EXPECT_EQ(wanted.number("b/MulticlassAccuracy"), 3.0 / 7);
  for (const Results& results : {sets.compute(), sets.sync_async().wait()}) {
    EXPECT_EQ(names_of(results), names_of(wanted));
    for (const auto& [name, value] : wanted) {
      EXPECT_EQ(results.number(name), value.item<double>()) << name;
    }
  }
  sets.sync();
  EXPECT_EQ(sets.rows("a"), 12);
  sets.unsync();
}

RANKS_TEST(NamedSetsRanksTest, OtherSetsAreAnErrorOnEveryRank, 2, 3) {
  NamedSets sets({"a", self.rank() == 0 ? "b" : "c"}, MeanMetric());
  EXPECT_THROW(sets.compute(), sync::SyncError);
}

}  // namespace
}  // namespace tally
