#include "tally/metrics/slices/sliced_metric.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/exact_match.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/wrappers/boot_strapper.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::refusal_of;
using Texts = std::vector<std::string>;
using Values = std::vector<SliceValue>;

std::vector<std::string> names_of(const std::vector<SliceResult>& slices) {
  std::vector<std::string> names;
  for (const SliceResult& slice : slices) names.push_back(slice.name());
  return names;
}

std::vector<std::int64_t> rows_of(const std::vector<SliceResult>& slices) {
  std::vector<std::int64_t> rows;
  for (const SliceResult& slice : slices) rows.push_back(slice.rows);
  return rows;
}

double value_of(const SliceResult& slice) {
  return slice.results.value().item<double>();
}

TEST(SlicedMetricTest, DividesManyRowsInBlocks) {
  constexpr std::int64_t kRows = 300'001;
  const at::Tensor numbers = at::arange(kRows);
  const at::Tensor keys = numbers.mul(31).remainder(7);
  // Of a slice in one block alone, and of inputs of more than one dimension.
  const at::Tensor last = at::where(numbers.eq(kRows - 1), 99, keys);
  const at::Tensor preds = numbers.mul(17).remainder(101).div(101.0);
  const at::Tensor target = numbers.mul(13).remainder(5).gt(2).to(at::kLong);
  SlicedMetric areas{BinaryAUROC()};
  SlicedMetric matches{MultilabelExactMatch(2)};
  const at::Tensor pairs = at::stack({preds, preds.neg().add(1)}, 1);
  const at::Tensor labels = at::stack({target, target.neg().add(1)}, 1);
  areas.update(SliceKeys(last), preds, target);
  matches.update(SliceKeys(last), pairs, labels);
  const auto slices = areas.compute();
  const auto exact = matches.compute();
  ASSERT_EQ(slices.size(), 8);
  EXPECT_EQ(slices.back().rows, 1);
  for (std::size_t i = 0; i + 1 < slices.size(); ++i) {
    const at::Tensor own = last.eq(std::get<std::int64_t>(slices[i].key[0]));
    EXPECT_EQ(slices[i].rows, own.sum().item<std::int64_t>());
    BinaryAUROC area;
    area.update(preds.masked_select(own), target.masked_select(own));
    EXPECT_TRUE(slices[i].results.value().equal(area.compute()));
    const at::Tensor rows = own.nonzero().squeeze(1);
    MultilabelExactMatch match(2);
    match.update(pairs.index_select(0, rows), labels.index_select(0, rows));
    EXPECT_TRUE(exact[i].results.value().equal(match.compute()));
  }
}

TEST(SlicedMetricTest, HasASliceForEachKeyAndForNone) {
  SlicedMetric mean{MeanMetric()};
  const Values keys = {
      std::string("x"), std::string("x"),    std::string("y"), {},
      std::string("y"), std::string("null"), std::string()};
  mean.update(SliceKeys(keys), at::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}));
  const auto slices = mean.compute();
  EXPECT_THAT(names_of(slices), ElementsAre("(missing)", "", "null", "x", "y"));
  EXPECT_THAT(rows_of(slices), ElementsAre(1, 1, 1, 2, 2));
  EXPECT_EQ(value_of(slices[0]), 4);
  EXPECT_EQ(value_of(slices[3]), 1.5);
  EXPECT_EQ(value_of(slices[4]), 4);
}

TEST(SlicedMetricTest, CrossesColumnsAndTakesSeveralMetrics) {
  SlicedMetric sliced;
  sliced.add("accuracy", MulticlassAccuracy(3));
  sliced.add("f1", MulticlassF1Score(3));
  const SliceKeys keys =
      SliceKeys(Texts{"b", "a", "b", "b"})
          .crossed_with(SliceKeys(at::tensor({1, 1, -1, 1})));
  const at::Tensor preds = at::tensor({0, 1, 2, 0});
  const at::Tensor target = at::tensor({0, 1, 1, 2});
  sliced.update(keys, {{"target", target}, {"preds", preds}});
  const auto slices = sliced.compute();
  EXPECT_THAT(names_of(slices), ElementsAre("a, 1", "b, -1", "b, 1"));
  MulticlassAccuracy accuracy(3);
  accuracy.update(at::tensor({0, 0}), at::tensor({0, 2}));
  EXPECT_EQ(slices[2].results["accuracy"].item<double>(),
            accuracy.compute().item<double>());
  EXPECT_TRUE(slices[2].results.contains("f1"));
}

