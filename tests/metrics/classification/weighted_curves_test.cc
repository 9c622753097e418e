#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/equal_error_rate.h"
#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"
#include "tally/metrics/classification/log_auc.h"
#include "tally/metrics/classification/optimal_threshold.h"
#include "tally/metrics/classification/precision_recall_curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/with_gaps.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::near;
using testkit::refusal_of;
using testkit::with_gaps;
using OptionTexts = std::map<std::string, std::string>;
using Task = CurveShape::Task;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kCurves = 3;

/// A metric and a way to make it.
struct Kind {
  std::string name;
  Task task;
  OptionTexts required;
  std::function<std::unique_ptr<Metric>(const OptionTexts&,
                                        const MetricOptions&)>
      make_from;

  std::unique_ptr<Metric> make(OptionTexts more = {},
                               const MetricOptions& metric_options = {}) const {
    more.insert(required.begin(), required.end());
    return make_from(more, metric_options);
  }
};

template <class M>
Kind kind(const OptionTexts& required = {}) {
  const auto unset = internal::unset_options<typename M::Options>();
  Kind made{M::kName, unset.shape().task, required,
            [](const OptionTexts& texts,
               const MetricOptions& metric_options) -> std::unique_ptr<Metric> {
              auto options = internal::unset_options<typename M::Options>();
              parse_options(options, M::kName, texts);
              return std::make_unique<M>(options, metric_options);
            }};
  if (made.task == Task::kMulticlass) {
    made.required["num_classes"] = "3";
  } else if (made.task == Task::kMultilabel) {
    made.required["num_labels"] = "3";
  }
  return made;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      kind<BinaryAUROC>(),
      kind<BinaryAUROC>({{"max_fpr", "0.4"}}),
      kind<MulticlassAUROC>({{"average", "weighted"}}),
      kind<MulticlassAUROC>({{"average", "micro"}}),
      kind<MultilabelAUROC>({{"average", "none"}}),
      kind<BinaryAveragePrecision>(),
      kind<MulticlassAveragePrecision>({{"average", "none"}}),
      kind<MultilabelAveragePrecision>({{"average", "weighted"}}),
      kind<MultilabelAveragePrecision>({{"average", "micro"}}),
      kind<BinaryEER>(),
      kind<MulticlassEER>(),
      kind<MultilabelEER>(),
      kind<BinaryLogAUC>({{"fpr_range", "[0.05, 0.9]"}}),
      kind<MulticlassLogAUC>({{"fpr_range", "[0.05, 0.9]"}}),
      kind<MultilabelLogAUC>({{"fpr_range", "[0.05, 0.9]"}}),
      kind<BinaryROC>(),
      kind<MulticlassROC>(),
      kind<MulticlassROC>({{"average", "macro"}}),
      kind<MultilabelROC>(),
      kind<BinaryPrecisionRecallCurve>(),
      kind<MulticlassPrecisionRecallCurve>(),
      kind<MulticlassPrecisionRecallCurve>({{"average", "macro"}}),
      kind<MultilabelPrecisionRecallCurve>(),
      kind<BinaryRecallAtFixedPrecision>({{"min_precision", "0.6"}}),
      kind<MulticlassRecallAtFixedPrecision>({{"min_precision", "0.4"}}),
      kind<MultilabelRecallAtFixedPrecision>({{"min_precision", "0.6"}}),
      kind<BinaryPrecisionAtFixedRecall>({{"min_recall", "0.3"}}),
      kind<MulticlassPrecisionAtFixedRecall>({{"min_recall", "0.3"}}),
      kind<MultilabelPrecisionAtFixedRecall>({{"min_recall", "0.3"}}),
      kind<BinarySensitivityAtSpecificity>({{"min_specificity", "0.7"}}),
      kind<MulticlassSensitivityAtSpecificity>({{"min_specificity", "0.7"}}),
      kind<MultilabelSensitivityAtSpecificity>({{"min_specificity", "0.7"}}),
      kind<BinarySpecificityAtSensitivity>({{"min_sensitivity", "0.7"}}),
      kind<MulticlassSpecificityAtSensitivity>({{"min_sensitivity", "0.7"}}),
      kind<MultilabelSpecificityAtSensitivity>({{"min_sensitivity", "0.7"}}),
      kind<BinaryOptimalThreshold>(),
      kind<MulticlassOptimalThreshold>({{"criterion", "youden"}}),
      kind<MultilabelOptimalThreshold>(
          {{"criterion", "cost"}, {"false_negative_cost", "3.5"}}),
  };
  return all;
}

