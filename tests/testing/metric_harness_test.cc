#include "tally/tests/testing/metric_harness.h"

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tally/tests/testing/sample_metrics.h"

namespace tally::testkit {
namespace {

using ::testing::HasSubstr;

TEST(MetricHarnessTest, PassesAMetricOfSums) {
  HarnessOptions options;
  options.skip_cases = {
      "root",   "outputs",         "outputs_root",       "int32_root",
      "weight", "weight_multidim", "weight_outputs_root"};
  options.threads_rtol = 1e-12;
  check_metric<SampleMeanSquaredError>("MeanSquaredError", options);
}

TEST(MetricHarnessTest, PassesAMetricWithAMergeOfItsOwn) {
  HarnessOptions options;
  options.skip_cases = {"outputs",
                        "offset_1e4_outputs",
                        "one_constant_output",
                        "constant_float64",
                        "weight",
                        "weight_outputs"};
  options.differentiable_inputs = {0, 1};
  options.threads_rtol = 1e-12;
  check_metric<SampleCorrelation>("PearsonCorrCoef", options);
}

TEST(MetricHarnessTest, PassesAMetricOfRows) {
  HarnessOptions options;
  options.strip_options = {"nan_strategy", "nan_value"};
  options.skip_cases = {"nan_warn", "nan_ignore", "nan_replace",
                        "nan_replace_rows"};
  options.order_matters = true;
  options.gives_back = true;
  check_metric<SampleCat>("CatMetric", options);
}

TEST(MetricHarnessTest, PassesAMetricOfTexts) {
  check_metric<SampleMatchRate>("samples/SampleMatchRate");
}

InputValue images_of(const std::vector<RaggedRow>& rows) {
  std::vector<SampleImage> images;
  for (const RaggedRow& row : rows) images.push_back({row.at("boxes")});
  return InputValue::of(std::move(images));
}

TEST(MetricHarnessTest, PassesAMetricOfRaggedRows) {
  HarnessOptions options;
  options.ragged_input = images_of;
  check_metric<SampleMeanBoxes>("samples/SampleMeanBoxes", options);
}

TEST(MetricHarnessTest, MissingFixturesAreErrors) {
  EXPECT_THROW(read_fixture("NoSuchMetric"), std::runtime_error);
}

// The mean squared error, but for one fault.
enum class Fault {
  kValue,
  kShape,
  kDtype,
  kMissingField,
  kMergeForgets,
  kMergeDependsOnOrder,
  kIdentity,
  kEmptyBatch,
  kChangesInput,
  kNeedsContiguous,
  kNoGradient,
  kHalfGradient,
  kOtherWithGraph,
  kRoundsWithGraph,  // none: the library sees to it
  kThreads,
};

template <Fault kFault>
struct FaultyError {
  static constexpr const char* kName = "FaultyError";
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) {
      f("sum", sum);
      if (kFault != Fault::kMissingField) f("total", total);
    }
    static State merge(const State& a, const State& b) {
      State merged{a.sum + b.sum, a.total + b.total};
      if (kFault == Fault::kMergeForgets && a.total > 0 && b.total > 0) {
        merged.sum = b.sum;
        merged.total = b.total;
      }
      if (kFault == Fault::kMergeDependsOnOrder && a.total > 0 && b.total > 0) {
        merged.sum = (a.sum + b.sum) * Number(1 + 1e-9);
      }
      if (kFault == Fault::kIdentity && a.total == 0)
        merged.total = b.total + 1;
      return merged;
    }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    if (kFault == Fault::kEmptyBatch) TORCH_CHECK_VALUE(preds.numel(), "none");
    if (kFault == Fault::kChangesInput && preds.numel() > 0) {
      const at::NoGradGuard no_grad;
      preds.detach().mul_(1 + 1e-5);
    }
    at::Tensor difference = preds.to(at::kDouble).sub(target);
    if (kFault == Fault::kNeedsContiguous && !preds.is_contiguous()) {
      difference = difference.mul(2);
    }
    const at::Tensor error = difference.mul(difference).sum();
    State state{Number(error), preds.numel()};
    if (kFault == Fault::kNoGradient) state.sum = Number(error.detach());
    if (kFault == Fault::kHalfGradient) {
      state.sum = Number(difference.detach().mul(difference).sum());
    }
    if (kFault == Fault::kOtherWithGraph && error.requires_grad()) {
      state.sum = state.sum * Number(1 + 1e-6);
    }
    return state;
  }
};

