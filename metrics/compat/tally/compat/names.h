#pragma once

// Names until 0.2.0 of classes whose names LibTorch has, too: a program that
// opens namespaces of both could not say which one it means.

#include "tally/losses/calibration/cross_entropy_loss.h"
#include "tally/metrics/slices/sliced_metric.h"

namespace tally {
using Slice = SliceResult;
}  // namespace tally

namespace tally::losses {
using CrossEntropyLoss = GlobalCrossEntropyLoss;
using CrossEntropyLossOptions = GlobalCrossEntropyLossOptions;
}  // namespace tally::losses
