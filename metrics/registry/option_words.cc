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
    {"alpha", "The quantile that is predicted, from 0 to 1."},
    {"alternative", "What the test holds against independence."},
    {"average", "How the values of classes or labels become one."},
    {"beta", "How much recall weighs beside precision, by its square."},
    {"epsilon", "What an error is divided by at least, as targets may be 0."},
    {"fpr_range", "From which to which false positive rate, in (0, 1]."},
    {"ignore_index", "What has this target does not count; any integer."},
    {"input", "What floating-point preds are; scores: exact curves only."},
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
    {"postfix", "Put behind each name."},
    {"power", "0: normal, 1: Poisson, 2: gamma, 3: inverse Gaussian."},
    {"prefix", "Put before each name."},
    {"quantile", "Quantiles over the copies to give, each in [0, 1]."},
    {"raw", "Give the value of each copy."},
    {"reduction", "How the values of the rows become one."},
    {"remove_nans", "Leave out rows with NaN, for each output by itself."},
    {"sampling_strategy", "How often the rows of a batch go to each copy."},
    {"scale_by_half", "Half of it: for 2 classes the binary score."},
    {"seed", "Of the random numbers."},
    {"squared", "The mean of squares, else its root."},
    {"squeeze_outputs", "Take the dimension of the outputs away."},
    {"std", "Give the standard deviation over the copies."},
    {"t_test", "Give a p-value as well."},
    {"task", "Which rates are compared between groups."},
    {"tasks", "A metric for each task, as {name: Metric(), ...}."},
    {"threshold", "Scores above it are predicted to be 1."},
    {"thresholds", "Where curves are evaluated: none is at every score."},
    {"top_k", "A target among the top_k largest scores counts as predicted."},
    {"variant", "Kendall's tau-a, tau-b or tau-c."},
    {"weights", "How much classes that lie apart disagree."},
    {"window", "How many batches count, the last ones."},
    {"zero_division", "The value where it divides by zero: 0, 1 or nan."},
};

struct OwnWords {
  const char* metric;
  const char* option;
  const char* words;
};

constexpr OwnWords kOwn[] = {
    {"MulticlassBalancedAccuracy", "adjusted",
     "Constant predictions give 0, not 1 / classes; right ones still 1."},
    {"BinaryBalancedAccuracy", "adjusted",
     "Constant predictions give 0, not 1 / 2; right ones still 1."},
    {"R2Score", "adjusted", "The number of regressors to adjust for; 0: none."},
    {"WeightedMeanAbsolutePercentageError", "epsilon",
     "What the sum of errors is divided by at least."},
    {"BinaryLogLoss", "normalize", "The mean, else the sum."},
    {"MulticlassLogLoss", "normalize", "The mean, else the sum."},
    {"MultilabelLogLoss", "normalize", "The mean, else the sum."},
    {"MultioutputWrapper", "num_outputs",
     "The number of outputs, which each get a metric."},
    {"RelativeSquaredError", "squared", "The error, else its root."},
    {"BinaryHingeLoss", "squared", "The mean of squares."},
    {"MulticlassHingeLoss", "squared", "The mean of squares."},
    {"BinaryTargetTransformer", "threshold", "Targets above it become 1."},
    {"CriticalSuccessIndex", "threshold",
     "A value of at least this is an event."},
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
