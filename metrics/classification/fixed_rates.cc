#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"
#include "tally/metrics/classification/optimal_threshold.h"

namespace tally {

template class MetricOf<BinaryRecallAtFixedPrecision, BinaryCurve,
                        RecallAtPrecision, BinaryRecallAtFixedPrecisionOptions>;
template class MetricOf<MulticlassRecallAtFixedPrecision, MulticlassCurve,
                        RecallAtPrecision,
                        MulticlassRecallAtFixedPrecisionOptions>;
template class MetricOf<MultilabelRecallAtFixedPrecision, MultilabelCurve,
                        RecallAtPrecision,
                        MultilabelRecallAtFixedPrecisionOptions>;
template class MetricOf<BinaryPrecisionAtFixedRecall, BinaryCurve,
                        PrecisionAtRecall, BinaryPrecisionAtFixedRecallOptions>;
template class MetricOf<MulticlassPrecisionAtFixedRecall, MulticlassCurve,
                        PrecisionAtRecall,
                        MulticlassPrecisionAtFixedRecallOptions>;
template class MetricOf<MultilabelPrecisionAtFixedRecall, MultilabelCurve,
                        PrecisionAtRecall,
                        MultilabelPrecisionAtFixedRecallOptions>;
template class MetricOf<BinarySensitivityAtSpecificity, BinaryCurve,
                        SensitivityAtThreshold,
                        BinarySensitivityAtSpecificityOptions>;
template class MetricOf<MulticlassSensitivityAtSpecificity, MulticlassCurve,
                        SensitivityAtThreshold,
                        MulticlassSensitivityAtSpecificityOptions>;
template class MetricOf<MultilabelSensitivityAtSpecificity, MultilabelCurve,
                        SensitivityAtThreshold,
                        MultilabelSensitivityAtSpecificityOptions>;
template class MetricOf<BinarySpecificityAtSensitivity, BinaryCurve,
                        SpecificityAtThreshold,
                        BinarySpecificityAtSensitivityOptions>;
template class MetricOf<MulticlassSpecificityAtSensitivity, MulticlassCurve,
                        SpecificityAtThreshold,
                        MulticlassSpecificityAtSensitivityOptions>;
template class MetricOf<MultilabelSpecificityAtSensitivity, MultilabelCurve,
                        SpecificityAtThreshold,
                        MultilabelSpecificityAtSensitivityOptions>;
template class MetricOf<BinaryOptimalThreshold, BinaryCurve, OptimalThreshold,
                        BinaryOptimalThresholdOptions>;
template class MetricOf<MulticlassOptimalThreshold, MulticlassCurve,
                        OptimalThreshold, MulticlassOptimalThresholdOptions>;
template class MetricOf<MultilabelOptimalThreshold, MultilabelCurve,
                        OptimalThreshold, MultilabelOptimalThresholdOptions>;

}  // namespace tally
