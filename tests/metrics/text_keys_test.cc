// Texts where numbers are only keys, over every metric.

#include <ATen/core/Formatting.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tally/metrics/clustering/clustering.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/metrics/nominal/nominal.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/metrics/retrieval/retrieval.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/registry_cases.h"

namespace tally {
namespace {

using namespace registry_cases;  // NOLINT
using ::testing::HasSubstr;
using testkit::BatchInput;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using Texts = std::vector<std::string>;

bool takes_texts(const InputInfo& input) {
  return input.kind == InputKind::kKeys || input.kind == InputKind::kCategories;
}

// Whole numbers.
bool are_labels(const BatchInput& input) {
  if (!input.is_tensor()) return false;
  const at::Tensor& values = input.tensor();
  return (values.dim() == 1 || values.dim() == 2) &&
         values.scalar_type() != at::kBool &&
         values.to(at::kLong).eq(values).all().item<bool>();
}

// "key 3" of 3.
Texts texts_of(const at::Tensor& labels) {
  const at::Tensor wide = labels.to(at::kLong).contiguous();
  const auto* const label = wide.const_data_ptr<std::int64_t>();
  Texts texts;
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    texts.push_back("key " + std::to_string(label[i]));
  }
  return texts;
}

BatchInput as_texts(const at::Tensor& labels) {
  if (labels.dim() == 1) return texts_of(labels);
  BatchInput::TextLists lists;
  for (const at::Tensor& row : labels.unbind()) lists.push_back(texts_of(row));
  return lists;
}

BatchInput as_keys(const at::Tensor& labels) {
  return at::tensor(SampleIds(texts_of(labels)).values(), at::kLong)
      .reshape(labels.sizes());
}

/// A case with input `place` changed, which the last of a metric's may be
/// missing in.
template <class Change>
std::optional<FixtureCase> changed(FixtureCase each, std::size_t place,
                                   const Change& change) {
  std::int64_t first = 0;
  bool is_changed = false;
  for (Batch& batch : each.batches) {
    if (batch.size() == place) {
      const std::int64_t rows = batch[0].rows();
      batch.push_back(at::arange(first, first + rows));
      first += rows;
    }
    if (place >= batch.size() || !are_labels(batch[place])) return std::nullopt;
    // A list of no lists has no number of columns.
    if (batch[place].rows() == 0) continue;
    batch[place] = change(batch[place].tensor());
    is_changed = true;
  }
  return is_changed ? std::make_optional(each) : std::nullopt;
}

std::unique_ptr<Metric> updated(const std::string& name,
                                const FixtureCase& each) {
  auto metric = metric_of(name, each);
  for (const Batch& batch : each.batches) {
    with_inputs(batch, [&](Inputs inputs) { metric->update_inputs(inputs); });
  }
  return metric;
}

void expect_same(const Results& values, const Results& wanted) {
  ASSERT_EQ(values.size(), wanted.size());
  for (const auto& [part, value] : values) {
    EXPECT_TRUE(value.sizes() == wanted.at(part).sizes() &&
                value.allclose(wanted.at(part), 1e-9, 1e-12, true))
        << part << ": " << value << " instead of " << wanted.at(part);
  }
}

void expect_any_split(const std::string& name, const FixtureCase& each,
                      const Results& wanted) {
  for (const int ranks : {2, 3}) {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      const auto metric = metric_of(name, each);
      for (const Batch& batch : each.batches) {
        std::vector<std::int64_t> own;
        for (std::int64_t i = 0; i < batch[0].rows(); ++i) {
          if (i % ranks == communicator->rank()) own.push_back(i);
        }
        if (own.empty()) continue;
        with_inputs(batch, [&](Inputs inputs) {
          std::vector<InputValue> values;
          std::vector<InputRef> refs;
          for (const InputRef& input : inputs) {
            values.push_back(input.select(own));
            refs.push_back(values.back().ref());
          }
          metric->update_inputs(Inputs(refs));
        });
      }
      expect_same(metric->compute_results(), wanted);
    });
  }
}

