#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/clustering/clustering.h"
#include "tally/metrics/nominal/nominal.h"
#include "tally/metrics/registry/domains.h"
#include "tally/metrics/regression/regression.h"
#include "tally/metrics/shape/shape.h"

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

void add_label_scores(Registry& r) {
  r.add<MutualInfoScore>(
      {"What predicted clusters say about the true ones, in nats.",
       "[0, inf)"});
  r.add<NormalizedMutualInfoScore>(
      {"Mutual information over a mean of both entropies.", "[0, 1]"});
  r.add<AdjustedMutualInfoScore>(
      {"Normalized mutual information, adjusted for chance.", "(-inf, 1]"});
  r.add<RandScore>(
      {"The fraction of pairs of samples on which clusterings agree.",
       "[0, 1]"});
  r.add<AdjustedRandScore>(
      {"The Rand score, adjusted for chance.", "[-0.5, 1]"});
  r.add<FowlkesMallowsIndex>(
      {"The geometric mean of precision and recall of pairs.", "[0, 1]"});
  r.add<HomogeneityScore>(
      {"Whether clusters hold samples of a single class.", "[0, 1]"});
  r.add<CompletenessScore>(
      {"Whether samples of a class are in a single cluster.", "[0, 1]"});
  r.add<VMeasureScore>(
      {"The harmonic mean of homogeneity and completeness.", "[0, 1]"});
  r.add<ClusterAccuracy>(
      {"Accuracy with clusters assigned to classes in the best way.",
       "[0, 1]"});
}

void add_data_scores(Registry& r) {
  r.add<CalinskiHarabaszScore>(
      {"The variance between clusters over that inside.", "[0, inf)"});
  r.add<DaviesBouldinScore>(
      {"The likeness of clusters to those that are most like them.",
       "[0, inf]"});
  r.add<DunnIndex>(
      {"The least distance between clusters over the largest inside.",
       "[0, inf]"});
  r.add<SilhouetteScore>(
      {"How much nearer points are to their own cluster than to others.",
       "[-1, 1]"});
}

}  // namespace

void add_aggregation(Registry& r) {
  r.add<SumMetric>({"Sum of all values.", "any"});
  r.add<MeanMetric>({"Weighted mean of all values.", "any"});
  r.add<MinMetric>({"Smallest of all values.", "any"});
  r.add<MaxMetric>({"Largest of all values.", "any"});
  r.add<CatMetric>({"Concatenation of all values.", "any"});
  r.add<RunningMean>({"Weighted mean over the last batches.", "any"});
  r.add<RunningSum>({"Sum over the last batches.", "any"});
}

void add_regression(Registry& r) {
  add_averages(r);
  add_explained(r);
  add_correlations(r);
  add_rows(r);
}

void add_nominal(Registry& r) {
  r.add<CramersV>(
      {"How strongly two categorical variables are associated.", "[0, 1]"});
  r.add<CramersVMatrix>({"Cramer's V of every two columns.", "[0, 1]"});
  r.add<TschuprowsT>(
      {"Association that is 1 only for as many categories.", "[0, 1]"});
  r.add<TschuprowsTMatrix>({"Tschuprow's T of every two columns.", "[0, 1]"});
  r.add<PearsonsContingencyCoefficient>(
      {"Association by chi-squared over itself and the samples.", "[0, 1)"});
  r.add<PearsonsContingencyCoefficientMatrix>(
      {"Pearson's contingency coefficient of every two columns.", "[0, 1]"});
  r.add<TheilsU>(
      {"The fraction of the entropy of preds that target explains.", "[0, 1]"});
  r.add<TheilsUMatrix>({"Theil's U of every two columns.", "[0, 1]"});
  r.add<FleissKappa>(
      {"How far several raters agree beyond chance.", "[-1, 1]"});
}

void add_clustering(Registry& r) {
  add_label_scores(r);
  add_data_scores(r);
}

void add_shape(Registry& r) {
  r.add<LipVertexError>(
      {"Largest squared distance of a vertex of the lips, per frame.",
       "[0, inf]", "mouth_map=[0, 1, 2]"});
  r.add<ProcrustesDisparity>(
      {"How little points look like others, moved, scaled and turned.",
       "[0, 1] for each sample"});
}

}  // namespace tally::internal
