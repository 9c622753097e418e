#pragma once

#include "tally/metrics/inputs.h"

/// What observers of feature metrics declare as their inputs.
namespace tally::internal::features {

inline constexpr InputInfo kFeatureInputs[] = {
    {"features", InputKind::kReal, "real [N, D]"},
    {"real", InputKind::kInteger, "1 (real) or 0 (generated), [N] or 0-dim"}};
inline constexpr InputInfo kSampleInputs[] = {
    {"features", InputKind::kReal, "real [N, D]"},
    {"real", InputKind::kInteger, "1 (real) or 0 (generated), [N] or 0-dim"},
    {"ids", InputKind::kKeys, "ids of samples, int or texts [N]", true}};

}  // namespace tally::internal::features
