#include "tally/testing/metric_laws.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/testing/internal/cpp_text.h"
#include "tally/tests/testing/broken_metrics.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally::testkit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What a check says, without this being a failure.
std::string complaint_of(const std::function<void()>& check) {
  ::testing::TestPartResultArray failures;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &failures);
    check();
  }
  std::string text;
  for (int i = 0; i < failures.size(); ++i) {
    text += failures.GetTestPartResult(i).message();
  }
  // What ADD_FAILURE_AT begins with.
  const std::string failed = "Failed\n";
  return text.compare(0, failed.size(), failed) == 0
             ? text.substr(failed.size())
             : text;
}

template <class M>
std::string complaint(const BatchGenerator& generator,
                      const MetricLawOptions& options = {}) {
  return complaint_of([&] { check_metric_laws<M>(generator, options); });
}

TEST(MetricLawsTest, HoldForMetricsOfAllKindsOfInputs) {
  check_metric_laws<SampleMeanSquaredError>(batch_of({reals(), reals()}));
  check_metric_laws<SampleCorrelation>(
      batch_of({reals(), reals()}),
      MetricLawOptions().differentiable_inputs({0, 1}));
  check_metric_laws<SampleCat>(batch_of({reals({2})}),
                               MetricLawOptions().order_matters(true));
  check_metric_laws<SampleMatchRate>(batch_of({texts(), text_lists()}));
  check_metric_laws<SampleMeanBoxes>(batch_of({ragged(
      [](std::mt19937_64& random) -> RaggedRow {
        return {
            {"boxes", at::zeros({static_cast<std::int64_t>(random() % 4), 4})}};
      },
      [](const std::vector<RaggedRow>& rows) {
        std::vector<SampleImage> images;
        for (const RaggedRow& row : rows) images.push_back({row.at("boxes")});
        return InputValue::of(std::move(images));
      })}));
}

TEST(MetricLawsTest, HoldForMetricsWithOptions) {
  check_metric_laws(
      [](const MetricOptions& options) {
        return std::make_unique<MulticlassAccuracy>(
            MulticlassAccuracyOptions(5), options);
      },
      batch_of({probabilities(5), labels(5)}),
      MetricLawOptions().check_threads(true));
  check_metric_laws<PearsonCorrCoef>(
      batch_of(PearsonCorrCoef::declared_inputs()),
      MetricLawOptions().differentiable_inputs({0, 1}).rounds(1));
}

TEST(MetricLawsTest, CatchAMergeThatDropsRows) {
  const std::string text = complaint<DropsRows>(batch_of({reals()}));
  EXPECT_THAT(text, StartsWith("DropsRows() breaks the law of associativity: "
                               "(a + b) + c is not the value of all rows\n"));
  EXPECT_THAT(text, HasSubstr("It also breaks the laws of "));
  EXPECT_THAT(text, HasSubstr("splits"));
}

TEST(MetricLawsTest, CatchAnIdentityThatIsNone) {
  EXPECT_THAT(complaint<CountsFromOne>(batch_of({reals()})),
              StartsWith("CountsFromOne() breaks the law of identity: "));
}

TEST(MetricLawsTest, CatchAForwardThatDisturbs) {
  EXPECT_THAT(complaint<ForwardDisturbs>(batch_of({reals()})),
              StartsWith("ForwardDisturbs() breaks the law of forward: "
                         "forward() accumulates a different state"));
}

TEST(MetricLawsTest, CatchAStateThatAliases) {
  EXPECT_THAT(complaint<KeepsItsInput>(batch_of({reals()})),
              StartsWith("KeepsItsInput() breaks the law of aliases: a change "
                         "of an input"));
  EXPECT_THAT(complaint<ChangesItsInput>(batch_of({reals()})),
              StartsWith("ChangesItsInput() breaks the law of aliases: "
                         "update() changes its input"));
}

TEST(MetricLawsTest, CatchAFieldThatIsNotSaved) {
  EXPECT_THAT(complaint<LosesAField>(batch_of({reals()})),
              StartsWith("LosesAField() breaks the law of save and load: a "
                         "loaded metric has a different value"));
}

