#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/equal_error_rate.h"
#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"
#include "tally/metrics/classification/log_auc.h"
#include "tally/metrics/classification/multilabel_ranking.h"
#include "tally/metrics/classification/precision_recall_curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/registry/domains.h"

namespace tally::internal {

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
