#pragma once

#include <functional>
#include <vector>

#include "tally/examples/digits/data.h"
#include "tally/examples/digits/options.h"
#include "tally/metrics/results.h"
#include "tally/sync/communicator.h"

namespace digits {

/// Metrics on the test images: "accuracy", "precision", "recall", "f1",
/// "auroc", "log_loss", "confusion", and per digit "digit.accuracy",
/// "digit.precision", "digit.recall", "digit.f1".
struct Epoch {
  std::int64_t number;  ///< from 1
  double loss;          ///< on the training images
  tally::Results test;
};

struct Outcome {
  std::vector<double> losses;  ///< of each step, over the whole batch
  tally::Results test;         ///< after the last one
};

/// Is called after each step with their number so far, and that of all.
using OnStep = std::function<void(std::int64_t done, std::int64_t all)>;

/// Trains on all ranks together; the outcome is the same on every rank, and, up
/// to rounding, for any number of ranks. Collective.
Outcome train(const Split& data, const Options& options,
              const tally::sync::Communicator& ranks,
              const std::function<void(const Epoch&)>& on_epoch,
              const OnStep& on_step);

}  // namespace digits
