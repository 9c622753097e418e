#pragma once

#include <string>
#include <vector>

namespace tally {

/// What the elements along a dimension of a result are. Class names are given
/// to dimensions of classes alone; other elements are shown by their index.
enum class Dimension {
  kUnknown,      ///< the metric does not say
  kClass,        ///< all classes, or the labels of a multilabel metric
  kForeground,   ///< the classes from 1 on
  kListedClass,  ///< the classes whose numbers the result `classes` has
  kOutcome,      ///< negative, positive
  kCount,        ///< true and false positives, true and false negatives, ...
  kPoint,        ///< the points of a curve
  kThreshold,
  kPair,      ///< lowest, highest
  kSample,    ///< samples, rows, queries, texts
  kGroup,     ///< groups of samples
  kOutput,    ///< the outputs of a regression, or of several metrics
  kColumn,    ///< the columns of the data
  kQuantile,  ///< of replicates
  kReplicate,
  kStep,   ///< epochs, steps
  kArea,   ///< ranges of areas
  kLimit,  ///< how many detections count
};
using Dimensions = std::vector<Dimension>;

/// "class", "point", ...; "unknown".
const char* to_string(Dimension dimension);
/// The reverse; kUnknown for other texts.
Dimension dimension_of(const std::string& text);

}  // namespace tally