TEST(MetricLawsTest, CatchAStrideThatIsIgnored) {
  EXPECT_THAT(complaint<IgnoresStrides>(batch_of({reals()})),
              StartsWith("IgnoresStrides() breaks the law of layout: "));
}

TEST(MetricLawsTest, CatchAValueBeyondThatOfTheTarget) {
  EXPECT_THAT(complaint<PassesItsBest>(batch_of({reals(), reals()})),
              StartsWith("PassesItsBest() breaks the law of best: a prediction "
                         "compares better than the target itself"));
}

TEST(MetricLawsTest, CatchARefusalThatLeavesSomething) {
  EXPECT_THAT(complaint<RefusesTooLate>(batch_of({scores()})),
              StartsWith("RefusesTooLate() breaks the law of bad input: a "
                         "rejected batch affects later ones\n"
                         "  NaN in input 0"));
}

TEST(MetricLawsTest, CatchABadBatchThatIsTaken) {
  const BatchGenerator empty_texts = [](std::uint64_t, std::int64_t rows) {
    return Batch{BatchInput::Texts(rows), BatchInput::TextLists(rows)};
  };
  EXPECT_THAT(
      complaint<SampleMatchRate>(batch_of({texts(), text_lists()}),
                                 MetricLawOptions().bad_inputs({empty_texts})),
      StartsWith("SampleMatchRate() breaks the law of bad input: a bad batch "
                 "is accepted\n  bad_inputs[0]"));
}

TEST(MetricLawsTest, CatchAComputeThatDependsOnTheOrderOfRows) {
  const std::string text = complaint<DependsOnOrder>(batch_of({reals()}));
  EXPECT_THAT(text, StartsWith("DependsOnOrder() breaks the law of splits: the "
                               "value is not that of one process\n"
                               "  over 2 ranks, split \"rows in turn\"\n"
                               "  on rank 0\n"));
  EXPECT_THAT(text, HasSubstr("Shrunk from 24 rows of seed 0 to 3 rows over 2 "
                              "ranks. As a test:"));
  EXPECT_EQ(complaint<DependsOnOrder>(batch_of({reals()}),
                                      MetricLawOptions().order_matters(true)),
            "");
}

TEST(MetricLawsTest, CatchAGradientThatIsWrongByTheNumberOfRanks) {
  const std::string text = complaint<ScalesGradients>(batch_of({reals()}));
  EXPECT_THAT(text,
              StartsWith("ScalesGradients() breaks the law of gradients: the "
                         "gradient is not that of one process\n"
                         "  kLocal over 2 ranks\n  input 0\n"
                         "  it is 0.5 times what it should be"));
  EXPECT_THAT(text, HasSubstr("to 1 row over 2 ranks"));
}

TEST(MetricLawsTest, CatchSumsThatDependOnThreadsIfTheyAreToldTo) {
  const BatchGenerator generator = batch_of({reals(), reals()});
  EXPECT_THAT(complaint<SampleMeanSquaredError>(
                  generator, MetricLawOptions().check_threads(true)),
              StartsWith("SampleMeanSquaredError() breaks the law of threads: "
                         "the value depends on the number of threads\n"));
  EXPECT_EQ(complaint<SampleMeanSquaredError>(
                generator, MetricLawOptions().check_threads(true).without(
                               {MetricLaw::kThreads})),
            "");
}

