#pragma once

#include "tally/metrics/inputs.h"

/// The input declarations of observers of classification metrics.
namespace tally::internal::classification {

inline constexpr InputInfo kBinaryInputs[] = {
    {"preds", InputKind::kReal, "int 0 or 1, or float scores [N, ...]"},
    {"target", InputKind::kReal, "int or float 0 or 1 [N, ...]"},
    {"weight", InputKind::kReal, "real [N, ...]", /*is_optional=*/true}};
inline constexpr InputInfo kMulticlassInputs[] = {
    {"preds", InputKind::kReal,
     "int labels [N, ...] or float scores [N, C, ...]"},
    {"target", InputKind::kReal, "int or float labels [N, ...]"},
    {"weight", InputKind::kReal, "real [N, ...]", /*is_optional=*/true}};
inline constexpr InputInfo kMultilabelInputs[] = {
    {"preds", InputKind::kReal, "int 0 or 1, or float scores [N, L, ...]"},
    {"target", InputKind::kReal, "int or float 0 or 1 [N, L, ...]"},
    {"weight", InputKind::kReal, "real [N, ...]", /*is_optional=*/true}};

// For metrics that do not accept labels as preds.
inline constexpr InputInfo kBinaryScoreInputs[] = {
    {"preds", InputKind::kFloat, "float scores [N, ...]"},
    {"target", InputKind::kReal, "int or float 0 or 1 [N, ...]"},
    {"weight", InputKind::kReal, "real [N, ...]", /*is_optional=*/true}};
inline constexpr InputInfo kMulticlassScoreInputs[] = {
    {"preds", InputKind::kFloat, "float scores [N, C, ...]"},
    {"target", InputKind::kReal, "int or float labels [N, ...]"},
    {"weight", InputKind::kReal, "real [N, ...]", /*is_optional=*/true}};
inline constexpr InputInfo kMultilabelScoreInputs[] = {
    {"preds", InputKind::kFloat, "float scores [N, L, ...]"},
    {"target", InputKind::kReal, "int or float 0 or 1 [N, L, ...]"},
    {"weight", InputKind::kReal, "real [N, ...]", /*is_optional=*/true}};

}  // namespace tally::internal::classification
