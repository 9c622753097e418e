#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/retrieval/kernels/ranked_queries.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"

namespace tally::internal::retrieval {

/// Longer curves are refused.
inline constexpr std::int64_t kMostDepth = std::int64_t{1} << 20;

struct CurveRules {
  std::optional<std::int64_t> max_k;
  bool adaptive_k;
};

/// Precision and recall at 1 to max_k documents: [max_k], or [queries, max_k],
/// float64.
struct HitCurves {
  at::Tensor precision;
  at::Tensor recall;
};

/// Null: no queries, for which there is NaN. c10::ValueError as of
/// query_values().
HitCurves hit_curves(const RankedQueries* ranked, const ValueRules& rules,
                     const CurveRules& curve);

}  // namespace tally::internal::retrieval
