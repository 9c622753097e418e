#include "tally/metrics/classification/classification.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_classification(Registry& r) {
  const char* classes = "num_classes=5";
  const char* labels = "num_labels=5";

  r.add<BinaryStatScores>(
      {"True and false positives and negatives, and targets.", "counts"});
  r.add<MulticlassStatScores>(
      {"True and false positives and negatives, and targets.", "counts",
       classes});
  r.add<MultilabelStatScores>(
      {"True and false positives and negatives, and targets.", "counts",
       labels});
  r.add<BinaryAccuracy>({"The share that is predicted rightly.", "[0, 1]"});
  r.add<MulticlassAccuracy>(
      {"The share that is predicted rightly.", "[0, 1]", classes});
  r.add<MultilabelAccuracy>(
      {"The share that is predicted rightly.", "[0, 1]", labels});
  r.add<BinaryPrecision>(
      {"The share of predictions that are right.", "[0, 1]"});
  r.add<MulticlassPrecision>(
      {"The share of predictions that are right.", "[0, 1]", classes});
  r.add<MultilabelPrecision>(
      {"The share of predictions that are right.", "[0, 1]", labels});
  r.add<BinaryRecall>({"The share of targets that are found.", "[0, 1]"});
  r.add<MulticlassRecall>(
      {"The share of targets that are found.", "[0, 1]", classes});
  r.add<MultilabelRecall>(
      {"The share of targets that are found.", "[0, 1]", labels});
  r.add<BinaryFBetaScore>(
      {"The weighted harmonic mean of precision and recall.", "[0, 1]"});
  r.add<MulticlassFBetaScore>(
      {"The weighted harmonic mean of precision and recall.", "[0, 1]",
       classes});
  r.add<MultilabelFBetaScore>(
      {"The weighted harmonic mean of precision and recall.", "[0, 1]",
       labels});
  r.add<BinaryF1Score>(
      {"The harmonic mean of precision and recall.", "[0, 1]"});
  r.add<MulticlassF1Score>(
      {"The harmonic mean of precision and recall.", "[0, 1]", classes});
  r.add<MultilabelF1Score>(
      {"The harmonic mean of precision and recall.", "[0, 1]", labels});
  r.add<BinarySpecificity>(
      {"The share of negatives that are found.", "[0, 1]"});
  r.add<MulticlassSpecificity>(
      {"The share of negatives that are found.", "[0, 1]", classes});
  r.add<MultilabelSpecificity>(
      {"The share of negatives that are found.", "[0, 1]", labels});
  r.add<BinaryNegativePredictiveValue>(
      {"The share of negative predictions that are right.", "[0, 1]"});
  r.add<MulticlassNegativePredictiveValue>(
      {"The share of negative predictions that are right.", "[0, 1]", classes});
  r.add<MultilabelNegativePredictiveValue>(
      {"The share of negative predictions that are right.", "[0, 1]", labels});
  r.add<BinaryHammingDistance>(
      {"The share that is predicted wrongly.", "[0, 1]"});
  r.add<MulticlassHammingDistance>(
      {"The share that is predicted wrongly.", "[0, 1]", classes});
  r.add<MultilabelHammingDistance>(
      {"The share that is predicted wrongly.", "[0, 1]", labels});
  r.add<BinaryJaccardIndex>(
      {"The intersection over the union of predictions and targets.",
       "[0, 1]"});
  r.add<MulticlassJaccardIndex>(
      {"The intersection over the union of predictions and targets.", "[0, 1]",
       classes});
  r.add<MultilabelJaccardIndex>(
      {"The intersection over the union of predictions and targets.", "[0, 1]",
       labels});
  r.add<BinaryConfusionMatrix>({"How often each class was taken for each.",
                                "counts, or shares in [0, 1]"});
  r.add<MulticlassConfusionMatrix>({"How often each class was taken for each.",
                                    "counts, or shares in [0, 1]", classes});
  r.add<MultilabelConfusionMatrix>({"How often each class was taken for each.",
                                    "counts, or shares in [0, 1]", labels});
  r.add<BinaryMatthewsCorrCoef>(
      {"The correlation of predictions and targets.", "[-1, 1]"});
  r.add<MulticlassMatthewsCorrCoef>(
      {"The correlation of predictions and targets.", "[-1, 1]", classes});
  r.add<MultilabelMatthewsCorrCoef>(
      {"The correlation of predictions and targets.", "[-1, 1]", labels});
  r.add<BinaryBalancedAccuracy>(
      {"The mean recall of the classes.", "(-inf, 1]"});
  r.add<MulticlassBalancedAccuracy>(
      {"The mean recall of the classes.", "(-inf, 1]", classes});
  r.add<BinaryCohenKappa>(
      {"The agreement of predictions and targets beyond chance.", "(-inf, 1]"});
  r.add<MulticlassCohenKappa>(
      {"The agreement of predictions and targets beyond chance.", "(-inf, 1]",
       classes});
  r.add<MulticlassExactMatch>(
      {"The share of samples that are right in everything.", "[0, 1]",
       classes});
  r.add<MultilabelExactMatch>(
      {"The share of samples that are right in everything.", "[0, 1]", labels});
  r.add<BinaryLogLoss>(
      {"The mean negative log-likelihood of the targets.", "[0, inf)"});
  r.add<MulticlassLogLoss>({"The mean negative log-likelihood of the targets.",
                            "[0, inf)", classes});
  r.add<MultilabelLogLoss>(
      {"The mean negative log-likelihood of the labels.", "[0, inf)", labels});
  r.add<BinaryBrierScore>(
      {"The mean squared error of probabilities.", "[0, 1]"});
  r.add<MulticlassBrierScore>(
      {"The mean squared error of probabilities.", "[0, 2]", classes});
  r.add<BinaryHingeLoss>(
      {"The mean hinge loss of decision values.", "[0, inf)"});
  r.add<MulticlassHingeLoss>(
      {"The mean hinge loss of decision values.", "[0, inf)", classes});
  r.add<BinaryCalibrationError>(
      {"How far probabilities are from frequencies.", "[0, 1]"});
  r.add<MulticlassCalibrationError>(
      {"How far confidences are from accuracies.", "[0, 1]", classes});
  r.add<BinaryGroupStatRates>(
      {"The shares of true and false positives and negatives by group.",
       "[0, 1]", "num_groups=2"});
  r.add<BinaryFairness>({"The lowest over the highest rate of groups.",
                         "[0, 1]", "num_groups=2"});
}

}  // namespace tally::internal
