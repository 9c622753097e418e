#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// How the values of the classes are averaged. Each metric's header specifies
/// the classes.
enum class Average {
  kMicro,     ///< from the counts of all classes together
  kMacro,     ///< the mean over the classes
  kWeighted,  ///< the mean, weighted by how often each class is the target
  kNone,      ///< one value per class
};

template <>
struct EnumNames<Average> {
  static constexpr const char* kNames[] = {"micro", "macro", "weighted",
                                           "none"};
};

/// The same for the labels of multilabel metrics.
enum class MultilabelAverage {
  kMicro,     ///< from the counts of all labels together
  kMacro,     ///< the mean over the labels
  kWeighted,  ///< the mean, weighted by how often each label is set
  kNone,      ///< one value per label
  kSamples,   ///< the mean of the values of the samples, with their weights
};

template <>
struct EnumNames<MultilabelAverage> {
  static constexpr const char* kNames[] = {"micro", "macro", "weighted", "none",
                                           "samples"};
};

/// The scope of counting for inputs with positions ([N, C, ...] and [N, ...]).
enum class MultidimAverage {
  kGlobal,      ///< over all positions of all samples
  kSamplewise,  ///< over each sample's positions; one value per sample
};

template <>
struct EnumNames<MultidimAverage> {
  static constexpr const char* kNames[] = {"global", "samplewise"};
};

}  // namespace tally
