#include "tally/metrics/retrieval/retrieval.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_retrieval(Registry& r) {
  r.add<RetrievalPrecision, RetrievalRecall, RetrievalFallOut, RetrievalHitRate,
        RetrievalRPrecision, RetrievalPrecisionRecallCurve,
        RetrievalRecallAtFixedPrecision, RetrievalMAP, RetrievalMRR,
        RetrievalNormalizedDCG, RetrievalAUROC, RetrievalERR, RetrievalRBP,
        RetrievalBpref, RetrievalMeanRank, MeanRank, MeanReciprocalRank,
        RankHitRate>();
}

}  // namespace tally::internal
