#include "tally/metrics/regression/regression.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {
namespace {

constexpr const char* kPair = "preds: real [N, ...]; target: real [N, ...]";
constexpr const char* kWeighted =
    "preds: real [N, ...]; target: real [N, ...]; weight?: real [N, ...]";
constexpr const char* kColumns =
    "preds: real [N] or [N, D]; target: real [N] or [N, D]";
constexpr const char* kWeightedColumns =
    "preds: real [N] or [N, D]; target: real [N] or [N, D]; weight?: real [N]";
constexpr const char* kDistributions = "p: real [N, D]; q: real [N, D]";

void add_averages(Registry& r) {
  r.add<MeanSquaredError>(
      {"The mean of squared differences, or its root.", kWeighted, "[0, inf)"});
  r.add<MeanAbsoluteError>(
      {"The mean of absolute differences.", kWeighted, "[0, inf)"});
  r.add<MeanSquaredLogError>(
      {"The mean of squared differences of log(1 + value), or its root.",
       kWeighted, "[0, inf)"});
  r.add<MeanAbsolutePercentageError>(
      {"The mean of absolute differences relative to targets.", kWeighted,
       "[0, inf)"});
  r.add<SymmetricMeanAbsolutePercentageError>(
      {"The mean of absolute differences relative to both magnitudes.",
       kWeighted, "[0, 2]"});
  r.add<WeightedMeanAbsolutePercentageError>(
      {"The sum of absolute differences over that of targets.", kWeighted,
       "[0, inf)"});
  r.add<LogCoshError>({"The mean of log(cosh(difference)): smooth and robust.",
                       kWeighted, "[0, inf)"});
  r.add<MinkowskiDistance>(
      {"The p-norm of all differences.", kWeighted, "[0, inf)", "p=2"});
  r.add<MeanPinballLoss>({"The quantile loss.", kWeighted, "[0, inf)"});
  r.add<TweedieDevianceScore>(
      {"The mean deviance of a Tweedie distribution, such as Poisson.",
       kWeighted, "[0, inf)"});
  r.add<MaxError>({"The largest absolute difference.", kPair, "[0, inf)"});
  r.add<MedianAbsoluteError>(
      {"The median of absolute differences.", kWeighted, "[0, inf)"});
}

void add_explained(Registry& r) {
  r.add<R2Score>(
      {"The coefficient of determination.", kWeightedColumns, "(-inf, 1]"});
  r.add<ExplainedVariance>({"R2Score without the bias of the predictions.",
                            kWeightedColumns, "(-inf, 1]"});
  r.add<RelativeSquaredError>(
      {"The squared error over that of the mean target, or its root.",
       kWeightedColumns, "[0, inf)"});
  r.add<NormalizedRootMeanSquaredError>(
      {"The root mean squared error over the size of targets.",
       kWeightedColumns, "[0, inf)"});
  r.add<D2TweedieScore>({"The fraction of the Tweedie deviance explained.",
                         kWeighted, "(-inf, 1]"});
  r.add<D2PinballScore>({"The fraction of the quantile loss explained.",
                         kWeightedColumns, "(-inf, 1]"});
  r.add<D2AbsoluteErrorScore>({"The fraction of the absolute error explained.",
                               kWeightedColumns, "(-inf, 1]"});
}

void add_correlations(Registry& r) {
  r.add<PearsonCorrCoef>({"How linearly predictions and targets depend.",
                          kWeightedColumns, "[-1, 1]"});
  r.add<ConcordanceCorrCoef>({"How near pairs are to the line of equality.",
                              kWeightedColumns, "[-1, 1]"});
  r.add<SpearmanCorrCoef>(
      {"Pearson's correlation of ranks.", kColumns, "[-1, 1]"});
  r.add<KendallRankCorrCoef>(
      {"Concordant less discordant pairs, as a share of all.", kColumns,
       "[-1, 1]"});
}

void add_rows(Registry& r) {
  r.add<CosineSimilarity>({"The cosine of the angle between rows.",
                           "preds: real [N, D]; target: real [N, D]",
                           "[-1, 1] for each row"});
  r.add<KLDivergence>({"The Kullback-Leibler divergence of q from p.",
                       kDistributions, "[0, inf]"});
  r.add<JensenShannonDivergence>({"The Jensen-Shannon divergence of p and q.",
                                  kDistributions, "[0, log(2)] for each row"});
  r.add<ContinuousRankedProbabilityScore>(
      {"The absolute error of ensembles of predictions.",
       "preds: real [N, M]; target: real [N]", "[0, inf)"});
  r.add<CriticalSuccessIndex>(
      {"Hits over hits, misses and false alarms of values of a threshold.",
       kPair, "[0, 1]", "threshold=0.5"});
}

}  // namespace

void add_regression(Registry& r) {
  add_averages(r);
  add_explained(r);
  add_correlations(r);
  add_rows(r);
}

}  // namespace tally::internal