TEST(MetricLawsTest, WriteATestToPaste) {
  const std::string text =
      complaint<DropsRows>(batch_of({reals({}, at::kFloat)}),
                           MetricLawOptions().seed(7).rows(20).rtol(1e-12));
  EXPECT_THAT(text, HasSubstr(R"(
Shrunk from 20 rows of seed 7 to 6 rows. As a test:

TEST(DropsRowsLaws, Associativity) {
  using namespace tally::testkit;
  const Batch rows = {
      at::tensor({0.10245063, -0.90307015, 0.9877022, -0.077214636, -0.7335038, -0.62373745}, at::kFloat)};
  check_metric_law<tally::testkit::DropsRows>(MetricLaw::kAssociativity, rows,
      MetricLawOptions().rtol(1e-12));
}

It also breaks the laws of )"));
}

// The text above.
void pasted() {
  using namespace tally::testkit;
  const Batch rows = {at::tensor({0.10245063, -0.90307015, 0.9877022,
                                  -0.077214636, -0.7335038, -0.62373745},
                                 at::kFloat)};
  check_metric_law<tally::testkit::DropsRows>(MetricLaw::kAssociativity, rows,
                                              MetricLawOptions().rtol(1e-12));
}

TEST(MetricLawsTest, WriteATestThatFailsInTheSameWay) {
  EXPECT_THAT(complaint_of(pasted),
              StartsWith("DropsRows() breaks the law of associativity: "
                         "(a + b) + c is not the value of all rows\n"));
}

// Of the batch and of what its text says.
void expect_text(const std::string& text, const Batch& batch,
                 const Batch& again) {
  EXPECT_EQ(internal::cpp_of(batch), text);
  ASSERT_EQ(batch.size(), again.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_TRUE(same(batch[i], again[i])) << text;
  }
}

TEST(MetricLawsTest, WriteEveryKindOfInput) {
  const double third = 1.0 / 3;
  expect_text(
      R"({
      at::tensor({0.3333333333333333, -2.0, 1e+100, NAN, -INFINITY}, at::kDouble),
      at::tensor({0.1, 0.33333334}, at::kFloat).reshape({2, 1}),
      at::tensor({0.0999755859375}, at::kDouble).to(at::kHalf),
      at::tensor({-5L, 9007199254740993L}, at::kLong),
      at::tensor({1L, 0L}, at::kLong).to(at::kBool),
      at::tensor({7L}, at::kLong).reshape({}),
      at::empty({0, 3}, at::kInt)})",
      {at::tensor({third, -2.0, 1e100, double{NAN}, -double{INFINITY}},
                  at::kDouble),
       at::tensor({0.1, third}, at::kFloat).reshape({2, 1}),
       at::scalar_tensor(0.1, at::kHalf).reshape({1}),
       at::tensor({-5L, 9007199254740993L}, at::kLong), at::arange(2).eq(0),
       at::scalar_tensor(7, at::kLong), at::empty({0, 3}, at::kInt)},
      {at::tensor(
           {0.3333333333333333, -2.0, 1e+100, double{NAN}, -double{INFINITY}},
           at::kDouble),
       at::tensor({0.1, 0.33333334}, at::kFloat).reshape({2, 1}),
       at::tensor({0.0999755859375}, at::kDouble).to(at::kHalf),
       at::tensor({-5L, 9007199254740993L}, at::kLong),
       at::tensor({1L, 0L}, at::kLong).to(at::kBool),
       at::tensor({7L}, at::kLong).reshape({}), at::empty({0, 3}, at::kInt)});
  expect_text(
      R"({
      BatchInput::Texts{"say \"hi\"", "", "\303\2611\012"},
      BatchInput::TextLists{{"a", "b"}, {}}})",
      {BatchInput::Texts{"say \"hi\"", "",
                         "\xc3\xb1"
                         "1\n"},
       BatchInput::TextLists{{"a", "b"}, {}}},
      {BatchInput::Texts{"say \"hi\"", "", "\303\2611\012"},
       BatchInput::TextLists{{"a", "b"}, {}}});
  const RaggedInput convert = [](const std::vector<RaggedRow>&) {
    return InputValue::of(at::Tensor());
  };
  expect_text(
      R"({
      BatchInput(BatchInput::Ragged{{{"boxes", at::tensor({1.0}, at::kDouble)}}, {}}, convert)})",
      {BatchInput(
          BatchInput::Ragged{{{"boxes", at::tensor({1.0}, at::kDouble)}}, {}},
          convert)},
      {BatchInput(
          BatchInput::Ragged{{{"boxes", at::tensor({1.0}, at::kDouble)}}, {}},
          convert)});
}

