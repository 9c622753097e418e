#include <ATen/core/Formatting.h>
#include <gtest/gtest.h>

#include "tally/metrics/retrieval/retrieval.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/metric_harness.h"

// Values of trec_eval, of all orders of ties one by one, and every law.

namespace tally {
namespace {

/// Documents with ids: laws that are checked on the same rows twice are none
/// for them.
template <class M>
void check_ids(const testkit::FixtureCase& one) {
  SCOPED_TRACE(one.name);
  auto options = internal::unset_options<typename M::Options>();
  parse_options(options, M::kName, one.options);
  for (const int ranks : {1, 3}) {
    testkit::run_thread_ranks(
        ranks, [&](const std::shared_ptr<sync::Communicator>& group) {
          M metric(options);
          for (std::size_t i = 0; i < one.batches.size(); ++i) {
            if (static_cast<int>(i) % ranks != group->rank()) continue;
            const testkit::Batch& batch = one.batches[i];
            metric.update(batch[0].tensor(), batch[1].tensor(),
                          batch[2].tensor(), batch[3].tensor());
          }
          for (const auto& [part, value] : metric.compute_results()) {
            EXPECT_TRUE(value.allclose(one.expected.at(part), one.rtol,
                                       one.atol, /*equal_nan=*/true))
                << part << ": " << value << " for " << one.expected.at(part);
          }
        });
  }
}

template <class M>
void check() {
  testkit::HarnessOptions options;
  // Queries are added in their own order, however they came.
  options.split_rtol = 0;
  for (const testkit::FixtureCase& one : testkit::read_fixture(M::kName)) {
    if (one.batches.front().size() < 4) continue;
    options.skip_cases.insert(one.name);
    check_ids<M>(one);
  }
  EXPECT_GE(options.skip_cases.size(), 2u);
  testkit::check_metric<M>(M::kName, options);
}

TEST(RetrievalMeasuresTest, Map) { check<RetrievalMAP>(); }
TEST(RetrievalMeasuresTest, Mrr) { check<RetrievalMRR>(); }
TEST(RetrievalMeasuresTest, MeanRank) { check<RetrievalMeanRank>(); }
TEST(RetrievalMeasuresTest, Precision) { check<RetrievalPrecision>(); }
TEST(RetrievalMeasuresTest, Recall) { check<RetrievalRecall>(); }
TEST(RetrievalMeasuresTest, FallOut) { check<RetrievalFallOut>(); }
TEST(RetrievalMeasuresTest, HitRate) { check<RetrievalHitRate>(); }
TEST(RetrievalMeasuresTest, NormalizedDcg) { check<RetrievalNormalizedDCG>(); }
TEST(RetrievalMeasuresTest, RPrecision) { check<RetrievalRPrecision>(); }
TEST(RetrievalMeasuresTest, Auroc) { check<RetrievalAUROC>(); }
TEST(RetrievalMeasuresTest, Err) { check<RetrievalERR>(); }
TEST(RetrievalMeasuresTest, Rbp) { check<RetrievalRBP>(); }
TEST(RetrievalMeasuresTest, Bpref) { check<RetrievalBpref>(); }
TEST(RetrievalMeasuresTest, PrecisionRecallCurve) {
  check<RetrievalPrecisionRecallCurve>();
}
TEST(RetrievalMeasuresTest, RecallAtFixedPrecision) {
  check<RetrievalRecallAtFixedPrecision>();
}

}  // namespace
}  // namespace tally
