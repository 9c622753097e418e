#include "tally/metrics/registry/search.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testkit::refusal_of;

std::vector<std::string> texts_of(const std::vector<MetricMatch>& matches,
                                  std::size_t most) {
  std::vector<std::string> texts;
  for (const MetricMatch& match : matches) {
    if (texts.size() < most) texts.push_back(match.text);
  }
  return texts;
}

TEST(SearchTest, WhatPeopleCallItComesFirst) {
  const std::map<std::string, std::vector<std::string>> first{
      {"mse", {"MeanSquaredError"}},
      {"rmse", {"MeanSquaredError(squared=false)"}},
      {"mae", {"MeanAbsoluteError"}},
      {"mape", {"MeanAbsolutePercentageError"}},
      {"smape", {"SymmetricMeanAbsolutePercentageError"}},
      {"mcc",
       {"BinaryMatthewsCorrCoef", "MulticlassMatthewsCorrCoef",
        "MultilabelMatthewsCorrCoef"}},
      {"psnr", {"PeakSignalNoiseRatio"}},
      {"ssim", {"StructuralSimilarityIndexMeasure"}},
      {"sdr", {"SignalDistortionRatio"}},
      {"snr", {"SignalNoiseRatio"}},
      {"ndcg", {"RetrievalNormalizedDCG"}},
      {"nmi", {"NormalizedMutualInfoScore"}},
      {"ami", {"AdjustedMutualInfoScore"}},
      {"lpips", {"LearnedPerceptualImagePatchSimilarity"}},
      {"fid", {"FrechetInceptionDistance"}},
      {"kid", {"KernelInceptionDistance"}},
      {"mifid", {"MemorizationInformedFrechetInceptionDistance"}},
      {"miou", {"MeanIoU"}},
      {"auc", {"BinaryAUROC", "MulticlassAUROC", "MultilabelAUROC"}},
      {"AUROC", {"BinaryAUROC", "MulticlassAUROC", "MultilabelAUROC"}},
      {"auprc",
       {"BinaryAveragePrecision", "MulticlassAveragePrecision",
        "MultilabelAveragePrecision"}},
      {"ece", {"BinaryCalibrationError", "MulticlassCalibrationError"}},
      {"nll", {"BinaryLogLoss", "MulticlassLogLoss", "MultilabelLogLoss"}},
      {"hd95", {"HausdorffDistance(num_classes=5, percentile=95)"}},
      {"assd", {"AverageSymmetricSurfaceDistance"}},
      {"nsd", {"NormalizedSurfaceDistance"}},
      {"lrap", {"MultilabelRankingAveragePrecision"}},
      {"tpr", {"BinaryRecall", "MulticlassRecall", "MultilabelRecall"}},
      {"fpr", {"1 - BinarySpecificity()"}},
      {"ppv",
       {"BinaryPrecision", "MulticlassPrecision", "MultilabelPrecision"}},
      {"npv",
       {"BinaryNegativePredictiveValue", "MulticlassNegativePredictiveValue",
        "MultilabelNegativePredictiveValue"}},
      {"wer", {"WordErrorRate"}},
      {"cer", {"CharErrorRate"}},
      {"map", {"MeanAveragePrecision", "RetrievalMAP"}},
      {"iou",
       {"BinaryJaccardIndex", "IntersectionOverUnion", "MulticlassJaccardIndex",
        "MultilabelJaccardIndex"}},
      {"f1", {"BinaryF1Score", "MulticlassF1Score", "MultilabelF1Score"}},
      {"r2", {"R2Score"}},
      {"kappa", {"BinaryCohenKappa", "MulticlassCohenKappa"}},
      {"mrr", {"RetrievalMRR"}},
      {"kl", {"KLDivergence"}},
      {"bleu", {"BLEUScore"}},
      {"gini", {"2 * BinaryAUROC() - 1"}},
      {"youden", {"BinaryRecall() + BinarySpecificity() - 1"}},
  };
  for (const auto& [word, expected] : first) {
    SCOPED_TRACE(word);
    const auto found = find_metrics(builtin_registry(), {word});
    EXPECT_THAT(texts_of(found, expected.size()), ElementsAreArray(expected));
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(found[0].is_named);
  }
}

TEST(SearchTest, WholeWordsComeBeforeParts) {
  const auto found = find_metrics(builtin_registry(), {"multiclass", "log"});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].text, "MulticlassLogAUC");
  EXPECT_FALSE(found[0].is_named);
  EXPECT_EQ(find_metrics(builtin_registry(), {}).size(),
            builtin_registry().entries().size());
  EXPECT_TRUE(find_metrics(builtin_registry(), {"mse", "bleu"}).empty());
}

