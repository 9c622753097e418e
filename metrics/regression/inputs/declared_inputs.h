#pragma once

#include "tally/metrics/inputs.h"

/// The input declarations of observers of regression metrics.
namespace tally::internal::regression {

inline constexpr InputInfo kPairInputs[] = {
    {"preds", InputKind::kReal, "real [N, ...]"},
    {"target", InputKind::kReal, "real [N, ...]"}};
inline constexpr InputInfo kWeightedInputs[] = {
    {"preds", InputKind::kReal, "real [N, ...]"},
    {"target", InputKind::kReal, "real [N, ...]"},
    {"weight", InputKind::kReal, "real [N, ...]", /*is_optional=*/true}};
inline constexpr InputInfo kColumnInputs[] = {
    {"preds", InputKind::kReal, "real [N] or [N, D]"},
    {"target", InputKind::kReal, "real [N] or [N, D]"}};
inline constexpr InputInfo kWeightedColumnInputs[] = {
    {"preds", InputKind::kReal, "real [N] or [N, D]"},
    {"target", InputKind::kReal, "real [N] or [N, D]"},
    {"weight", InputKind::kReal, "real [N]", /*is_optional=*/true}};

}  // namespace tally::internal::regression
