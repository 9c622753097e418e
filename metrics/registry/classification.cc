#include "tally/metrics/classification/classification.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_classification(Registry& r) {
  const char* classes = "num_classes=5";
  const char* labels = "num_labels=5";

  r.add<BinaryStatScores>(
      {"Counts of true and false positives and negatives, and support.",
       "counts"});
  r.add<MulticlassStatScores>(
      {"Counts of true and false positives and negatives, and support.",
       "counts", classes});
  r.add<MultilabelStatScores>(
      {"Counts of true and false positives and negatives, and support.",
       "counts", labels});
  r.add<BinaryAccuracy>(
      {"Fraction of samples classified correctly.", "[0, 1]"});
  r.add<MulticlassAccuracy>(
      {"Fraction of samples classified correctly.", "[0, 1]", classes});
  r.add<MultilabelAccuracy>(
      {"Fraction of samples classified correctly.", "[0, 1]", labels});
  r.add<BinaryPrecision>(
      {"Fraction of positive predictions that are correct.", "[0, 1]"});
  r.add<MulticlassPrecision>(
      {"Fraction of positive predictions that are correct.", "[0, 1]",
       classes});
  r.add<MultilabelPrecision>(
      {"Fraction of positive predictions that are correct.", "[0, 1]", labels});
  r.add<BinaryRecall>(
      {"Fraction of actual positives that are found.", "[0, 1]"});
  r.add<MulticlassRecall>(
      {"Fraction of actual positives that are found.", "[0, 1]", classes});
  r.add<MultilabelRecall>(
      {"Fraction of actual positives that are found.", "[0, 1]", labels});
  r.add<BinaryFBetaScore>(
      {"Weighted harmonic mean of precision and recall.", "[0, 1]"});
  r.add<MulticlassFBetaScore>(
      {"Weighted harmonic mean of precision and recall.", "[0, 1]", classes});
  r.add<MultilabelFBetaScore>(
      {"Weighted harmonic mean of precision and recall.", "[0, 1]", labels});
  r.add<BinaryF1Score>({"Harmonic mean of precision and recall.", "[0, 1]"});
  r.add<MulticlassF1Score>(
      {"Harmonic mean of precision and recall.", "[0, 1]", classes});
  r.add<MultilabelF1Score>(
      {"Harmonic mean of precision and recall.", "[0, 1]", labels});
  r.add<BinarySpecificity>(
      {"Fraction of actual negatives that are found.", "[0, 1]"});
  r.add<MulticlassSpecificity>(
      {"Fraction of actual negatives that are found.", "[0, 1]", classes});
  r.add<MultilabelSpecificity>(
      {"Fraction of actual negatives that are found.", "[0, 1]", labels});
  r.add<BinaryNegativePredictiveValue>(
      {"Fraction of negative predictions that are correct.", "[0, 1]"});
  r.add<MulticlassNegativePredictiveValue>(
      {"Fraction of negative predictions that are correct.", "[0, 1]",
       classes});
  r.add<MultilabelNegativePredictiveValue>(
      {"Fraction of negative predictions that are correct.", "[0, 1]", labels});
  r.add<BinaryHammingDistance>(
      {"Fraction of samples classified incorrectly.", "[0, 1]"});
  r.add<MulticlassHammingDistance>(
      {"Fraction of samples classified incorrectly.", "[0, 1]", classes});
  r.add<MultilabelHammingDistance>(
      {"Fraction of samples classified incorrectly.", "[0, 1]", labels});
  r.add<BinaryJaccardIndex>(
      {"Intersection over union of predictions and targets.", "[0, 1]"});
  r.add<MulticlassJaccardIndex>(
      {"Intersection over union of predictions and targets.", "[0, 1]",
       classes});
  r.add<MultilabelJaccardIndex>(
      {"Intersection over union of predictions and targets.", "[0, 1]",
       labels});
  r.add<BinaryConfusionMatrix>({"How often each class was predicted as each.",
                                "counts, or fractions in [0, 1]"});
  r.add<MulticlassConfusionMatrix>(
      {"How often each class was predicted as each.",
       "counts, or fractions in [0, 1]", classes});
  r.add<MultilabelConfusionMatrix>(
      {"How often each class was predicted as each.",
       "counts, or fractions in [0, 1]", labels});
  r.add<BinaryMatthewsCorrCoef>(
      {"Correlation of predicted and actual classes.", "[-1, 1]"});
  r.add<MulticlassMatthewsCorrCoef>(
      {"Correlation of predicted and actual classes.", "[-1, 1]", classes});
  r.add<MultilabelMatthewsCorrCoef>(
      {"Correlation of predicted and actual classes.", "[-1, 1]", labels});
  r.add<BinaryBalancedAccuracy>({"Mean recall over the classes.", "(-inf, 1]"});
  r.add<MulticlassBalancedAccuracy>(
      {"Mean recall over the classes.", "(-inf, 1]", classes});
  r.add<BinaryCohenKappa>(
      {"Agreement of predictions and targets beyond chance.", "(-inf, 1]"});
  r.add<MulticlassCohenKappa>(
      {"Agreement of predictions and targets beyond chance.", "(-inf, 1]",
       classes});
  r.add<MulticlassExactMatch>(
      {"Fraction of samples with every label correct.", "[0, 1]", classes});
  r.add<MultilabelExactMatch>(
      {"Fraction of samples with every label correct.", "[0, 1]", labels});
  r.add<BinaryLogLoss>(
      {"Mean negative log-likelihood of the targets.", "[0, inf)"});
  r.add<MulticlassLogLoss>(
      {"Mean negative log-likelihood of the targets.", "[0, inf)", classes});
  r.add<MultilabelLogLoss>(
      {"Mean negative log-likelihood of the labels.", "[0, inf)", labels});
  r.add<BinaryBrierScore>(
      {"Mean squared error of predicted probabilities.", "[0, 1]"});
  r.add<MulticlassBrierScore>(
      {"Mean squared error of predicted probabilities.", "[0, 2]", classes});
  r.add<BinaryHingeLoss>({"Mean hinge loss of decision values.", "[0, inf)"});
  r.add<MulticlassHingeLoss>(
      {"Mean hinge loss of decision values.", "[0, inf)", classes});
  r.add<BinaryCalibrationError>(
      {"Gap between predicted probabilities and observed frequencies.",
       "[0, 1]"});
  r.add<MulticlassCalibrationError>(
      {"Gap between confidence and accuracy.", "[0, 1]", classes});
  r.add<BinaryGroupStatRates>(
      {"Rates of true and false positives and negatives by group.", "[0, 1]",
       "num_groups=2"});
  r.add<BinaryFairness>(
      {"Lowest over highest rate among groups.", "[0, 1]", "num_groups=2"});
}

}  // namespace tally::internal
