#include "tally/metrics/retrieval/retrieval.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {
namespace {

void add_hits(Registry& r) {
  r.add<RetrievalPrecision>(
      {"Fraction of the best k documents that are relevant.", "[0, 1]"});
  r.add<RetrievalRecall>(
      {"Fraction of the relevant documents among the best k.", "[0, 1]"});
  r.add<RetrievalFallOut>(
      {"Fraction of the documents that are not relevant among the best k.",
       "[0, 1]"});
  r.add<RetrievalHitRate>(
      {"Fraction of queries with a relevant document among the best k.",
       "[0, 1]"});
  r.add<RetrievalRPrecision>(
      {"Precision at R, the number of relevant documents.", "[0, 1]"});
  r.add<RetrievalPrecisionRecallCurve>(
      {"Precision and recall of the best k documents for each k.", "[0, 1]"});
  r.add<RetrievalRecallAtFixedPrecision>(
      {"The highest recall at some k where precision is high enough.",
       "[0, 1]"});
}

void add_ranks(Registry& r) {
  r.add<RetrievalMAP>(
      {"The mean precision at the ranks of relevant documents.", "[0, 1]"});
  r.add<RetrievalMRR>(
      {"The reciprocal rank of the first relevant document.", "[0, 1]"});
  r.add<RetrievalNormalizedDCG>(
      {"The discounted gain of the best k documents over the ideal one.",
       "[0, 1]"});
  r.add<RetrievalAUROC>({"The area under each query's ROC curve.", "[0, 1]"});
  r.add<RetrievalERR>(
      {"The reciprocal rank at which a user is expected to stop.", "[0, 1]",
       "g_max=4"});
  r.add<RetrievalRBP>(
      {"The relevance that a user sees who may stop at every document.",
       "[0, 1]"});
  r.add<RetrievalBpref>(
      {"Relevant documents above judged others; for incomplete judgements.",
       "[0, 1]"});
}

}  // namespace

void add_retrieval(Registry& r) {
  add_hits(r);
  add_ranks(r);
}

}  // namespace tally::internal
