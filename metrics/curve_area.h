#pragma once

namespace tally {

/// An area under a curve of a binary classifier.
enum class CurveArea {
  kRoc,              ///< pairs of a positive and a negative in order
  kPrecisionRecall,  ///< the precision at each positive
};

}  // namespace tally
