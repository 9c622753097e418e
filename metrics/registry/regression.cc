#include "tally/metrics/regression/regression.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {
namespace {

void add_averages(Registry& r) {
  r.add<MeanSquaredError>(
      {"The mean of squared differences, or its root.", "[0, inf)"});
  r.add<MeanAbsoluteError>({"The mean of absolute differences.", "[0, inf)"});
  r.add<MeanSquaredLogError>(
      {"The mean of squared differences of log(1 + value), or its root.",
       "[0, inf)"});
  r.add<MeanAbsolutePercentageError>(
      {"The mean of absolute differences relative to targets.", "[0, inf)"});
  r.add<SymmetricMeanAbsolutePercentageError>(
      {"The mean of absolute differences relative to both magnitudes.",
       "[0, 2]"});
  r.add<WeightedMeanAbsolutePercentageError>(
      {"The sum of absolute differences over that of targets.", "[0, inf)"});
  r.add<LogCoshError>(
      {"The mean of log(cosh(difference)): smooth and robust.", "[0, inf)"});
  r.add<MinkowskiDistance>(
      {"The p-norm of all differences.", "[0, inf)", "p=2"});
  r.add<MeanPinballLoss>({"The quantile loss.", "[0, inf)"});
  r.add<TweedieDevianceScore>(
      {"The mean deviance of a Tweedie distribution, such as Poisson.",
       "[0, inf)"});
  r.add<MaxError>({"The largest absolute difference.", "[0, inf)"});
  r.add<MedianAbsoluteError>(
      {"The median of absolute differences.", "[0, inf)"});
}

void add_explained(Registry& r) {
  r.add<R2Score>({"The coefficient of determination.", "(-inf, 1]"});
  r.add<ExplainedVariance>(
      {"R2Score without the bias of the predictions.", "(-inf, 1]"});
  r.add<RelativeSquaredError>(
      {"The squared error over that of the mean target, or its root.",
       "[0, inf)"});
  r.add<NormalizedRootMeanSquaredError>(
      {"The root mean squared error over the size of targets.", "[0, inf)"});
  r.add<D2TweedieScore>(
      {"The fraction of the Tweedie deviance explained.", "(-inf, 1]"});
  r.add<D2PinballScore>(
      {"The fraction of the quantile loss explained.", "(-inf, 1]"});
  r.add<D2AbsoluteErrorScore>(
      {"The fraction of the absolute error explained.", "(-inf, 1]"});
}

void add_correlations(Registry& r) {
  r.add<PearsonCorrCoef>(
      {"How linearly predictions and targets depend.", "[-1, 1]"});
  r.add<ConcordanceCorrCoef>(
      {"How near pairs are to the line of equality.", "[-1, 1]"});
  r.add<SpearmanCorrCoef>({"Pearson's correlation of ranks.", "[-1, 1]"});
  r.add<KendallRankCorrCoef>(
      {"Concordant less discordant pairs, as a share of all.", "[-1, 1]"});
}

void add_rows(Registry& r) {
  r.add<CosineSimilarity>({"The cosine of the angle between rows.",

                           "[-1, 1] for each row"});
  r.add<KLDivergence>(
      {"The Kullback-Leibler divergence of q from p.", "[0, inf]"});
  r.add<JensenShannonDivergence>({"The Jensen-Shannon divergence of p and q.",
                                  "[0, log(2)] for each row"});
  r.add<ContinuousRankedProbabilityScore>(
      {"The absolute error of ensembles of predictions.", "[0, inf)"});
  r.add<CriticalSuccessIndex>(
      {"Hits over hits, misses and false alarms of values of a threshold.",
       "[0, 1]", "threshold=0.5"});
}

}  // namespace

void add_regression(Registry& r) {
  add_averages(r);
  add_explained(r);
  add_correlations(r);
  add_rows(r);
}

}  // namespace tally::internal
