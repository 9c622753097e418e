#pragma once

/// What options do that several metrics or losses have, for OptionVisitor.
namespace tally::internal::words {

inline constexpr char kAbsent[] =
    "Value of a class absent from both inputs; nan skips it.";
inline constexpr char kAdaptiveK[] =
    "Divide by the documents retrieved if there are fewer.";
inline constexpr char kAdjusted[] =
    "Whether to rescale so that chance gives 0 and perfection 1.";
inline constexpr char kAggregationLevel[] =
    "Per sample and then averaged, or over all samples.";
inline constexpr char kAlpha[] = "Quantile that is predicted, from 0 to 1.";
inline constexpr char kAreaBounds[] =
    "Areas that separate small, medium and large objects.";
inline constexpr char kAverage[] =
    "How the values of classes or labels are averaged.";
inline constexpr char kBeta[] = "Weight of recall relative to precision.";
inline constexpr char kBiasCorrection[] =
    "Whether to correct the bias of small samples.";
inline constexpr char kBoxFormat[] =
    "Edges of boxes, or an edge or the center and the size.";
inline constexpr char kClassMetrics[] =
    "Whether to return the values of each class as well.";
inline constexpr char kDataRange[] =
    "Difference between the largest and the smallest possible value.";
inline constexpr char kEmptyPenalty[] =
    "Value if only one input has the class; none: inf.";
inline constexpr char kEpsilon[] =
    "Lower bound of the divisor, as targets may be 0.";
inline constexpr char kGMax[] = "Highest possible grade.";
inline constexpr char kGaussianKernel[] =
    "Whether windows are Gaussian, not uniform.";
inline constexpr char kIgnoredTargets[] =
    "Targets with this value are ignored.";
inline constexpr char kIgnoredTokens[] =
    "Tokens with this value are ignored, in both inputs.";
inline constexpr char kInput[] =
    "Kind of floating-point preds; scores: exact curves only.";
inline constexpr char kProbabilityInput[] = "Kind of floating-point preds.";
inline constexpr char kIouThresholds[] =
    "IoU thresholds of a match; []: 0.5, 0.55, ... 0.95.";
inline constexpr char kIouType[] =
    "What is compared: boxes, masks or keypoints.";
inline constexpr char kK[] =
    "A neighborhood reaches to the k-th nearest other sample.";
inline constexpr char kKernelSize[] = "Size of the windows in pixels.";
inline constexpr char kLowercase[] = "Whether to ignore case.";
inline constexpr char kMaxFpr[] =
    "Partial area up to this false positive rate, standardized.";
inline constexpr char kMeanOrSum[] = "If true, the mean; if false, the sum.";
inline constexpr char kMultidimAverage[] =
    "Over all samples, or one value per sample.";
inline constexpr char kMultioutput[] =
    "How the values of the outputs are averaged.";
inline constexpr char kNBins[] = "Number of equal-width bins over [0, 1].";
inline constexpr char kNGram[] = "Highest order of n-grams.";
inline constexpr char kNanStrategy[] = "How NaN is handled.";
inline constexpr char kNanValue[] =
    "Value that replaces NaN under nan_strategy=replace.";
inline constexpr char kNorm[] = "How the gaps of the bins are combined.";
inline constexpr char kNormOrder[] = "Exponent of the differences, at least 1.";
inline constexpr char kNormalizedCounts[] = "What the counts are divided by.";
inline constexpr char kNumClasses[] =
    "Number of classes; labels are 0 to num_classes - 1.";
inline constexpr char kNumLabels[] =
    "Number of labels: dimension 1 of the inputs.";
inline constexpr char kNumOutputs[] =
    "Number of outputs; above 1, inputs are [N, num_outputs].";
inline constexpr char kP[] =
    "Exponent, at least 1; 2 gives the Euclidean distance.";
inline constexpr char kPerClass[] = "Whether to return one value per class.";
inline constexpr char kPostfix[] = "Appended to each name.";
inline constexpr char kPrefix[] = "Prepended to each name.";
inline constexpr char kRecThresholds[] =
    "Recalls at which precision is read; []: 0, 0.01, ... 1.";
inline constexpr char kReducedSamples[] =
    "How the values of the samples are reduced.";
inline constexpr char kReducedTexts[] =
    "How the values of the texts are reduced.";
inline constexpr char kSeed[] = "Seed of the random number generator.";
inline constexpr char kSigma[] =
    "Standard deviation of Gaussian windows in pixels.";
inline constexpr char kSquaredError[] =
    "If true, the mean squared error; if false, its square root.";
inline constexpr char kSquaredHinge[] = "Whether to square the hinge.";
inline constexpr char kSubstitutionCost[] =
    "Cost of a substitution; others cost 1.";
inline constexpr char kThreshold[] = "Scores above this are predicted as 1.";
inline constexpr char kWeights[] =
    "Weights of the n-gram orders; []: equal weights.";
inline constexpr char kWindow[] = "Number of most recent batches.";
inline constexpr char kYates[] =
    "Whether to correct 2 x 2 tables for continuity.";
inline constexpr char kZeroDivision[] =
    "Value for a division by zero: 0, 1 or nan.";
inline constexpr char kLabelMode[] =
    "Whether targets are classes, labels or one label.";
inline constexpr char kScores[] =
    "Logits, or probabilities that are used as they are.";
inline constexpr char kPerImage[] = "Whether each image has a loss of its own.";
inline constexpr char kSurrogate[] = "Loss of a positive and a negative score.";
inline constexpr char kMargin[] = "Margin of the surrogate.";
inline constexpr char kScale[] = "Factor of differences in the surrogate.";
inline constexpr char kPenalty[] = "Regularization that makes the order soft.";
inline constexpr char kStrength[] =
    "Strength of the regularization; near 0: the hard order.";
inline constexpr char kRelative[] =
    "Whether values are divided by their standard deviation.";
inline constexpr char kPairwiseLogits[] =
    "Logits tile by tile, recomputed in backward, or all at once.";
inline constexpr char kLogitsBudget[] =
    "Bytes of logits that tiles may keep for the backward pass.";
inline constexpr char kChannelFirst[] =
    "Channels are dimension 1; none: from 4 dimensions on.";
inline constexpr char kSimilarityDivisor[] = "Divisor of the similarities.";
inline constexpr char kAddedToVariances[] = "Added to variances.";

}  // namespace tally::internal::words