const std::vector<OptionTexts> kForms = {
    {},
    {{"thresholds", "11"}},
    {{"thresholds", "[0.2, 0.5, 0.7]"}},
    {{"thresholds", "500"}},
    {{"input", "logits"}},
    {{"thresholds", "11"}, {"input", "logits"}}};

struct Batch {
  at::Tensor preds;
  at::Tensor target;
  at::Tensor weight;

  Batch rows(std::int64_t begin, std::int64_t count) const {
    return {preds.narrow(0, begin, count), target.narrow(0, begin, count),
            weight.narrow(0, begin, count)};
  }
};

// Scores with ties, exact in any dtype; weights are 0, 1, 2 or 3.
Batch batch_of(Task task, std::int64_t rows) {
  std::vector<std::int64_t> sizes = {rows};
  if (task != Task::kBinary) sizes.push_back(kCurves);
  const bool classes = task == Task::kMulticlass;
  return {at::randint(0, 33, sizes).div(32),
          at::randint(0, classes ? kCurves : 2,
                      classes ? at::IntArrayRef(rows) : sizes, at::kLong),
          at::randint(0, 4, {rows}, at::kDouble)};
}

Results value_of(const Kind& metric, const OptionTexts& form,
                 const Batch& batch, const MetricOptions& options = {}) {
  const auto made = metric.make(form, options);
  made->update(batch.preds, batch.target, batch.weight);
  return made->compute_results();
}

std::string name_of(const Kind& metric, const OptionTexts& form) {
  std::string text = metric.name;
  for (const auto& list : {metric.required, form}) {
    for (const auto& [name, value] : list) text += " " + name + "=" + value;
  }
  return text;
}

TEST(WeightedCurvesTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.metric_options = [](const testkit::FixtureCase& one) {
    return MetricOptions().nan_policy(one.name.find("nan_ignored") !=
                                              std::string::npos
                                          ? NanPolicy::kIgnore
                                          : NanPolicy::kPropagate);
  };
  std::set<std::string> done;
  for (const Kind& metric : kinds()) {
    if (!done.insert(metric.name).second) continue;
    testkit::check_fixture(metric.name + ".weighted", metric.make_from,
                           options);
  }
}

TEST(WeightedCurvesTest, IntegerWeightsEqualRepeatedSamples) {
  for (const Kind& metric : kinds()) {
    for (const OptionTexts& form : kForms) {
      SCOPED_TRACE(name_of(metric, form));
      for (const auto dtype : {at::kFloat, at::kDouble}) {
        Batch batch = batch_of(metric.task, 60);
        batch.preds = batch.preds.to(dtype);
        const at::Tensor times = batch.weight.to(at::kLong);
        const Batch repeated = {batch.preds.repeat_interleave(times, 0),
                                batch.target.repeat_interleave(times, 0),
                                at::Tensor()};
        EXPECT_TRUE(near(value_of(metric, form, batch),
                         value_of(metric, form, repeated), {1e-12, 1e-14}));
      }
    }
  }
}

TEST(WeightedCurvesTest, WeightsOfOneEqualNone) {
  for (const Kind& metric : kinds()) {
    for (const OptionTexts& form : kForms) {
      SCOPED_TRACE(name_of(metric, form));
      Batch batch = batch_of(metric.task, 60);
      batch.weight = at::Tensor();
      const Results expected = value_of(metric, form, batch);
      batch.weight = at::full({60}, 1, at::kLong);
      EXPECT_TRUE(near(value_of(metric, form, batch), expected, {1e-12, 0}));
    }
  }
}

TEST(WeightedCurvesTest, TakesEveryDtypeAndStride) {
  const MetricOptions ignores = MetricOptions().nan_policy(NanPolicy::kIgnore);
  for (const Kind& metric : kinds()) {
    for (OptionTexts form : kForms) {
      form["ignore_index"] = "-1";
      SCOPED_TRACE(name_of(metric, form));
      Batch batch = batch_of(metric.task, 60);
      batch.target.masked_fill_(at::rand(batch.target.sizes()).lt(0.1), -1);
      batch.preds.masked_fill_(at::rand(batch.preds.sizes()).lt(0.05), kNaN);
      batch.weight.masked_fill_(at::rand({60}).lt(0.1), kNaN);
      const auto made = metric.make(form, ignores);
      made->update(batch.preds, batch.target, batch.weight);
      const Results expected = made->compute_results();
      const auto strided = metric.make(form, ignores);
      strided->update(with_gaps(batch.preds), with_gaps(batch.target),
                      with_gaps(batch.weight));
      EXPECT_TRUE(near(strided->compute_results(), expected, {1e-12, 1e-14}));
      const Batch others[] = {
          {batch.preds.to(at::kHalf), batch.target.to(at::kInt),
           batch.weight.to(at::kHalf)},
          {batch.preds.detach().clone().requires_grad_(), batch.target,
           batch.weight.to(at::kFloat).requires_grad_()},
          {batch.preds.to(at::kDouble), batch.target, batch.weight.neg().neg()},
      };
      for (const Batch& other : others) {
        EXPECT_TRUE(near(value_of(metric, form, other, ignores), expected,
                         {1e-12, 1e-14}));
      }
    }
  }
}

