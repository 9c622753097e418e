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

void add_curves(Registry& r) {
  const char* classes = "num_classes=5";
  const char* labels = "num_labels=5";

  r.add<BinaryAUROC>({"Area under the ROC curve.", "[0, 1]"});
  r.add<MulticlassAUROC>(
      {"Area under the ROC curve, per class.", "[0, 1]", classes});
  r.add<MultilabelAUROC>(
      {"Area under the ROC curve, per label.", "[0, 1]", labels});
  r.add<BinaryAveragePrecision>(
      {"Mean precision at the positives' scores.", "[0, 1]"});
  r.add<MulticlassAveragePrecision>(
      {"Mean precision at the positives' scores, per class.", "[0, 1]",
       classes});
  r.add<MultilabelAveragePrecision>(
      {"Mean precision at the positives' scores, per label.", "[0, 1]",
       labels});
  r.add<BinaryEER>(
      {"Rate at which false positives and false negatives are equal.",
       "[0, 1]"});
  r.add<MulticlassEER>(
      {"Rate where false positives and false negatives are equal, per "
       "class.",
       "[0, 1]", classes});
  r.add<MultilabelEER>(
      {"Rate where false positives and false negatives are equal, per "
       "label.",
       "[0, 1]", labels});
  r.add<BinaryLogAUC>(
      {"Area under the ROC curve on a logarithmic false positive axis.",
       "[0, 1]"});
  r.add<MulticlassLogAUC>(
      {"Area under the ROC curve on a logarithmic axis, per "
       "class.",
       "[0, 1]", classes});
  r.add<MultilabelLogAUC>(
      {"Area under the ROC curve on a logarithmic axis, per "
       "label.",
       "[0, 1]", labels});
  r.add<BinaryROC>({"False and true positive rates by threshold.", "[0, 1]"});
  r.add<MulticlassROC>(
      {"False and true positive rates by threshold, per class.", "[0, 1]",
       classes});
  r.add<MultilabelROC>(
      {"False and true positive rates by threshold, per label.", "[0, 1]",
       labels});
  r.add<BinaryPrecisionRecallCurve>(
      {"Precision and recall by threshold.", "[0, 1]"});
  r.add<MulticlassPrecisionRecallCurve>(
      {"Precision and recall by threshold, per class.", "[0, 1]", classes});
  r.add<MultilabelPrecisionRecallCurve>(
      {"Precision and recall by threshold, per label.", "[0, 1]", labels});
  r.add<BinaryRecallAtFixedPrecision>({"Highest recall at a minimum precision.",
                                       "[0, 1]", "min_precision=0.9"});
  r.add<MulticlassRecallAtFixedPrecision>(
      {"Highest recall at a minimum precision, per class.", "[0, 1]",
       "num_classes=5, min_precision=0.9"});
  r.add<MultilabelRecallAtFixedPrecision>(
      {"Highest recall at a minimum precision, per label.", "[0, 1]",
       "num_labels=5, min_precision=0.9"});
  r.add<BinaryPrecisionAtFixedRecall>(
      {"Highest precision at a minimum recall.", "[0, 1]", "min_recall=0.9"});
  r.add<MulticlassPrecisionAtFixedRecall>(
      {"Highest precision at a minimum recall, per class.", "[0, 1]",
       "num_classes=5, min_recall=0.9"});
  r.add<MultilabelPrecisionAtFixedRecall>(
      {"Highest precision at a minimum recall, per label.", "[0, 1]",
       "num_labels=5, min_recall=0.9"});
  r.add<BinarySensitivityAtSpecificity>(
      {"Highest sensitivity at a minimum specificity.", "[0, 1]",
       "min_specificity=0.9"});
  r.add<MulticlassSensitivityAtSpecificity>(
      {"Highest sensitivity at a minimum specificity, per class.", "[0, 1]",
       "num_classes=5, min_specificity=0.9"});
  r.add<MultilabelSensitivityAtSpecificity>(
      {"Highest sensitivity at a minimum specificity, per label.", "[0, 1]",
       "num_labels=5, min_specificity=0.9"});
  r.add<BinarySpecificityAtSensitivity>(
      {"Highest specificity at a minimum sensitivity.", "[0, 1]",
       "min_sensitivity=0.9"});
  r.add<MulticlassSpecificityAtSensitivity>(
      {"Highest specificity at a minimum sensitivity, per class.", "[0, 1]",
       "num_classes=5, min_sensitivity=0.9"});
  r.add<MultilabelSpecificityAtSensitivity>(
      {"Highest specificity at a minimum sensitivity, per label.", "[0, 1]",
       "num_labels=5, min_sensitivity=0.9"});
  r.add<MultilabelCoverageError>(
      {"How far down the ranking all true labels are found.", "[0, L]",
       labels});
  r.add<MultilabelRankingAveragePrecision>(
      {"Mean precision at each true label, ranked by score.", "(0, 1]",
       labels});
  r.add<MultilabelRankingLoss>(
      {"Fraction of label pairs in the wrong order.", "[0, 1]", labels});
}

}  // namespace tally::internal