/// Whether the metric takes texts as this input of this case.
bool check(const std::string& name, const FixtureCase& each,
           const InputInfo& input, std::size_t place) {
  const auto of_texts = changed(each, place, as_texts);
  if (!of_texts) return false;
  const std::string refusal =
      refusal_of<c10::Error>([&] { updated(name, *of_texts); });
  if (!takes_texts(input)) {
    EXPECT_THAT(refusal, HasSubstr(" to be an at::Tensor, got"));
    return false;
  }
  if (refusal != "nothing") {  // numbers below a count, by an option
    EXPECT_THAT(refusal, HasSubstr("got the text 'key "));
    EXPECT_THAT(refusal, HasSubstr(input.name));
    return false;
  }
  const auto metric = updated(name, *of_texts);
  const auto wanted = updated(name, *changed(each, place, as_keys));
  EXPECT_EQ(metric->serialize(), wanted->serialize());
  expect_any_split(name, *of_texts, metric->compute_results());
  return true;
}

TEST(TextKeysTest, StandForTheirHashesInEveryMetric) {
  std::size_t taken = 0;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.is_wrapper) continue;
    const auto inputs = builtin_registry().inputs(name);
    const std::vector<FixtureCase> cases = cases_with_rows(entry);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE(name + ": " + inputs[i].name);
      bool is_taken = false;
      for (const FixtureCase& each : cases) {
        const bool is_here = check(name, each, inputs[i], i);
        is_taken = is_taken || is_here;
      }
      EXPECT_EQ(is_taken, takes_texts(inputs[i]) && !cases.empty());
      taken += is_taken;
    }
  }
  EXPECT_GE(taken, 60u);
}

TEST(TextKeysTest, AreGivenInAnyForm) {
  const at::Tensor preds = at::tensor({0.9, 0.2, 0.7, 0.4});
  const at::Tensor target = at::tensor({0, 1, 1, 0});
  const Texts queries = {"q1", "q1", "7", "q2"};
  const at::Tensor numbers = at::tensor(SampleIds(queries).values(), at::kLong);
  EXPECT_EQ(SampleIds(queries).values()[2], 7);
  RetrievalMAP wanted;
  wanted.update(preds, target, numbers);
  const std::vector<std::string_view> views(queries.begin(), queries.end());
  const auto expect_wanted = [&](const auto& update) {
    RetrievalMAP metric;
    update(metric);
    EXPECT_EQ(metric.serialize(), wanted.serialize());
  };
  expect_wanted([&](auto& m) { m.update(preds, target, queries); });
  expect_wanted([&](auto& m) { m.update(preds, target, views); });
  expect_wanted([&](auto& m) {
    m.update(preds, target, TextList({"q1", "q1", "7", "q2"}));
  });
  expect_wanted([&](auto& m) {
    m.update({{"indexes", {"q1", "q1", "7", "q2"}},
              {"preds", preds},
              {"target", target}});
  });
  expect_wanted([&](auto& m) {
    m.update({{"preds", preds},
              {"target", target},
              {"indexes", TextList({"q1", "q1", "7", "q2"})}});
  });
  expect_wanted([&](auto& m) { m.forward(preds, target, queries); });

  MetricCollection metrics;
  metrics.add("map", RetrievalMAP());
  metrics.add("mrr", RetrievalMRR());
  metrics.update({{"preds", preds}, {"target", target}, {"indexes", queries}});
  MetricCollection others;
  others.add("map", RetrievalMAP());
  others.add("mrr", RetrievalMRR());
  others.update(preds, target, numbers);
  EXPECT_EQ(metrics.serialize(), others.serialize());

  CramersVMatrix matrix, other;
  const std::vector<Texts> rows = {{"a", "b"}, {"b", "a"}, {"a", "b"}};
  matrix.update(rows);
  other.update(
      at::tensor(SampleIds(Texts{"a", "b", "b", "a", "a", "b"}).values(),
                 at::kLong)
          .view({3, 2}));
  EXPECT_EQ(matrix.serialize(), other.serialize());
}