TEST(SearchTest, UnknownNamesAreAnsweredWithTheSpelling) {
  const auto asked = [](const std::string& name) {
    return refusal_of([&] { make_metric(name); });
  };
  EXPECT_EQ(asked("WER"),
            "unknown metric 'WER'; did you mean 'WordErrorRate'?");
  EXPECT_EQ(asked("RMSE"),
            "unknown metric 'RMSE'; did you mean "
            "'MeanSquaredError(squared=false)'?");
  EXPECT_EQ(asked("map"),
            "unknown metric 'map'; did you mean 'MeanAveragePrecision' or "
            "'RetrievalMAP'?");
  EXPECT_THAT(asked("MeanSquareError"), HasSubstr("'MeanSquaredError'?"));
  EXPECT_EQ(asked("FPR"),
            "unknown metric 'FPR'; that is 1 - "
            "BinarySpecificity()");
  EXPECT_EQ(asked("Zqx"), "unknown metric 'Zqx'");
}

TEST(SearchTest, NamesOfOtherLibrariesAndAbbreviationsLeadToTheMetric) {
  const std::map<std::string, std::string> metrics{
      {"WER", "WordErrorRate"},
      {"mAP", "MeanAveragePrecision"},
      {"NDCG", "RetrievalNormalizedDCG"},
      {"NDCG@10", "RetrievalNormalizedDCG"},
      {"SSIM", "StructuralSimilarityIndexMeasure"},
      {"FID", "FrechetInceptionDistance"},
      {"RMSE", "MeanSquaredError(squared=false)"},
      {"F1Score", "BinaryF1Score"},
      {"f1_score", "BinaryF1Score"},
      {"F1", "BinaryF1Score"},
      {"Precision", "BinaryPrecision"},
      {"precision_score", "BinaryPrecision"},
      {"Precision@k", "RetrievalPrecision"},
      {"Recall", "MulticlassRecall"},
      {"Accuracy", "MulticlassAccuracy"},
      {"accuracy_score", "BinaryAccuracy"},
      {"AveragePrecision", "BinaryAveragePrecision"},
      {"average_precision_score", "BinaryAveragePrecision"},
      {"IoU", "IntersectionOverUnion"},
      {"MRR", "RetrievalMRR"},
      {"MSE", "MeanSquaredError"},
      {"mean_squared_error", "MeanSquaredError"},
      {"ECE", "MulticlassCalibrationError"},
      {"AUC", "BinaryAUROC"},
      {"ROC-AUC", "BinaryAUROC"},
      {"roc_auc_score", "BinaryAUROC"},
      {"PR_AUC", "BinaryAveragePrecision"},
      {"R2", "R2Score"},
      {"KL", "KLDivergence"},
      {"CER", "CharErrorRate"},
      {"MCC", "BinaryMatthewsCorrCoef"},
      {"matthews_corrcoef", "BinaryMatthewsCorrCoef"},
      {"PSNR", "PeakSignalNoiseRatio"},
      {"MS-SSIM", "MultiScaleStructuralSimilarityIndexMeasure"},
      {"SI-SDR", "ScaleInvariantSignalDistortionRatio"},
      {"log_loss", "BinaryLogLoss"},
      {"balanced_accuracy", "BinaryBalancedAccuracy"},
      {"rougeL", "ROUGEScore"},
      {"top5", "MulticlassAccuracy(num_classes=5, top_k=5, average=micro)"},
  };
  for (const auto& [name, metric] : metrics) {
    const std::string message =
        refusal_of([&, &name = name] { make_metric(name); });
    EXPECT_THAT(message, HasSubstr("unknown metric '" + name + "'; did you"));
    EXPECT_THAT(message, HasSubstr("'" + metric + "'"));
  }
}

TEST(SearchTest, ExpressionsAreOfMetricsThatExist) {
  const std::regex metric(R"([A-Z]\w*\([^)]*\))");
  for (const auto& expression : internal::named_expressions()) {
    SCOPED_TRACE(expression.text);
    const std::string text = expression.text;
    const std::sregex_iterator end;
    std::sregex_iterator each(text.begin(), text.end(), metric);
    EXPECT_NE(each, end);
    for (; each != end; ++each) EXPECT_NO_THROW(make_metric(each->str()));
  }
}

// No name may lead to one metric under two spellings, or be a metric's own.
TEST(SearchTest, OtherNamesAreInLowerCaseAndOnce) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    const std::string aliases = entry.summary.aliases;
    EXPECT_FALSE(aliases.empty());
    EXPECT_FALSE(std::regex_search(aliases, std::regex("[A-Z]|,[^ ]|, $|^,")));
    std::set<std::string> seen;
    const std::regex between(", ");
    for (std::sregex_token_iterator each(aliases.begin(), aliases.end(),
                                         between, -1);
         each != std::sregex_token_iterator(); ++each) {
      EXPECT_TRUE(seen.insert(each->str()).second) << each->str();
    }
    if (!entry.is_wrapper) {
      EXPECT_STRNE(entry.summary.formula, "");
    }
  }
}

}  // namespace
}  // namespace tally
