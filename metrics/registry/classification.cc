#include "tally/metrics/classification/classification.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_classification(Registry& r) {
  r.add<BinaryStatScores, MulticlassStatScores, MultilabelStatScores,
        BinaryAccuracy, MulticlassAccuracy, MultilabelAccuracy, BinaryPrecision,
        MulticlassPrecision, MultilabelPrecision, BinaryRecall,
        MulticlassRecall, MultilabelRecall, BinaryFBetaScore,
        MulticlassFBetaScore, MultilabelFBetaScore, BinaryF1Score,
        MulticlassF1Score, MultilabelF1Score, BinarySpecificity,
        MulticlassSpecificity, MultilabelSpecificity,
        BinaryNegativePredictiveValue, MulticlassNegativePredictiveValue,
        MultilabelNegativePredictiveValue, BinaryHammingDistance,
        MulticlassHammingDistance, MultilabelHammingDistance,
        BinaryJaccardIndex, MulticlassJaccardIndex, MultilabelJaccardIndex,
        BinaryConfusionMatrix, MulticlassConfusionMatrix,
        MultilabelConfusionMatrix, BinaryMatthewsCorrCoef,
        MulticlassMatthewsCorrCoef, MultilabelMatthewsCorrCoef,
        BinaryBalancedAccuracy, MulticlassBalancedAccuracy, BinaryCohenKappa,
        MulticlassCohenKappa, MulticlassExactMatch, MultilabelExactMatch,
        BinaryLogLoss, MulticlassLogLoss, MultilabelLogLoss, BinaryBrierScore,
        MulticlassBrierScore, BinaryHingeLoss, MulticlassHingeLoss,
        BinaryCalibrationError, MulticlassCalibrationError,
        BinaryCalibrationSlope, BinaryCalibrationIntercept,
        BinarySpiegelhalterZ, BinaryGroupStatRates, BinaryFairness>();
}

void add_curves(Registry& r) {
  r.add<BinaryAUROC, MulticlassAUROC, MultilabelAUROC, BinaryAveragePrecision,
        MulticlassAveragePrecision, MultilabelAveragePrecision, BinaryEER,
        MulticlassEER, MultilabelEER, BinaryLogAUC, MulticlassLogAUC,
        MultilabelLogAUC, BinaryAUROCBounds, MulticlassAUROCBounds,
        MultilabelAUROCBounds, BinaryAveragePrecisionBounds,
        MulticlassAveragePrecisionBounds, MultilabelAveragePrecisionBounds,
        BinaryROC, MulticlassROC, MultilabelROC, BinaryPrecisionRecallCurve,
        MulticlassPrecisionRecallCurve, MultilabelPrecisionRecallCurve,
        BinaryRecallAtFixedPrecision, MulticlassRecallAtFixedPrecision,
        MultilabelRecallAtFixedPrecision, BinaryPrecisionAtFixedRecall,
        MulticlassPrecisionAtFixedRecall, MultilabelPrecisionAtFixedRecall,
        BinarySensitivityAtSpecificity, MulticlassSensitivityAtSpecificity,
        MultilabelSensitivityAtSpecificity, BinarySpecificityAtSensitivity,
        MulticlassSpecificityAtSensitivity, MultilabelSpecificityAtSensitivity,
        BinaryOptimalThreshold, MulticlassOptimalThreshold,
        MultilabelOptimalThreshold, MultilabelCoverageError,
        MultilabelRankingAveragePrecision, MultilabelRankingLoss>();
}

}  // namespace tally::internal
