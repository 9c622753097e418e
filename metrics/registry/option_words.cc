#include <c10/util/Exception.h>

#include "tally/metrics/registry/domains.h"
#include "tally/metrics/registry/registry.h"

namespace tally::internal {
namespace {

struct OptionWords {
  const char* option;
  const char* words;  // at most 72 characters
};

// Options of one name mean the same in all metrics but a few.
constexpr OptionWords kCommon[] = {
<<<<<<< HEAD
    {"alpha", "Quantile that is predicted, from 0 to 1."},
    {"alternative", "Alternative hypothesis of the test."},
    {"average", "How the values of classes or labels are averaged."},
    {"average_method", "Mean of both entropies that normalizes the score."},
    {"beta", "Weight of recall relative to precision."},
    {"bias_correction", "Whether to correct the bias of small samples."},
    {"centroids", "Known centroids, [K * D] row by row; []: the means."},
    {"epsilon", "Lower bound of the divisor, as targets may be 0."},
    {"fpr_range", "Range of false positive rates, in (0, 1]."},
    {"ignore_index", "Targets with this value are ignored."},
    {"input", "Kind of floating-point preds; scores: exact curves only."},
    {"keep_sequence_dim",
     "Dimension along which values are reported one by one."},
    {"labels", "Names of the classes, as [horse, fish]; numbers if []."},
    {"log_prob", "Whether inputs are log-probabilities."},
    {"max_fpr", "Partial area up to this false positive rate, standardised."},
    {"mean", "Whether to return the mean over the copies."},
    {"method", "Points between which distances are taken."},
    {"metric", "The wrapped metric, as Name(option=value, ...)."},
    {"min_precision", "Minimum precision, in [0, 1]."},
    {"min_recall", "Minimum recall, in [0, 1]."},
    {"min_sensitivity", "Minimum sensitivity, in [0, 1]."},
    {"min_specificity", "Minimum specificity, in [0, 1]."},
    {"mode", "crammer-singer (best other class) or one-vs-all."},
    {"multidim_average", "Over all samples, or one value per sample."},
    {"multioutput", "How the values of the outputs are averaged."},
    {"n_bins", "Number of equal-width bins over [0, 1]."},
    {"nan_replace_value", "Category that replaces NaN."},
    {"nan_strategy", "How NaN is handled."},
    {"nan_value", "Value that replaces NaN under nan_strategy=replace."},
    {"norm", "How the gaps of the bins are combined."},
    {"normalization", "Statistic of the targets that divides the error."},
    {"normalize", "What the counts are divided by."},
    {"num_bootstraps", "Number of resampled copies."},
    {"num_classes", "Number of classes; labels are 0 to num_classes - 1."},
    {"num_groups", "Number of groups, at least 2."},
    {"num_labels", "Number of labels: dimension 1 of the inputs."},
    {"num_outputs", "Number of outputs; above 1, inputs are [N, num_outputs]."},
    {"output_dim", "Dimension of the inputs that holds the outputs."},
    {"p", "Exponent, at least 1; 2 gives the Euclidean distance."},
    {"postfix", "Appended to each name."},
    {"power", "0: normal, 1: Poisson, 2: gamma, 3: inverse Gaussian."},
    {"prefix", "Prepended to each name."},
    {"q", "Widths: 1 for mean distances, 2 for mean squared ones."},
    {"quantile", "Quantiles over the copies to return, each in [0, 1]."},
    {"raw", "Whether to return the value of each copy."},
    {"reduction", "How the values of the rows are reduced."},
    {"remove_nans", "Drop rows with NaN, for each output separately."},
    {"sampling_strategy", "How the rows of a batch are resampled."},
    {"scale_by_half", "Halve it: for 2 classes, the binary score."},
    {"seed", "Seed of the random number generator."},
    {"squared", "If true, the mean squared error; if false, its square root."},
    {"squeeze_outputs", "Remove the dimension of the outputs."},
    {"std", "Whether to return the standard deviation over the copies."},
    {"t_test", "Whether to return a p-value as well."},
    {"task", "Which rates are compared between groups."},
    {"tasks", "A metric for each task, as {name: Metric(), ...}."},
    {"threshold", "Scores above it are predicted as 1."},
    {"thresholds", "Thresholds of the curve; none: every score."},
    {"top_k", "Number of highest scores considered as predicted."},
    {"variant", "Kendall's tau-a, tau-b or tau-c."},
    {"weights", "Weighting of disagreement between distant classes."},
    {"window", "Number of batches, the last ones."},
    {"yates", "Whether to correct 2 x 2 tables for continuity."},
    {"zero_division", "Value where it divides by zero: 0, 1 or nan."},
=======
    {"absent", "What a class is worth that neither input has: nan skips it."},
    {"aggregation_level", "In each sample, then averaged, or in all at once."},
    {"alpha", "The quantile that is predicted, from 0 to 1."},
    {"alternative", "What the test holds against independence."},
    {"average", "How the values of classes or labels become one."},
    {"beta", "How much recall weighs beside precision, by its square."},
    {"count_cases", "Say how many cases counted, besides the value."},
    {"directed", "Only distances from preds to target count."},
    {"distance_metric", "How far places are, of distances along the axes."},
    {"empty_penalty",
     "The value where one input alone has a class; none: inf."},
    {"epsilon", "What an error is divided by at least, as targets may be 0."},
    {"fpr_range", "From which to which false positive rate, in (0, 1]."},
    {"ignore_index", "What has this target does not count; any integer."},
    {"include_background", "Whether class 0 counts."},
    {"input", "What floating-point preds are; scores: exact curves only."},
    {"input_format", "Labels (index), a mask for each class, or one of each."},
    {"keep_sequence_dim", "A dimension to give a value for each index of."},
    {"labels", "The classes' names, as [horse, fish]; numbers if []."},
    {"log_prob", "Inputs are logarithms of probabilities, taken as they are."},
    {"max_fpr", "Only the area up to this false positive rate, standardised."},
    {"mean", "Give the mean over the copies."},
    {"metric", "What is wrapped, as Name(option=value, ...)."},
    {"min_precision", "What the precision must be at least, in [0, 1]."},
    {"min_recall", "What the recall must be at least, in [0, 1]."},
    {"min_sensitivity", "What the sensitivity must be at least, in [0, 1]."},
    {"min_specificity", "What the specificity must be at least, in [0, 1]."},
    {"mode", "Whether a class is held against the best other, or each is."},
    {"multidim_average", "Over all samples, or a value for each sample."},
    {"multioutput", "How the values of the outputs become one."},
    {"n_bins", "How many bins [0, 1] is cut into, all of one width."},
    {"nan_strategy", "What is done with NaN."},
    {"nan_value", "What nan_strategy replace puts in the place of NaN."},
    {"norm", "How the gaps of the bins become one number."},
    {"normalization", "What of the targets the error is divided by."},
    {"normalize", "What the counts are divided by."},
    {"num_bootstraps", "How many copies of the metric are kept."},
    {"num_classes", "The number of classes; labels are 0 to num_classes - 1."},
    {"num_groups", "The number of groups, at least 2."},
    {"num_labels", "The number of labels: dimension 1 of the inputs."},
    {"num_outputs", "With more than one, inputs are [N, num_outputs]."},
    {"output_dim", "The inputs' dimension of the outputs."},
    {"p", "The exponent, at least 1; 2 gives the Euclidean distance."},
    {"per_class", "Give a value for each class."},
    {"percentile", "Of the distances, 0 to 100; none: the largest."},
    {"percentile_of", "Of each direction, the larger counting, or of both."},
    {"postfix", "Put behind each name."},
    {"power", "0: normal, 1: Poisson, 2: gamma, 3: inverse Gaussian."},
    {"prefix", "Put before each name."},
    {"quantile", "Quantiles over the copies to give, each in [0, 1]."},
    {"raw", "Give the value of each copy."},
    {"reduction", "How the values of the rows become one."},
    {"reflection", "Points may be mirrored as well."},
    {"remove_nans", "Leave out rows with NaN, for each output by itself."},
    {"sampling_strategy", "How often the rows of a batch go to each copy."},
    {"scale_by_half", "Half of it: for 2 classes the binary score."},
    {"seed", "Of the random numbers."},
    {"spacing", "Between places along each axis, as [1, 0.5]; none: 1."},
    {"squared", "The mean of squares, else its root."},
    {"squeeze_outputs", "Take the dimension of the outputs away."},
    {"std", "Give the standard deviation over the copies."},
    {"surface", "Places at the border, or elements with their area."},
    {"t_test", "Give a p-value as well."},
    {"task", "Which rates are compared between groups."},
    {"tasks", "A metric for each task, as {name: Metric(), ...}."},
    {"threshold", "Scores above it are predicted to be 1."},
    {"thresholds", "Where curves are evaluated: none is at every score."},
    {"tolerance", "How far from the other surface counts as on it."},
    {"top_k", "A target among the top_k largest scores counts as predicted."},
    {"variant", "Kendall's tau-a, tau-b or tau-c."},
    {"weight_type", "By what of a class's size it weighs less."},
    {"weights", "How much classes that lie apart disagree."},
    {"window", "How many batches count, the last ones."},
    {"zero_division", "The value where it divides by zero: 0, 1 or nan."},
>>>>>>> cc4f65e (Add metrics of segmentation and shape, and functions of all pairs of rows)
};

struct OwnWords {
  const char* metric;
  const char* option;
  const char* words;
};

constexpr OwnWords kOwn[] = {
    {"BoundaryF1", "tolerance",
     "How far is near; none: 0.008 of the diagonal, rounded up."},
    {"MeanIoU", "num_classes",
     "The number of classes; none: as many as the inputs have."},
    {"ProcrustesDisparity", "reduction",
     "How the values of the samples become one."},
    {"MulticlassBalancedAccuracy", "adjusted",
     "Rescaled so that chance gives 0 and perfect predictions 1."},
    {"BinaryBalancedAccuracy", "adjusted",
     "Rescaled so that chance gives 0 and perfect predictions 1."},
    {"R2Score", "adjusted", "Number of regressors to adjust for; 0: none."},
    {"WeightedMeanAbsolutePercentageError", "epsilon",
     "Lower bound of the divisor of the sum of errors."},
    {"BinaryLogLoss", "normalize", "If true, the mean; if false, the sum."},
    {"MulticlassLogLoss", "normalize", "If true, the mean; if false, the sum."},
    {"MultilabelLogLoss", "normalize", "If true, the mean; if false, the sum."},
    {"MultioutputWrapper", "num_outputs",
     "Number of outputs, each with its own metric."},
    {"RelativeSquaredError", "squared",
     "If true, the error; if false, its square root."},
    {"BinaryHingeLoss", "squared", "Whether to square the hinge."},
    {"MulticlassHingeLoss", "squared", "Whether to square the hinge."},
    {"VMeasureScore", "beta", "Weight of completeness, above 0."},
    {"SilhouetteScore", "distance_metric",
     "Euclidean distances over all pairs, or squared ones from sums."},
    {"FleissKappa", "mode",
     "Whether ratings are counts of raters or scores of each rater."},
    {"ClusterAccuracy", "num_classes",
     "Labels are 0 to num_classes - 1; none: any numbers."},
    {"CramersV", "num_classes",
     "Categories are 0 to num_classes - 1; none: any whole numbers."},
    {"TschuprowsT", "num_classes",
     "Categories are 0 to num_classes - 1; none: any whole numbers."},
    {"PearsonsContingencyCoefficient", "num_classes",
     "Categories are 0 to num_classes - 1; none: any whole numbers."},
    {"TheilsU", "num_classes",
     "Categories are 0 to num_classes - 1; none: any whole numbers."},
    {"BinaryTargetTransformer", "threshold", "Targets above it become 1."},
    {"CriticalSuccessIndex", "threshold",
     "Values of at least this count as an event."},
};

bool has_option(const MetricEntry& entry, const char* name) {
  for (const OptionInfo& option : entry.options) {
    if (option.name == name) return true;
  }
  return false;
}

}  // namespace

void describe_options(Registry& r) {
  for (const OptionWords& common : kCommon) {
    bool is_used = false;
    for (const auto& [name, entry] : r.entries()) {
      if (!has_option(entry, common.option)) continue;
      is_used = true;
      r.describe_option(name, common.option, common.words);
    }
    TORCH_INTERNAL_ASSERT(is_used, common.option);
  }
  for (const OwnWords& own : kOwn) {
    r.describe_option(own.metric, own.option, own.words);
  }
}

}  // namespace tally::internal