TEST(TextKeysTest, AreRefusedWhereValuesAreNumbersOfSomething) {
  ClusterAccuracy clusters{ClusterAccuracyOptions().num_classes(2)};
  const Texts letters = {"a", "b"};
  EXPECT_THAT(
      refusal_of([&] {
        clusters.update(letters, at::tensor({0, 1}));
      }),
      HasSubstr("expected preds in [0, 2), got the text 'a'; pass the number "
                "of each text, the same on every rank"));
  clusters.update(Texts{"1", "0"}, at::tensor({0, 1}));
  EXPECT_EQ(clusters.compute().item<double>(), 1);
  const auto fairness = make_metric("BinaryFairness(num_groups=2)");
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] {
        fairness->update(at::tensor({0, 1}), at::tensor({0, 1}), letters);
      }),
      HasSubstr("BinaryFairness: expected groups to be an at::Tensor, "
                "got a"));
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] {
        fairness->update(at::tensor({0, 1}), at::tensor({0, 1}), letters);
      }),
      HasSubstr("; pass the number of each text, the same on every "
                "rank"));
  CramersVMatrix matrix;
  EXPECT_THAT(refusal_of([&] {
                matrix.update(std::vector<Texts>{{"a", "b"}, {"c"}});
              }),
              HasSubstr("expected as many texts in each row, got 2 in row 0 "
                        "and 1 in row 1"));
  RetrievalMAP retrieval;
  EXPECT_THAT(refusal_of([&] {
                retrieval.update(at::ones({3}), at::ones({3}), letters);
              }),
              HasSubstr("expected preds and indexes of the same shape, got "
                        "[3] and [2]"));
  EXPECT_EQ(retrieval.update_count(), 0);
}

struct Ranked {
  at::Tensor preds, target;
  Texts queries;
};

Ranked ranked() {
  Ranked all{
      at::arange(60).mul(7.3).sin(), at::arange(60).remainder(3).eq(0), {}};
  for (int i = 0; i < 60; ++i) {
    all.queries.push_back("query " + std::to_string(i % 12));
  }
  return all;
}

at::Tensor keys_of(const Texts& texts) {
  return at::tensor(SampleIds(texts).values(), at::kLong);
}

TEST(TextKeysTest, AreUnitsOfIntervalsAndComparisons) {
  const auto [preds, target, queries] = ranked();
  IntervalMetric metric{RetrievalMAP()}, wanted{RetrievalMAP()};
  metric.update(preds, target, queries);
  wanted.update(preds, target, keys_of(queries));
  EXPECT_EQ(metric.serialize(), wanted.serialize());
  EXPECT_EQ(metric.compute().value().units, 12);

  Texts keys;
  for (int i = 0; i < 60; ++i) keys.push_back(i % 12 < 6 ? "north" : "south");
  SliceComparison slices{RetrievalMAP()}, other{RetrievalMAP()};
  slices.update(SliceKeys(keys), preds, target, queries);
  other.update(SliceKeys(keys), preds, target, keys_of(queries));
  EXPECT_EQ(slices.serialize(), other.serialize());

  SlicedMetric sliced{RetrievalMAP()}, same{RetrievalMAP()};
  sliced.update(SliceKeys(keys), preds, target, queries);
  same.update(SliceKeys(keys), preds, target, keys_of(queries));
  EXPECT_EQ(sliced.serialize(), same.serialize());

  // Texts are never NaN.
  const auto ignores = [] {
    return RandScore(NoOptions(),
                     MetricOptions().nan_policy(NanPolicy::kIgnore));
  };
  Texts first(20), second(20), truth(20);
  for (int i = 0; i < 20; ++i) {
    first[i] = "a" + std::to_string(i % 3);
    second[i] = "b" + std::to_string(i % 4);
    truth[i] = "c" + std::to_string(i % 2);
  }
  ModelComparison models{ignores()}, numbers{ignores()};
  models.update(first, second, truth);
  numbers.update(keys_of(first), keys_of(second), keys_of(truth));
  EXPECT_EQ(models.serialize(), numbers.serialize());
  BootStrapper resampled{RandScore()}, drawn{RandScore()};
  resampled.update(first, truth);
  drawn.update(keys_of(first), keys_of(truth));
  EXPECT_EQ(resampled.serialize(), drawn.serialize());
}

}  // namespace
}  // namespace tally