TEST(WeightedCurvesTest, PositionsHaveWeightsOfTheirOwn) {
  for (const Kind& metric : kinds()) {
    for (const OptionTexts& form : kForms) {
      SCOPED_TRACE(name_of(metric, form));
      const Batch flat = batch_of(metric.task, 60);
      // Rows 2 n + i are the positions i of sample n.
      const auto deep = [](const at::Tensor& rows) {
        std::vector<std::int64_t> sizes = rows.sizes().vec();
        sizes[0] = 30;
        sizes.insert(sizes.begin() + 1, 2);
        return rows.view(sizes).movedim(1, -1);
      };
      EXPECT_TRUE(near(value_of(metric, form,
                                {deep(flat.preds), deep(flat.target),
                                 flat.weight.view({30, 2})}),
                       value_of(metric, form, flat), {1e-12, 1e-14}));
    }
  }
}

// Batches with weights, and others that stand for weights of 1.
struct Mixed {
  std::vector<Batch> batches;
  Batch all;
};

Mixed mixed_batches(Task task) {
  Mixed mixed{{}, batch_of(task, 60)};
  mixed.all.weight.narrow(0, 20, 20).fill_(1);
  mixed.all.weight.narrow(0, 55, 5).fill_(1);
  for (const auto& [begin, end] :
       {std::pair(0, 20), {20, 40}, {40, 41}, {41, 55}, {55, 60}}) {
    mixed.batches.push_back(mixed.all.rows(begin, end - begin));
    if (begin == 20 || begin == 55) mixed.batches.back().weight = at::Tensor();
  }
  return mixed;
}

TEST(WeightedCurvesTest, BatchesMixInAnyOrderAndOverRanks) {
  for (const Kind& metric : kinds()) {
    for (const OptionTexts& form : kForms) {
      SCOPED_TRACE(name_of(metric, form));
      const Mixed mixed = mixed_batches(metric.task);
      const Results expected = value_of(metric, form, mixed.all);
      const auto update = [](Metric& made, const Batch& batch) {
        made.update(batch.preds, batch.target, batch.weight);
      };
      std::vector<int> order = {0, 1, 2, 3, 4};
      for (int turn = 0; turn < 5; ++turn) {
        const auto made = metric.make(form);
        const auto other = metric.make(form);
        for (std::size_t i = 0; i < order.size(); ++i) {
          update(i < 3 ? *made : *other, mixed.batches[order[i]]);
        }
        const auto loaded = metric.make(form);
        ASSERT_TRUE(loaded->deserialize(made->serialize()).ok());
        loaded->merge_state(*other);
        EXPECT_TRUE(near(loaded->compute_results(), expected, {1e-12, 1e-14}));
        std::rotate(order.begin(), order.begin() + 1, order.end());
        std::swap(order[1], order[3]);
      }
      // One rank has weights, one has none, one has both, one has no data.
      const std::vector<std::vector<int>> shares = {{1}, {0, 2}, {}, {3, 4}};
      testkit::run_thread_ranks(
          4, [&](const std::shared_ptr<sync::Communicator>& ranks) {
            const auto made = metric.make(form);
            for (const int i : shares[ranks->rank()]) {
              update(*made, mixed.batches[i]);
            }
            EXPECT_TRUE(near(made->compute_results(), expected, {1e-12, 1e-14}))
                << ranks->rank();
          });
    }
  }
}

TEST(WeightedCurvesTest, SamplesOfWeightZeroDoNotCount) {
  for (const Kind& metric : kinds()) {
    for (const OptionTexts& form : kForms) {
      SCOPED_TRACE(name_of(metric, form));
      const Batch batch = batch_of(metric.task, 20);
      Batch more = batch_of(metric.task, 3);
      more.weight.fill_(0);
      more.preds.fill_(kNaN);
      const Batch both = {at::cat({more.preds, batch.preds}),
                          at::cat({more.target, batch.target}),
                          at::cat({more.weight, batch.weight})};
      for (const NanPolicy policy :
           {NanPolicy::kPropagate, NanPolicy::kError}) {
        const MetricOptions options = MetricOptions().nan_policy(policy);
        const Results expected = value_of(metric, form, batch);
        EXPECT_TRUE(near(value_of(metric, form, both, options), expected));
        const Batch gaps = {with_gaps(both.preds), both.target, both.weight};
        EXPECT_TRUE(near(value_of(metric, form, gaps, options), expected,
                         {1e-12, 1e-14}));
      }
      // As if there were none at all.
      more.preds.fill_(0.5);
      const Results none = value_of(metric, form, more);
      EXPECT_TRUE(near(none, metric.make(form)->compute_results()));
      more.target.fill_(5);
      EXPECT_THAT(
          refusal_of<c10::IndexError>([&] { value_of(metric, form, more); }),
          HasSubstr("expected target in [0, "));
    }
  }
}

