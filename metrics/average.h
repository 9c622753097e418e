#pragma once

#include <cstddef>

#include "tally/metrics/options.h"

namespace tally {

/// How the values of classes or labels are averaged. Each metric's header says
/// over which; kSamples is for labels alone, and an error elsewhere.
enum class Average {
  kMicro,     ///< from the counts of all classes together
  kMacro,     ///< the mean over the classes
  kWeighted,  ///< the mean, weighted by how often each class is the target
  kNone,      ///< one value per class
  kSamples,   ///< the mean of the values of the samples, with their weights
};

template <>
struct EnumNames<Average> {
  static constexpr const char* kNames[] = {"micro", "macro", "weighted", "none",
                                           "samples"};
};

/// How many of them averages over classes take, the first ones.
inline constexpr std::size_t kClassAverages = 4;

/// Until 0.2.0.
using MultilabelAverage = Average;

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