TEST(SlicedMetricTest, FoldsAllButTheLargestByRowsAndKey) {
  SlicedMetric mean(MeanMetric(), SlicedMetricOptions().largest(2));
  mean.update(SliceKeys(at::tensor({5, 7, 7, 1, 3, 3, 9})),
              at::arange(7).to(at::kDouble));
  const auto slices = mean.compute();
  EXPECT_THAT(names_of(slices), ElementsAre("3", "7", "(other)"));
  EXPECT_THAT(rows_of(slices), ElementsAre(2, 2, 3));
  EXPECT_EQ(value_of(slices[2]), (0.0 + 3.0 + 6.0) / 3);
  // All slices are still there.
  EXPECT_EQ(mean.size(), 5);
}

TEST(SlicedMetricTest, ABadBatchChangesNothing) {
  SlicedMetric accuracy(MulticlassAccuracy(3),
                        SlicedMetricOptions().max_slices(2));
  const at::Tensor labels = at::tensor({0, 1});
  accuracy.update(SliceKeys(at::tensor({1, 2})), labels, labels);
  const auto update = [&](const SliceKeys& keys, const at::Tensor& target) {
    return refusal_of<c10::Error>(
        [&] { accuracy.update(keys, labels, target); });
  };
  EXPECT_THAT(update(SliceKeys(at::tensor({1, 2})), at::tensor({0, 5})),
              HasSubstr("(MulticlassAccuracy)"));
  EXPECT_EQ(update(SliceKeys(at::tensor({1})), labels),
            "SlicedMetric: expected a key for each of 2 rows, got 1");
  EXPECT_EQ(update(SliceKeys(at::tensor({1, 3})), labels),
            "SlicedMetric: expected at most 2 slices (max_slices), got 3");
  const SliceKeys one(at::tensor({1, 2}));
  EXPECT_EQ(update(one.crossed_with(one), labels),
            "SlicedMetric: expected keys of 1 columns, got 2");
  EXPECT_THAT(rows_of(accuracy.compute()), ElementsAre(1, 1));
  accuracy.reset();
  EXPECT_TRUE(accuracy.compute().empty());
}

TEST(SlicedMetricTest, RefusesUnknownKeysWhereTheyAreKnown) {
  SlicedMetric mean(MeanMetric(),
                    SlicedMetricOptions().keys({{std::string("a")}, {{}}}));
  EXPECT_EQ(refusal_of([&] {
              mean.update(SliceKeys(Texts{"a", "b"}), at::tensor({1.0, 2.0}));
            }),
            "SlicedMetric: expected one of the known keys, got 'b'");
  mean.update(SliceKeys(Texts{"a"}), at::tensor({1.0}));
  EXPECT_THAT(rows_of(mean.compute()), ElementsAre(0, 1));
}

TEST(SlicedMetricTest, DoesNotKeepTheCallersTensors) {
  SlicedMetric auroc{BinaryAUROC()};
  at::Tensor preds = at::tensor({0.1, 0.9, 0.8, 0.3});
  const at::Tensor target = at::tensor({0, 1, 1, 0});
  const SliceKeys keys(at::tensor({1, 1, 1, 1}));
  auroc.update(keys, preds, target);
  preds.fill_(0.5);
  EXPECT_EQ(value_of(auroc.compute()[0]), 1);
}

TEST(SlicedMetricTest, NamesWhatItRefuses) {
  EXPECT_THAT(refusal_of([] {
                SlicedMetric sliced{BootStrapper(MulticlassAccuracy(3))};
              }),
              HasSubstr("got BootStrapper(metric=MulticlassAccuracy"));
  SlicedMetric sliced;
  sliced.add("a", MeanMetric());
  EXPECT_EQ(refusal_of([&] { sliced.add("a", MeanMetric()); }),
            "SlicedMetric: expected one metric of each name, got 'a' twice");
}

/// Rows of which rank r has every size-th; with 5 ranks the last has none.
struct Data {
  at::Tensor keys = at::arange(60).mul(7).remainder(11).sub(4);
  at::Tensor preds = at::arange(60).mul(5).remainder(3);
  at::Tensor target = at::arange(60).mul(11).remainder(13).remainder(3);
};

