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

  r.add<BinaryAUROC>({"The area under the ROC curve.", "[0, 1]"});
  r.add<MulticlassAUROC>(
      {"The area under the ROC curve, of each class.", "[0, 1]", classes});
  r.add<MultilabelAUROC>(
      {"The area under the ROC curve, of each label.", "[0, 1]", labels});
  r.add<BinaryAveragePrecision>(
      {"The mean precision at the positives' scores.", "[0, 1]"});
  r.add<MulticlassAveragePrecision>(
      {"The mean precision at the positives' scores, of each class.", "[0, 1]",
       classes});
  r.add<MultilabelAveragePrecision>(
      {"The mean precision at the positives' scores, of each label.", "[0, 1]",
       labels});
  r.add<BinaryEER>(
      {"Where false positives and false negatives are as frequent.", "[0, 1]"});
  r.add<MulticlassEER>(
      {"Where false positives and false negatives are as frequent, of each "
       "class.",
       "[0, 1]", classes});
  r.add<MultilabelEER>(
      {"Where false positives and false negatives are as frequent, of each "
       "label.",
       "[0, 1]", labels});
  r.add<BinaryLogAUC>(
      {"The area under the ROC curve over the logarithm of its rate.",
       "[0, 1]"});
  r.add<MulticlassLogAUC>(
      {"The area under the ROC curve over the logarithm of its rate, of each "
       "class.",
       "[0, 1]", classes});
  r.add<MultilabelLogAUC>(
      {"The area under the ROC curve over the logarithm of its rate, of each "
       "label.",
       "[0, 1]", labels});
  r.add<BinaryROC>(
      {"The rates of false and true positives by threshold.", "[0, 1]"});
  r.add<MulticlassROC>(
      {"The rates of false and true positives by threshold, of each class.",
       "[0, 1]", classes});
  r.add<MultilabelROC>(
      {"The rates of false and true positives by threshold, of each label.",
       "[0, 1]", labels});
  r.add<BinaryPrecisionRecallCurve>(
      {"Precision and recall by threshold.", "[0, 1]"});
  r.add<MulticlassPrecisionRecallCurve>(
      {"Precision and recall by threshold, of each class.", "[0, 1]", classes});
  r.add<MultilabelPrecisionRecallCurve>(
      {"Precision and recall by threshold, of each label.", "[0, 1]", labels});
  r.add<BinaryRecallAtFixedPrecision>(
      {"The best recall where precision is high enough.", "[0, 1]",
       "min_precision=0.9"});
  r.add<MulticlassRecallAtFixedPrecision>(
      {"The best recall where precision is high enough, of each class.",
       "[0, 1]", "num_classes=5, min_precision=0.9"});
  r.add<MultilabelRecallAtFixedPrecision>(
      {"The best recall where precision is high enough, of each label.",
       "[0, 1]", "num_labels=5, min_precision=0.9"});
  r.add<BinaryPrecisionAtFixedRecall>(
      {"The best precision where recall is high enough.", "[0, 1]",
       "min_recall=0.9"});
  r.add<MulticlassPrecisionAtFixedRecall>(
      {"The best precision where recall is high enough, of each class.",
       "[0, 1]", "num_classes=5, min_recall=0.9"});
  r.add<MultilabelPrecisionAtFixedRecall>(
      {"The best precision where recall is high enough, of each label.",
       "[0, 1]", "num_labels=5, min_recall=0.9"});
  r.add<BinarySensitivityAtSpecificity>(
      {"The best sensitivity where specificity is high enough.", "[0, 1]",
       "min_specificity=0.9"});
  r.add<MulticlassSensitivityAtSpecificity>(
      {"The best sensitivity where specificity is high enough, of each class.",
       "[0, 1]", "num_classes=5, min_specificity=0.9"});
  r.add<MultilabelSensitivityAtSpecificity>(
      {"The best sensitivity where specificity is high enough, of each label.",
       "[0, 1]", "num_labels=5, min_specificity=0.9"});
  r.add<BinarySpecificityAtSensitivity>(
      {"The best specificity where sensitivity is high enough.", "[0, 1]",
       "min_sensitivity=0.9"});
  r.add<MulticlassSpecificityAtSensitivity>(
      {"The best specificity where sensitivity is high enough, of each class.",
       "[0, 1]", "num_classes=5, min_sensitivity=0.9"});
  r.add<MultilabelSpecificityAtSensitivity>(
      {"The best specificity where sensitivity is high enough, of each label.",
       "[0, 1]", "num_labels=5, min_sensitivity=0.9"});
  r.add<MultilabelCoverageError>(
      {"How many of a sample's best labels hold all of its own.", "[0, L]",
       labels});
  r.add<MultilabelRankingAveragePrecision>(
      {"The share of positives among the labels ranked above each positive.",
       "(0, 1]", labels});
  r.add<MultilabelRankingLoss>(
      {"The share of pairs of labels that are ranked wrongly.", "[0, 1]",
       labels});
}

}  // namespace tally::internal
