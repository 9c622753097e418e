#include "tally/metrics/classification/classification.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_classification(Registry& r) {
  const char* multiclass =
      "preds: int labels [N, ...] or float scores [N, C, ...]; "
      "target: int labels [N, ...]";
  const char* classes = "num_classes=5";

  r.add<MulticlassAccuracy>({"The share of samples whose class is right.",
                             multiclass, "[0, 1]", classes});
  r.add<MulticlassConfusionMatrix>({"How often each class was taken for each.",
                                    multiclass, "counts, or shares in [0, 1]",
                                    classes});
  r.add<MulticlassF1Score>({"The harmonic mean of precision and recall.",
                            multiclass, "[0, 1]", classes});
  r.add<MulticlassLogLoss>(
      {"The mean negative log-likelihood of the targets (cross-entropy).",
       "preds: float probabilities or logits [N, C, ...]; "
       "target: int labels [N, ...]; weight?: float [N, ...]",
       "[0, inf)", classes});
  r.add<MulticlassPrecision>(
      {"The share of predictions of a class that are "
       "right.",
       multiclass, "[0, 1]", classes});
  r.add<MulticlassRecall>({"The share of samples of a class that are found.",
                           multiclass, "[0, 1]", classes});
}

}  // namespace tally::internal