void update(SlicedMetric& metric, const Data& data, int rank, int size) {
  const int busy = size == 5 ? 4 : size;
  if (rank >= busy) return;
  const at::Tensor mine = at::arange(rank, 60, busy);
  metric.update(SliceKeys(data.keys.index_select(0, mine)),
                data.preds.index_select(0, mine),
                data.target.index_select(0, mine));
}

void expect_same(const std::vector<SliceResult>& slices,
                 const std::vector<SliceResult>& wanted) {
  ASSERT_EQ(names_of(slices), names_of(wanted));
  EXPECT_EQ(rows_of(slices), rows_of(wanted));
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const double value = value_of(slices[i]), other = value_of(wanted[i]);
    EXPECT_TRUE(value == other || (std::isnan(value) && std::isnan(other)))
        << slices[i].name() << ": " << value << " instead of " << other;
  }
}

TEST(SlicedMetricTest, GoesOnFromBytes) {
  const Data data;
  SlicedMetric whole(MulticlassAccuracy(3)), first(MulticlassAccuracy(3)),
      second(MulticlassAccuracy(3));
  update(first, data, 0, 2);
  ASSERT_TRUE(second.deserialize(first.serialize()).ok());
  for (SlicedMetric* metric : {&whole, &second}) {
    if (metric == &whole) update(*metric, data, 0, 2);
    update(*metric, data, 1, 2);
  }
  expect_same(second.compute(), whole.compute());
  EXPECT_EQ(second.serialize(), whole.serialize());
  // Keys of all kinds, several metrics, and none at all.
  const SliceKeys keys =
      SliceKeys(Values{{}, std::string("a\0", 2), std::string()})
          .crossed_with(SliceKeys(at::tensor({-1, 1, 0})));
  SlicedMetric both;
  both.add("a", MulticlassAccuracy(3));
  both.add("b", MulticlassF1Score(3));
  both.add("c", MulticlassAUROC(3));
  const std::string none = both.serialize();
  both.update(keys, at::rand({3, 3}), at::tensor({0, 1, 2}));
  const auto slices = both.compute();
  const std::string bytes = both.serialize();
  both.reset();
  ASSERT_TRUE(both.deserialize(bytes).ok());
  EXPECT_EQ(names_of(both.compute()), names_of(slices));
  EXPECT_EQ(both.serialize(), bytes);
  ASSERT_TRUE(both.deserialize(none).ok());
  EXPECT_EQ(both.size(), 0);
}

TEST(SlicedMetricTest, BadBytesChangeNothing) {
  const Data data;
  SlicedMetric metric(MulticlassAccuracy(3));
  update(metric, data, 0, 1);
  const std::string bytes = metric.serialize();
  const auto message = [](SlicedMetric& into, const std::string& from) {
    const absl::Status status = into.deserialize(from);
    return std::string(status.message().data(), status.message().size());
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    EXPECT_FALSE(metric.deserialize(damaged).ok()) << i;
    EXPECT_FALSE(metric.deserialize(bytes.substr(0, i)).ok()) << i;
  }
  EXPECT_EQ(metric.serialize(), bytes);
  SlicedMetric other(MulticlassAccuracy(4)), mean{MeanMetric()},
      few(MulticlassAccuracy(3), SlicedMetricOptions().max_slices(2)),
      known(MulticlassAccuracy(3),
            SlicedMetricOptions().keys({{Values{std::int64_t{1}}}})),
      crossed(MulticlassAccuracy(3), SlicedMetricOptions().keys({{Values{
                                         std::int64_t{1}, std::string("a")}}}));
  EXPECT_THAT(message(other, bytes), HasSubstr("num_classes"));
  EXPECT_THAT(message(mean, bytes), HasSubstr("MeanMetric"));
  EXPECT_THAT(message(few, bytes), HasSubstr("at most 2 slices"));
  EXPECT_THAT(message(known, bytes), HasSubstr("one of the known keys"));
  EXPECT_THAT(message(crossed, bytes), HasSubstr("keys of 2 columns, got 1"));
  EXPECT_EQ(known.size() + few.size() + other.size(), 0);
}