TEST(WeightedCurvesTest, FollowsTheNanPolicy) {
  for (const Kind& metric : kinds()) {
    for (const OptionTexts& form : kForms) {
      SCOPED_TRACE(name_of(metric, form));
      const Batch batch = batch_of(metric.task, 20);
      Batch holes = batch;
      holes.weight = batch.weight.clone();
      holes.weight.select(0, 7).fill_(kNaN);
      Batch without = batch;
      without.weight = batch.weight.clone();
      without.weight.select(0, 7).fill_(0);
      for (const bool plain : {true, false}) {
        if (!plain) holes.preds = with_gaps(holes.preds);
        Batch scores = batch;
        scores.weight = at::Tensor();
        scores.preds = batch.preds.clone().fill_(kNaN);
        EXPECT_TRUE(near(value_of(metric, form, holes),
                         value_of(metric, form, scores)));
        EXPECT_TRUE(
            near(value_of(metric, form, holes,
                          MetricOptions().nan_policy(NanPolicy::kIgnore)),
                 value_of(metric, form, without), {1e-12, 1e-14}));
        EXPECT_THAT(
            refusal_of([&] {
              value_of(metric, form, holes,
                       MetricOptions().nan_policy(NanPolicy::kError));
            }),
            HasSubstr("expected weight without NaN, got NaN at position 7"));
        // So does an infinite one, whatever the policy.
        Batch infinite = holes;
        infinite.weight = holes.weight.nan_to_num(kInfinity);
        EXPECT_TRUE(near(value_of(metric, form, infinite),
                         value_of(metric, form, scores)));
      }
    }
  }
}

TEST(WeightedCurvesTest, RefusesOtherWeights) {
  for (const Kind& metric : kinds()) {
    SCOPED_TRACE(metric.name);
    const Batch batch = batch_of(metric.task, 4);
    const auto refusal = [&](const at::Tensor& weight, bool validate = true) {
      const auto made =
          metric.make({}, MetricOptions().validate_args(validate));
      const auto update = [&] {
        made->update(batch.preds, batch.target, weight);
      };
      const std::string value = refusal_of<c10::ValueError>([&] {
        try {
          update();
        } catch (const c10::TypeError& error) {
          TORCH_CHECK_VALUE(false, "type: ", sync::describe(error));
        }
      });
      EXPECT_EQ(made->update_count(), value == "nothing");
      return value;
    };
    EXPECT_THAT(
        refusal(at::rand({3})),
        AllOf(HasSubstr(metric.name),
              HasSubstr(metric.task == Task::kMultilabel
                            ? "expected weight and target[:, 0] of the same "
                              "shape, got [3] and [4]"
                            : "expected weight and target of the same shape, "
                              "got [3] and [4]")));
    EXPECT_THAT(refusal(at::rand({4}).to(at::kComplexFloat)),
                HasSubstr("type: "));
    EXPECT_THAT(refusal(at::rand({4}).to_sparse()),
                HasSubstr("expected weight to be a dense tensor"));
    const at::Tensor negative = at::tensor({1.0, 0.0, -0.5, -2.0});
    EXPECT_THAT(
        refusal(negative),
        HasSubstr("expected weight of at least 0, got -0.5 at position 2"));
    EXPECT_EQ(refusal(negative, false), "nothing");
    EXPECT_THAT(refusal_of([&] {
                  metric.make()->update(batch.preds, batch.target, negative,
                                        negative);
                }),
                HasSubstr("inputs"));
  }
}

TEST(WeightedCurvesTest, NegativeWeightsThatAreNotLookedForMakeTheResultNan) {
  for (const Kind& metric : kinds()) {
    for (const OptionTexts& form : kForms) {
      SCOPED_TRACE(name_of(metric, form));
      Batch batch = batch_of(metric.task, 20);
      batch.weight.fill_(-1);
      Batch scores = batch;
      scores.weight = at::Tensor();
      scores.preds = batch.preds.clone().fill_(kNaN);
      EXPECT_TRUE(near(
          value_of(metric, form, batch, MetricOptions().validate_args(false)),
          value_of(metric, form, scores)));
    }
  }
}

}  // namespace
}  // namespace tally
