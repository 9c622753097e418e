#include <ATen/core/Formatting.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/where.h>
#include <gtest/gtest.h>

#include "tally/metrics/retrieval/retrieval.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/metrics/retrieval/documents.h"

// keep_top_k: states that do not grow, and values that do not change.

namespace tally {
namespace {

constexpr std::int64_t kQueries = 50;
constexpr std::int64_t kDepth = 7;

struct Batch {
  at::Tensor preds, target, indexes;
};

// Few scores, so that the k-th of most queries is tied.
Batch documents(std::int64_t count) {
  at::Tensor preds = at::randint(40, {count}, at::kFloat);
  preds = at::where(at::rand({count}).lt(0.1), kNotRetrieved, preds);
  return {preds, at::randint(-1, 4, {count}, at::kLong),
          at::randint(kQueries, {count}, at::kLong)};
}

template <class M>
void check(typename M::Options options) {
  options.unjudged(-1);
  M all(options);
  M kept(options.keep_top_k(kDepth));
  M merged(options.keep_top_k(kDepth));
  for (int i = 0; i < 30; ++i) {
    const Batch batch = documents(1000);
    all.update(batch.preds, batch.target, batch.indexes);
    kept.update(batch.preds, batch.target, batch.indexes);
    M one(options.keep_top_k(kDepth));
    one.update(batch.preds, batch.target, batch.indexes);
    merged.merge_state(one);
  }
  const Results expected = all.compute_results();
  for (M* metric : {&kept, &merged}) {
    const Results results = metric->compute_results();
    for (const auto& [part, value] : results) {
      EXPECT_TRUE(value.allclose(expected.at(part), 1e-13, 1e-15))
          << M::kName << " " << part << ": " << value << " for "
          << expected.at(part);
    }
    EXPECT_LT(metric->state().at("indexes").numel(), 10'000);
  }
}

TEST(KeptDocumentsTest, ValuesAreThoseOfAllDocuments) {
  for (const TieOrder ties :
       {TieOrder::kExpected, TieOrder::kPessimistic, TieOrder::kOptimistic}) {
    check<RetrievalMAP>(RetrievalMAPOptions().top_k(kDepth).ties(ties));
    check<RetrievalMRR>(RetrievalMRROptions().top_k(3).ties(ties));
    check<RetrievalPrecision>(
        RetrievalPrecisionOptions().top_k(kDepth).ties(ties));
    check<RetrievalRecall>(RetrievalRecallOptions().top_k(kDepth).ties(ties));
    check<RetrievalFallOut>(RetrievalFallOutOptions().top_k(kDepth).ties(ties));
    check<RetrievalHitRate>(RetrievalHitRateOptions().top_k(2).ties(ties));
    check<RetrievalNormalizedDCG>(
        RetrievalNormalizedDCGOptions().top_k(kDepth).ties(ties));
    check<RetrievalAUROC>(RetrievalAUROCOptions().top_k(kDepth).ties(ties));
    check<RetrievalAUROC>(
        RetrievalAUROCOptions().top_k(kDepth).max_fpr(0.6).ties(ties));
    check<RetrievalERR>(RetrievalERROptions(4).top_k(kDepth).ties(ties));
    check<RetrievalRBP>(RetrievalRBPOptions().top_k(5).g_max(4).ties(ties));
    check<RetrievalPrecisionRecallCurve>(
        RetrievalPrecisionRecallCurveOptions().max_k(kDepth).ties(ties));
    check<RetrievalRecallAtFixedPrecision>(
        RetrievalRecallAtFixedPrecisionOptions()
            .max_k(kDepth)
            .min_precision(0.4)
            .ties(ties));
  }
}

TEST(KeptDocumentsTest, MemoryDoesNotGrowWithTheDocuments) {
  RetrievalMAP map(RetrievalMAPOptions().top_k(10).keep_top_k(10));
  std::int64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    map.update(at::rand({2000}), at::randint(2, {2000}, at::kLong),
               at::randint(20, {2000}, at::kLong));
    most = std::max(most, map.state().at("preds").numel());
  }
  EXPECT_LT(most, 5000);
}

// The tie of a hundred thousand is four rows at most.
TEST(KeptDocumentsTest, SoDoTiesNot) {
  RetrievalNormalizedDCG ndcg(
      RetrievalNormalizedDCGOptions().top_k(5).keep_top_k(5));
  RetrievalNormalizedDCG all(RetrievalNormalizedDCGOptions().top_k(5));
  for (int i = 0; i < 10; ++i) {
    const at::Tensor target = at::arange(10'000).remainder(4);
    const at::Tensor zeros = at::zeros({10'000}, at::kLong);
    ndcg.update(zeros.to(at::kDouble), target, zeros);
    all.update(zeros.to(at::kDouble), target, zeros);
  }
  EXPECT_NEAR(ndcg.compute().item<double>(), all.compute().item<double>(),
              1e-14);
  EXPECT_LT(ndcg.state().at("preds").numel(), 25'000);
}

THREAD_RANKS_TEST(KeptDocumentsTest, OverRanks, 2, 3) {
  const auto options = RetrievalMAPOptions().top_k(kDepth);
  RetrievalMAP all(options);
  RetrievalMAP kept(RetrievalMAPOptions(options).keep_top_k(kDepth));
  for (int i = 0; i < 10 * self.rank(); ++i) {
    const Batch batch = documents(600);
    all.update(batch.preds, batch.target.clamp_min(0), batch.indexes);
    kept.update(batch.preds, batch.target.clamp_min(0), batch.indexes);
  }
  EXPECT_NEAR(all.compute().item<double>(), kept.compute().item<double>(),
              1e-13);
}

}  // namespace
}  // namespace tally