template <Fault kFault>
class FaultyMetric final
    : public MetricOf<FaultyMetric<kFault>, FaultyError<kFault>, at::Tensor> {
  using Base = MetricOf<FaultyMetric<kFault>, FaultyError<kFault>, at::Tensor>;

 public:
  using Base::Base;
  static constexpr const char* kName = "FaultyMetric";
  static constexpr bool kIsDifferentiable = true;
  at::Tensor evaluate(const typename Base::State& s) const {
    const at::Tensor value = s.sum / Number(s.total);
    if (kFault == Fault::kValue) return value.mul(1 + 1e-5);
    if (kFault == Fault::kShape) return value.unsqueeze(0);
    if (kFault == Fault::kDtype) return value.to(at::kFloat);
    if (kFault == Fault::kRoundsWithGraph && value.requires_grad()) {
      return value.mul(1 + 1e-13);
    }
    return value;
  }
};

// What the harness says of the metric with this fault.
template <Fault kFault>
std::string complaint() {
  HarnessOptions options;
  options.threads_rtol = kFault == Fault::kThreads ? 0 : 1e-12;
  for (const FixtureCase& one : read_fixture("MeanSquaredError")) {
    if (one.name != "float64") options.skip_cases.insert(one.name);
  }
  ::testing::TestPartResultArray failures;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &failures);
    check_metric<FaultyMetric<kFault>>("MeanSquaredError", options);
  }
  std::string text;
  for (int i = 0; i < failures.size(); ++i) {
    text += failures.GetTestPartResult(i).message();
  }
  return text;
}

TEST(MetricHarnessTest, FindsWrongValuesShapesAndDtypes) {
  EXPECT_THAT(complaint<Fault::kValue>(), HasSubstr("case float64, reference"));
  EXPECT_THAT(complaint<Fault::kShape>(), HasSubstr("expected Double []"));
  EXPECT_THAT(complaint<Fault::kDtype>(),
              HasSubstr("got Float [], expected Double []"));
}

TEST(MetricHarnessTest, FindsStatesThatDoNotTravel) {
  const std::string text = complaint<Fault::kMissingField>();
  EXPECT_THAT(text, HasSubstr("case float64, save and load"));
  EXPECT_THAT(text, HasSubstr("case float64, splits: "));
}

TEST(MetricHarnessTest, FindsMergesThatAreNone) {
  EXPECT_THAT(complaint<Fault::kMergeForgets>(), HasSubstr("float64"));
  EXPECT_THAT(complaint<Fault::kMergeDependsOnOrder>(),
              HasSubstr("case float64, "));
  EXPECT_THAT(complaint<Fault::kIdentity>(), HasSubstr("case float64, "));
}

TEST(MetricHarnessTest, FindsMetricsThatRefuseEmptyBatches) {
  EXPECT_THAT(complaint<Fault::kEmptyBatch>(), HasSubstr("threw: none"));
}

TEST(MetricHarnessTest, FindsChangedInputs) {
  EXPECT_THAT(complaint<Fault::kChangesInput>(),
              HasSubstr("update() changes its input"));
}

TEST(MetricHarnessTest, FindsLayoutsThatMatter) {
  EXPECT_THAT(complaint<Fault::kNeedsContiguous>(),
              HasSubstr("case float64, layout"));
}

TEST(MetricHarnessTest, PassesFormulasThatRoundOtherwiseWithAGraph) {
  EXPECT_EQ(complaint<Fault::kRoundsWithGraph>(), "");
}

TEST(MetricHarnessTest, FindsSumsThatDependOnThreads) {
  EXPECT_THAT(complaint<Fault::kThreads>(), HasSubstr("case float64, threads"));
}

TEST(MetricHarnessTest, FindsWrongGradients) {
  EXPECT_THAT(complaint<Fault::kNoGradient>(),
              HasSubstr("the value has no graph"));
  EXPECT_THAT(complaint<Fault::kHalfGradient>(),
              HasSubstr("case float64, gradients"));
  EXPECT_THAT(complaint<Fault::kOtherWithGraph>(),
              HasSubstr("differs from that without"));
}

}  // namespace
}  // namespace tally::testkit