TEST(MetricLawsTest, RefuseBadOptions) {
  const BatchGenerator generator = batch_of({reals()});
  const auto refusal = [&](const MetricLawOptions& options) {
    return refusal_of<c10::ValueError>(
        [&] { check_metric_laws<DropsRows>(generator, options); });
  };
  EXPECT_THAT(refusal(MetricLawOptions().rows(0)),
              HasSubstr("at least one round and one row, got 3 rounds of 0"));
  EXPECT_THAT(refusal(MetricLawOptions().ranks({2, 0})),
              HasSubstr("numbers of ranks of at least 1, got [2, 0]"));
  EXPECT_THAT(
      refusal(MetricLawOptions().metric_options(
          MetricOptions().communicator(sync::single_process_communicator()))),
      HasSubstr("without a communicator"));
  const auto refusal_of_rows = [&](const BatchGenerator& wrong) {
    return refusal_of<c10::ValueError>(
        [&] { check_metric_laws<DropsRows>(wrong); });
  };
  EXPECT_THAT(refusal_of_rows({}), HasSubstr("expected a generator"));
  EXPECT_THAT(refusal_of_rows([](std::uint64_t, std::int64_t) {
                return Batch{at::zeros({3})};
              }),
              HasSubstr("expected 24 rows of the generator, got 3"));
  EXPECT_THAT(refusal_of_rows([](std::uint64_t, std::int64_t rows) {
                return Batch{at::zeros({rows}), at::zeros({rows + 1})};
              }),
              HasSubstr("got 25 in input 1 and 24 in input 0"));
  EXPECT_THAT(refusal_of<c10::ValueError>(
                  [&] { check_metric_laws(MetricMaker(), generator); }),
              HasSubstr("expected a function that makes the metric"));
  EXPECT_THAT(refusal_of<c10::ValueError>([&] {
                check_metric_law<DropsRows>(MetricLaw::kForward, Batch{});
              }),
              HasSubstr("at least one input"));
}

TEST(GeneratorsTest, GiveTheSameRowsForTheSameSeed) {
  const BatchGenerator generator =
      batch_of({scores(), probabilities(3), labels(4), reals({2}), texts(),
                text_lists()});
  const Batch batch = generator(5, 40), again = generator(5, 40);
  const Batch other = generator(6, 40);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].rows(), 40);
    EXPECT_TRUE(same(batch[i], again[i])) << i;
    EXPECT_FALSE(same(batch[i], other[i])) << i;
  }
  const at::Tensor& score = batch[0].tensor();
  EXPECT_TRUE(score.ge(0).logical_and(score.le(1)).all().item<bool>());
  EXPECT_LT(batch[1].tensor().sum({1}).sub(1).abs().max().item<double>(),
            1e-12);
  EXPECT_EQ(batch[2].tensor().min().item<int>(), 0);
  EXPECT_EQ(batch[2].tensor().max().item<int>(), 3);
  EXPECT_EQ(batch[3].tensor().sizes(), at::IntArrayRef({40, 2}));
  const Batch two = batch_of({reals(), reals()})(0, 8);
  EXPECT_FALSE(same(two[0], two[1]));
}

TEST(GeneratorsTest, FollowWhatAMetricDeclares) {
  const Batch batch = batch_of(SampleMatchRate::declared_inputs())(0, 3);
  ASSERT_EQ(batch.size(), 2);
  EXPECT_FALSE(batch[0].is_tensor());
  EXPECT_THAT(refusal_of<c10::ValueError>(
                  [] { batch_of(DropsRows::declared_inputs()); }),
              HasSubstr("a metric that declares its inputs"));
  EXPECT_THAT(refusal_of<c10::ValueError>(
                  [] { batch_of(SampleMeanBoxes::declared_inputs()); }),
              HasSubstr("got 'images' (an image with boxes"));
}

TEST(MetricLawsTest, FailAtTheCallersLine) {
  ::testing::TestPartResultArray failures;
  int line = 0;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &failures);
    line = __LINE__ + 1;
    check_metric_laws<DropsRows>(batch_of({reals()}));
  }
  ASSERT_EQ(failures.size(), 1);
  EXPECT_EQ(failures.GetTestPartResult(0).line_number(), line);
  EXPECT_THAT(failures.GetTestPartResult(0).file_name(),
              HasSubstr("metric_laws_test.cc"));
}

}  // namespace
}  // namespace tally::testkit
