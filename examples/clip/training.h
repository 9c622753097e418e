#pragma once

#include <functional>
#include <vector>

#include "tally/examples/clip/options.h"
#include "tally/examples/digits/data.h"
#include "tally/sync/communicator.h"

namespace clip {

/// How often the right half of a test image is the nearest one to its left
/// half, or among the five nearest, of all test images.
struct Recalls {
  double at_1 = 0;
  double at_5 = 0;
};

struct Epoch {
  std::int64_t number;  ///< from 1; 0 is before training
  double loss;          ///< mean of the steps; NaN before training
  Recalls test;
};

struct Outcome {
  std::vector<double> losses;  ///< of each step
  Recalls test;                ///< after the last one
};

/// Is called after each step with their number so far, and that of all.
using OnStep = std::function<void(std::int64_t done, std::int64_t all)>;

/// Trains on all ranks together; the outcome is the same on every rank, and, up
/// to rounding, for any number of ranks and micro-batches. Collective.
Outcome train(const digits::Split& data, const Options& options,
              const tally::sync::Communicator& ranks,
              const std::function<void(const Epoch&)>& on_epoch,
              const OnStep& on_step);

}  // namespace clip
