#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "tally/training/gradients.h"

namespace tally::training::internal {

/// Throws c10::ValueError for invalid options.
void check(const ClipGradientsOptions& options);

/// average_and_clip_gradients of gradients that are the same on every rank.
double scale_gradients(const std::vector<at::Tensor>& parameters,
                       const ClipGradientsOptions& options);

}  // namespace tally::training::internal
