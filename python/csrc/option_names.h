#pragma once

#include "tally/losses/codebook/code_gradient.h"
#include "tally/losses/contrastive/pairwise_logits.h"
#include "tally/losses/contrastive/sig_lip_loss.h"
#include "tally/metrics/options.h"
#include "tally/sync/gradient_flow.h"

// The names in Python of what options choose between.
namespace tally {

template <>
struct EnumNames<sync::GradientFlow> {
  static constexpr const char* kNames[] = {"detached", "local", "replicated",
                                           "all_ranks"};
};
template <>
struct EnumNames<losses::PairwiseLogits> {
  static constexpr const char* kNames[] = {"tiled", "gathered"};
};
template <>
struct EnumNames<losses::SigLipExchange> {
  static constexpr const char* kNames[] = {"tiled_ring", "bidirectional",
                                           "shift", "reduce", "gather"};
};
template <>
struct EnumNames<losses::CodeGradient> {
  static constexpr const char* kNames[] = {"straight_through", "rotation"};
};

}  // namespace tally
