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
    {"absent", "Value of a class that neither input has; nan skips it."},
    {"accumulate", "Of several references the best, or the mean."},
    {"adaptive_k", "Divide by the documents retrieved if there are fewer."},
    {"aggregation", "How the values of the queries are aggregated."},
    {"aggregation_level", "Per sample and then averaged, or over all samples."},
    {"alpha", "Quantile that is predicted, from 0 to 1."},
    {"alternative", "Alternative hypothesis of the test."},
    {"average", "How the values of classes or labels are averaged."},
    {"average_method", "Mean of both entropies that normalizes the score."},
    {"beta", "Weight of recall relative to precision."},
    {"bias_correction", "Whether to correct the bias of small samples."},
    {"centroids", "Known centroids, [K * D] row by row; []: the means."},
    {"clamp_db", "Scores are limited to -clamp_db to clamp_db; none: not."},
    {"condensed", "Drop documents that are not judged, as if not ranked."},
    {"count_cases", "Whether to return the number of cases as well."},
    {"count_silent", "Whether to return the number of silent references."},
    {"denominator", "Relevant documents, or as many as fit into top_k."},
    {"directed", "Only distances from preds to target."},
    {"distance_metric", "Distance between two positions."},
    {"effective_order", "Leave out orders that texts are too short for."},
    {"empty_penalty", "Value where only one input has a class; none: inf."},
    {"empty_target_action", "Value of a query without relevant documents."},
    {"eps_smoothing",
     "Mean F of all orders, as TorchMetrics; else as sacrebleu."},
    {"epsilon", "Lower bound of the divisor, as targets may be 0."},
    {"eval_func", "Whether the highest or the lowest score is the best."},
    {"extended", "Whether frames are compared over frequencies (ESTOI)."},
    {"filter_length", "Taps of the filter that is no distortion."},
    {"fpr_range", "Range of false positive rates, in (0, 1]."},
    {"fs", "Sampling rate of the signals in Hz."},
    {"g_max", "Highest possible grade."},
    {"gain", "Gain of a document of grade g: g, or 2^g - 1."},
    {"ignore_index", "Targets with this value are ignored."},
    {"include_background", "Whether to include class 0."},
    {"input", "Kind of floating-point preds; scores: exact curves only."},
    {"input_format", "Labels (index), one mask per class, or one of each."},
    {"keep_sequence_dim",
     "Dimension along which values are reported one by one."},
    {"keep_top_k", "Number of documents kept per query, besides counts."},
    {"labels", "Names of the classes, as [horse, fish]; numbers if []."},
    {"load_diag", "Added to the diagonal of the filter's equations."},
    {"log_prob", "Whether inputs are log-probabilities."},
    {"lowercase", "Whether to ignore case."},
    {"max_fpr", "Partial area up to this false positive rate, standardised."},
    {"max_k", "Depth of the curve, at most 2^20."},
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
    {"n_char_order", "Highest order of n-grams of characters."},
    {"n_gram", "Highest order of n-grams."},
    {"n_word_order", "Highest order of n-grams of words; 0: chrF, 2: chrF++."},
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
    {"per_class", "Whether to return one value per class."},
    {"percentile", "Percentile of the distances, 0 to 100; none: the largest."},
    {"percentile_of",
     "Percentile of each direction (the larger one), or of both."},
    {"persistence", "Probability of going on to the next document, in (0, 1)."},
    {"postfix", "Appended to each name."},
    {"power", "0: normal, 1: Poisson, 2: gamma, 3: inverse Gaussian."},
    {"prefix", "Prepended to each name."},
    {"q", "Widths: 1 for mean distances, 2 for mean squared ones."},
    {"quantile", "Quantiles over the copies to return, each in [0, 1]."},
    {"raw", "Whether to return the value of each copy."},
    {"reduction", "How the values of the rows are reduced."},
    {"reflection", "Whether points may be mirrored."},
    {"remove_nans", "Drop rows with NaN, for each output separately."},
    {"rouge_keys", "What to compute: rouge1 to rouge9, rougeL, rougeLsum."},
    {"sampling_strategy", "How the rows of a batch are resampled."},
    {"scale_by_half", "Halve it: for 2 classes, the binary score."},
    {"scheme", "What prefixes of tags mean, in mode strict."},
    {"scale_invariant", "Whether references are scaled to the estimates."},
    {"seed", "Seed of the random number generator."},
    {"smooth", "Add one to matches and n-grams from the second order on."},
    {"smooth_method", "Precision of orders without a match."},
    {"smooth_value", "Value of floor (none: 0.1) and add-k (none: 1)."},
    {"spacing", "Spacing along each axis, as [1, 0.5]; none: 1."},
    {"squared", "If true, the mean squared error; if false, its square root."},
    {"squeeze_outputs", "Remove the dimension of the outputs."},
    {"std", "Whether to return the standard deviation over the copies."},
    {"suffix", "Whether tags are PER-B rather than B-PER."},
    {"surface", "Border positions, or surface elements with their area."},
    {"t_test", "Whether to return a p-value as well."},
    {"task", "Which rates are compared between groups."},
    {"tasks", "A metric for each task, as {name: Metric(), ...}."},
    {"threshold", "Scores above it are predicted as 1."},
    {"thresholds", "Thresholds of the curve; none: every score."},
    {"ties", "Order of documents with equal scores."},
    {"tokenize", "How sentences are split into tokens."},
    {"tolerance", "Largest distance that counts as on the other surface."},
    {"top_k", "Number of highest scores considered as predicted."},
    {"unjudged", "Documents with this target are not judged."},
    {"use_stemmer", "Whether words are replaced by their stems."},
    {"variant", "Kendall's tau-a, tau-b or tau-c."},
    {"weight_type", "Function of a class's size that divides its weight."},
    {"weights", "Weighting of disagreement between distant classes."},
    {"whitespace", "Whether white space counts as characters."},
    {"window", "Number of batches, the last ones."},
    {"yates", "Whether to correct 2 x 2 tables for continuity."},
    {"zero_division", "Value where it divides by zero: 0, 1 or nan."},
    {"zero_mean", "Whether each signal's mean is removed first."},
};