TEST(SliceKeysTest, BytesOfOthersAreNoKeys) {
  for (const Values& key :
       {Values{}, Values{{}}, Values{std::int64_t{1}, std::string("a")},
        Values{std::string("\0x\0", 3), {}, std::int64_t{-7}}}) {
    const std::string bytes = internal::slice_key_bytes(key);
    const auto columns = static_cast<std::int64_t>(key.size());
    EXPECT_EQ(internal::slice_key_columns(bytes), columns);
    EXPECT_EQ(internal::slice_key_columns(bytes + "\x03"), std::nullopt);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_NE(internal::slice_key_columns(bytes.substr(0, i)), columns) << i;
    }
  }
}

std::int64_t collectives(const tally::sync::Communicator& ranks) {
  return ranks.account().total().calls;
}

RANKS_TEST(SlicedMetricRanksTest, NumberOfRanksDoesNotShow, 1, 2, 3, 5) {
  const Data data;
  for (const std::int64_t largest : {0, 4}) {
    const auto options = SlicedMetricOptions().largest(largest);
    SlicedMetric alone(
        MulticlassAccuracy(3, MetricOptions().sync_on_compute(false)), options);
    update(alone, data, 0, 1);
    SlicedMetric sliced(MulticlassAccuracy(3), options);
    update(sliced, data, self.rank(), self.size());
    const auto before = collectives(*self.group());
    expect_same(sliced.compute(), alone.compute());
    EXPECT_LE(collectives(*self.group()) - before, 3);
  }
}

/// The same by name, with keys of all kinds.
void update_mixed(SlicedMetric& metric, const Data& data, int rank, int size) {
  const int busy = size == 5 ? 4 : size;
  if (rank >= busy) return;
  const at::Tensor mine = at::arange(rank, 60, busy);
  Values keys;
  for (std::int64_t i = rank; i < 60; i += busy) {
    const auto key = data.keys[i].item<std::int64_t>();
    if (key < -2) {
      keys.emplace_back();
    } else if (key % 2 == 0) {
      keys.emplace_back(key);
    } else {
      keys.emplace_back(std::to_string(key));
    }
  }
  metric.update(SliceKeys(keys), {{"target", data.target.index_select(0, mine)},
                                  {"preds", data.preds.index_select(0, mine)}});
}

RANKS_TEST(SlicedMetricRanksTest, KeysOfAllKindsAreMerged, 1, 2, 3, 5) {
  const Data data;
  SlicedMetric alone(
      MulticlassAccuracy(3, MetricOptions().sync_on_compute(false)));
  update_mixed(alone, data, 0, 1);
  SlicedMetric sliced(MulticlassAccuracy(3));
  update_mixed(sliced, data, self.rank(), self.size());
  const auto slices = sliced.compute();
  expect_same(slices, alone.compute());
  EXPECT_EQ(names_of(slices), (Texts{"(missing)", "-2", "0", "2", "4", "6",
                                     "-1", "1", "3", "5"}));
}

RANKS_TEST(SlicedMetricRanksTest, KnownKeysTakeOneReduction, 1, 2, 3, 5) {
  const Data data;
  std::vector<std::vector<SliceValue>> keys;
  for (std::int64_t key = -4; key < 8; ++key) keys.push_back({key});
  const auto options = SlicedMetricOptions().keys(keys);
  SlicedMetric alone(
      MulticlassAccuracy(3, MetricOptions().sync_on_compute(false)), options);
  update(alone, data, 0, 1);
  SlicedMetric sliced(MulticlassAccuracy(3), options);
  update(sliced, data, self.rank(), self.size());
  const auto before = collectives(*self.group());
  const auto slices = sliced.compute();
  EXPECT_EQ(collectives(*self.group()) - before, self.size() > 1 ? 1 : 0);
  ASSERT_EQ(slices.size(), 12);
  EXPECT_EQ(slices.back().rows, 0);
  expect_same(slices, alone.compute());
}

RANKS_TEST(SlicedMetricRanksTest, TooManySlicesAreAnErrorOnEveryRank, 2, 3) {
  SlicedMetric mean(MeanMetric(), SlicedMetricOptions().max_slices(1));
  mean.update(SliceKeys(at::full({1}, self.rank(), at::kLong)),
              at::tensor({1.0}));
  EXPECT_EQ(refusal_of([&] { mean.compute(); }),
            "SlicedMetric: expected at most 1 slices (max_slices), got " +
                std::to_string(self.size()));
}

}  // namespace
}  // namespace tally
