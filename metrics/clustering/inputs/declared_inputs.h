#pragma once

#include "tally/metrics/inputs.h"

/// What observers of clustering metrics declare as their inputs.
namespace tally::internal::clustering {

inline constexpr InputInfo kLabelInputs[] = {
    {"preds", InputKind::kInteger, "int labels [N, ...]"},
    {"target", InputKind::kInteger, "int labels [N, ...]"}};
inline constexpr InputInfo kDataInputs[] = {
    {"data", InputKind::kReal, "real [N, D]"},
    {"labels", InputKind::kInteger, "int labels [N]"}};

}  // namespace tally::internal::clustering
