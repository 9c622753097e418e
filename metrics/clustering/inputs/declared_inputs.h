#pragma once

#include "tally/metrics/inputs.h"

/// What observers of clustering metrics declare as their inputs.
namespace tally::internal::clustering {

inline constexpr InputInfo kLabelInputs[] = {
    {"preds", InputKind::kKeys, "int labels [N, ...], or texts"},
    {"target", InputKind::kKeys, "int labels [N, ...], or texts"}};
inline constexpr InputInfo kDataInputs[] = {
    {"data", InputKind::kReal, "real [N, D]"},
    {"labels", InputKind::kKeys, "int labels [N], or texts"}};

}  // namespace tally::internal::clustering
