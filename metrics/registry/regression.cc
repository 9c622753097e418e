#include "tally/metrics/regression/regression.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {
namespace {

void add_averages(Registry& r) {
  r.add<MeanSquaredError>({"Mean of squared errors, or its root.", "[0, inf)"});
  r.add<MeanAbsoluteError>({"Mean of absolute errors.", "[0, inf)"});
  r.add<MeanSquaredLogError>(
      {"Mean of squared differences of log(1 + value), or its root.",
       "[0, inf)"});
  r.add<MeanAbsolutePercentageError>(
      {"Mean of absolute errors relative to the targets.", "[0, inf)"});
  r.add<SymmetricMeanAbsolutePercentageError>(
      {"Mean of absolute errors relative to both magnitudes.", "[0, 2]"});
  r.add<WeightedMeanAbsolutePercentageError>(
      {"Sum of absolute errors over the sum of absolute targets.", "[0, inf)"});
  r.add<LogCoshError>(
      {"Mean of log(cosh(error)): smooth and robust.", "[0, inf)"});
  r.add<MinkowskiDistance>({"p-norm of all errors.", "[0, inf)", "p=2"});
  r.add<MeanPinballLoss>({"Quantile (pinball) loss.", "[0, inf)"});
  r.add<TweedieDevianceScore>(
      {"Mean deviance of a Tweedie distribution, such as Poisson.",
       "[0, inf)"});
  r.add<MaxError>({"Largest absolute error.", "[0, inf)"});
  r.add<MedianAbsoluteError>({"Median of absolute errors.", "[0, inf)"});
}

void add_explained(Registry& r) {
  r.add<R2Score>({"Coefficient of determination.", "(-inf, 1]"});
  r.add<ExplainedVariance>(
      {"R2Score that disregards a constant bias.", "(-inf, 1]"});
  r.add<RelativeSquaredError>(
      {"Squared error over that of predicting the mean, or its root.",
       "[0, inf)"});
  r.add<NormalizedRootMeanSquaredError>(
      {"Root mean squared error over the scale of the targets.", "[0, inf)"});
  r.add<D2TweedieScore>(
      {"Fraction of the Tweedie deviance explained.", "(-inf, 1]"});
  r.add<D2PinballScore>(
      {"Fraction of the quantile loss explained.", "(-inf, 1]"});
  r.add<D2AbsoluteErrorScore>(
      {"Fraction of the absolute error explained.", "(-inf, 1]"});
}

void add_correlations(Registry& r) {
  r.add<PearsonCorrCoef>(
      {"Linear correlation of predictions and targets.", "[-1, 1]"});
  r.add<ConcordanceCorrCoef>(
      {"Lin's concordance: agreement with the line of equality.", "[-1, 1]"});
  r.add<SpearmanCorrCoef>({"Pearson's correlation of ranks.", "[-1, 1]"});
  r.add<KendallRankCorrCoef>(
      {"Concordant minus discordant pairs, as a fraction of all.", "[-1, 1]"});
}

void add_rows(Registry& r) {
  r.add<CosineSimilarity>(
      {"Cosine of the angle between rows.", "[-1, 1] for each row"});
  r.add<KLDivergence>({"Kullback-Leibler divergence of q from p.", "[0, inf]"});
  r.add<JensenShannonDivergence>(
      {"Jensen-Shannon divergence of p and q.", "[0, log(2)] for each row"});
  r.add<ContinuousRankedProbabilityScore>(
      {"Absolute error of ensembles of predictions (CRPS).", "[0, inf)"});
  r.add<CriticalSuccessIndex>(
      {"Hits over the sum of hits, misses and false alarms.", "[0, 1]",
       "threshold=0.5"});
}

}  // namespace

void add_regression(Registry& r) {
  add_averages(r);
  add_explained(r);
  add_correlations(r);
  add_rows(r);
}

}  // namespace tally::internal
