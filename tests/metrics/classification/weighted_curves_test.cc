#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/equal_error_rate.h"
#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"
#include "tally/metrics/classification/log_auc.h"
#include "tally/metrics/classification/precision_recall_curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/collection.h"
#include "tally/tests/testing/compare.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/thread_ranks.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::near;
using testing::refusal_of;
using testing::same_bits;
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
  Kind made{M::kName, typename M::Options().shape().task, required,
            [](const OptionTexts& texts,
               const MetricOptions& metric_options) -> std::unique_ptr<Metric> {
              typename M::Options options;
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

}  // namespace
}  // namespace tally
