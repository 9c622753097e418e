#include "tally/metrics/retrieval/options/retrieval_options.h"

#include <c10/util/Exception.h>

namespace tally::internal::retrieval {

void check_documents(const char* metric,
                     const std::optional<std::int64_t>& ignore_index,
                     const std::optional<std::int64_t>& unjudged,
                     bool condensed,
                     const std::optional<std::int64_t>& keep_top_k) {
  TORCH_CHECK_VALUE(!unjudged || unjudged != ignore_index, metric,
                    ": expected ignore_index and unjudged to differ, got ",
                    unjudged.value_or(0), " twice");
  TORCH_CHECK_VALUE(!condensed || unjudged, metric,
                    ": expected unjudged, the target of documents that are "
                    "not judged, with condensed=true");
  TORCH_CHECK_VALUE(!keep_top_k || *keep_top_k >= 1, metric,
                    ": expected keep_top_k to be at least 1, got ",
                    keep_top_k.value_or(0));
}

void check_depth(const char* metric, const char* option,
                 const std::optional<std::int64_t>& depth,
                 const std::optional<std::int64_t>& keep_top_k) {
  TORCH_CHECK_VALUE(!depth || *depth >= 1, metric, ": expected ", option,
                    " to be at least 1, got ", depth.value_or(0));
  TORCH_CHECK_VALUE(!keep_top_k || depth, metric, ": expected ", option,
                    " with keep_top_k=", keep_top_k.value_or(0));
  TORCH_CHECK_VALUE(!keep_top_k || *depth <= *keep_top_k, metric, ": expected ",
                    option, " of at most keep_top_k=", keep_top_k.value_or(0),
                    ", got ", depth.value_or(0));
}

void check_keeps_all(const char* metric,
                     const std::optional<std::int64_t>& keep_top_k) {
  TORCH_CHECK_VALUE(!keep_top_k, metric,
                    ": expected keep_top_k to be none, as it needs whole "
                    "rankings, got ",
                    keep_top_k.value_or(0));
}

void check_ties(const char* metric, TieOrder ties,
                const std::optional<std::int64_t>& keep_top_k) {
  TORCH_CHECK_VALUE(ties != TieOrder::kIds || !keep_top_k, metric,
                    ": expected ties other than ids with keep_top_k=",
                    keep_top_k.value_or(0), ", which keeps no doc_ids");
}

}  // namespace tally::internal::retrieval