struct OwnWords {
  const char* metric;
  const char* option;
  const char* words;
};

constexpr OwnWords kOwn[] = {
    {"BLEUScore", "weights", "Weights of the orders; []: equal ones."},
    {"SacreBLEUScore", "weights", "Weights of the orders; []: equal ones."},
    {"EntityPrecision", "mode", "Read tags as conlleval does, or by a scheme."},
    {"EntityRecall", "mode", "Read tags as conlleval does, or by a scheme."},
    {"EntityF1Score", "mode", "Read tags as conlleval does, or by a scheme."},
    {"EntityPrecision", "zero_division",
     "Value where it divides by zero: 0 or 1."},
    {"EntityRecall", "zero_division",
     "Value where it divides by zero: 0 or 1."},
    {"EntityF1Score", "zero_division",
     "Value where it divides by zero: 0 or 1."},
    {"BoundaryF1", "tolerance",
     "Largest distance; none: 0.008 of the diagonal, rounded up."},
    {"PermutationInvariantTraining", "metric",
     "Audio metric that scores a speaker, as Name(option=value, ...)."},
    {"PermutationInvariantTraining", "mode",
     "Whether speakers are scored one by one, or all together."},
    {"MeanIoU", "num_classes",
     "Number of classes; none: as many as the inputs have."},
    {"ProcrustesDisparity", "reduction",
     "How the values of the samples are reduced."},
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
    {"RetrievalMAP", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalMRR", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalPrecision", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalRecall", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalFallOut", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalHitRate", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalNormalizedDCG", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalAUROC", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalERR", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalRBP", "top_k",
     "Number of best documents per query that count; none: all."},
    {"RetrievalFallOut", "empty_target_action",
     "Value of a query whose documents are all relevant."},
    {"RetrievalAUROC", "empty_target_action",
     "Value of a query without both kinds of documents."},
    {"RetrievalRPrecision", "keep_top_k",
     "Must be none: it needs whole rankings."},
    {"RetrievalBpref", "keep_top_k", "Must be none: it needs whole rankings."},
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
