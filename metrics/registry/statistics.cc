#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/clustering/clustering.h"
#include "tally/metrics/nominal/nominal.h"
#include "tally/metrics/registry/domains.h"
#include "tally/metrics/regression/regression.h"
#include "tally/metrics/shape/shape.h"

namespace tally::internal {

void add_aggregation(Registry& r) {
  r.add<SumMetric, MeanMetric, MinMetric, MaxMetric, CatMetric, RunningMean,
        RunningSum, Throughput>();
}

void add_regression(Registry& r) {
  r.add<MeanSquaredError, MeanAbsoluteError, MeanSquaredLogError,
        MeanAbsolutePercentageError, SymmetricMeanAbsolutePercentageError,
        WeightedMeanAbsolutePercentageError, LogCoshError, MinkowskiDistance,
        MeanPinballLoss, TweedieDevianceScore, MaxError, MedianAbsoluteError,
        R2Score, ExplainedVariance, RelativeSquaredError,
        NormalizedRootMeanSquaredError, D2TweedieScore, D2PinballScore,
        D2AbsoluteErrorScore, PearsonCorrCoef, ConcordanceCorrCoef,
        SpearmanCorrCoef, KendallRankCorrCoef, CosineSimilarity, KLDivergence,
        JensenShannonDivergence, ContinuousRankedProbabilityScore,
        CriticalSuccessIndex, MeanAbsoluteScaledError,
        OverallWeightedAverage>();
}

void add_nominal(Registry& r) {
  r.add<CramersV, CramersVMatrix, TschuprowsT, TschuprowsTMatrix,
        PearsonsContingencyCoefficient, PearsonsContingencyCoefficientMatrix,
        TheilsU, TheilsUMatrix, FleissKappa>();
}

void add_clustering(Registry& r) {
  r.add<MutualInfoScore, NormalizedMutualInfoScore, AdjustedMutualInfoScore,
        RandScore, AdjustedRandScore, FowlkesMallowsIndex, HomogeneityScore,
        CompletenessScore, VMeasureScore, ClusterAccuracy,
        CalinskiHarabaszScore, DaviesBouldinScore, DunnIndex,
        SilhouetteScore>();
}

void add_shape(Registry& r) { r.add<LipVertexError, ProcrustesDisparity>(); }

}  // namespace tally::internal
