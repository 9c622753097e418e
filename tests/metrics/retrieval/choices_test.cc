#include <ATen/core/Formatting.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/metrics/retrieval/retrieval.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/metrics/retrieval/documents.h"
#include "tally/tests/testing/refusal.h"

// Where tools of the field differ, or are wrong: what is chosen here.

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

Documents in_order(std::vector<double> grades) {
  Documents documents;
  documents.grades = std::move(grades);
  for (std::size_t i = 0; i < documents.grades.size(); ++i) {
    documents.scores.push_back(static_cast<double>(10 - i));
  }
  return documents;
}

Documents tied(std::vector<double> grades) {
  Documents documents = in_order(std::move(grades));
  documents.scores.assign(documents.grades.size(), 0.5);
  return documents;
}

TEST(RetrievalChoicesTest, AveragePrecisionDividesByRelevantDocuments) {
  const Documents documents = in_order({1, 0, 0, 1});
  EXPECT_EQ(value_of(RetrievalMAP(RetrievalMAPOptions().top_k(2)), documents),
            0.5);
  EXPECT_EQ(value_of(RetrievalMAP(RetrievalMAPOptions().top_k(1).denominator(
                         APDenominator::kAttainable)),
                     documents),
            1);
}

TEST(RetrievalChoicesTest, PrecisionDividesByKOrByWhatIsThere) {
  const Documents documents = in_order({1, 0, 1});
  EXPECT_EQ(value_of(RetrievalPrecision(RetrievalPrecisionOptions().top_k(5)),
                     documents),
            2 / 5.0);
  EXPECT_EQ(value_of(RetrievalPrecision(
                         RetrievalPrecisionOptions().top_k(5).adaptive_k(true)),
                     documents),
            2 / 3.0);
}

TEST(RetrievalChoicesTest, BothGains) {
  const Documents documents = in_order({1, 3, 2});
  EXPECT_NEAR(value_of(RetrievalNormalizedDCG(), documents), 0.8175, 5e-5);
  EXPECT_NEAR(
      value_of(RetrievalNormalizedDCG(
                   RetrievalNormalizedDCGOptions().gain(Gain::kExponential)),
               documents),
      0.7364, 5e-5);
}

TEST(RetrievalChoicesTest, TheIdealGainIsThatOfAllJudgedDocuments) {
  const double log3 = std::log2(3);
  EXPECT_NEAR(value_of(RetrievalNormalizedDCG(),
                       {{0.5, kNotRetrieved, kNotRetrieved}, {1, 2, 0}}),
              1 / (2 + 1 / log3), 1e-15);
  // Cut at k.
  EXPECT_NEAR(
      value_of(RetrievalNormalizedDCG(RetrievalNormalizedDCGOptions().top_k(1)),
               {{0.5, kNotRetrieved}, {1, 2}}),
      0.5, 1e-15);
}

TEST(RetrievalChoicesTest, PerfectRankingsAreExactlyOne) {
  const Documents documents = in_order({3, 3, 2, 2, 1, 1, 1, 0, 0});
  EXPECT_EQ(value_of(RetrievalNormalizedDCG(), documents), 1);
  EXPECT_EQ(value_of(RetrievalMAP(), documents), 1);
  EXPECT_EQ(value_of(RetrievalAUROC(), documents), 1);
  EXPECT_EQ(value_of(RetrievalNormalizedDCG(), tied({3, 3, 3, 3, 3})), 1);
}

TEST(RetrievalChoicesTest, GradesBelowZeroAreAnError) {
  EXPECT_THAT(refusal_of([] {
                value_of(RetrievalNormalizedDCG(), in_order({1, -1}));
              }),
              HasSubstr("expected target from 0 to"));
}

TEST(RetrievalChoicesTest, BprefWithoutOtherDocumentsIsThatOfPerfectOnes) {
  EXPECT_EQ(value_of(RetrievalBpref(), in_order({1, 1})), 1);
  // Terms 1 and 1 - 1 / 2.
  EXPECT_EQ(value_of(RetrievalBpref(), in_order({1, 0, 1, 0})), 0.75);
}

TEST(RetrievalChoicesTest, ExpectedReciprocalRankNeedsTheHighestGrade) {
  const Documents documents = in_order({1, 3, 2});
  EXPECT_NEAR(value_of(RetrievalERR(4), documents), 0.3005, 5e-5);
  EXPECT_NEAR(value_of(RetrievalERR(3), documents), 0.5215, 5e-5);
  EXPECT_EQ(refusal_of([&] { value_of(RetrievalERR(2), documents); }),
            "RetrievalERR: expected grades of at most g_max=2, got 3");
}

TEST(RetrievalChoicesTest, RankBiasedPrecisionHasAResidual) {
  RetrievalRBP rbp(
      RetrievalRBPOptions().persistence(0.5).g_max(2).unjudged(-1));
  const Documents documents = in_order({2, -1, 1});
  rbp.update(documents.preds(), documents.target(), documents.indexes());
  const auto [value, residual] = rbp.compute();
  EXPECT_EQ(value.item<double>(), 0.5 * (1 + 0.25 / 2));
  EXPECT_EQ(residual.item<double>(), 0.125 + 0.5 * 0.5);
  EXPECT_THAT(refusal_of([&] {
                value_of(RetrievalRBP(), in_order({2, 0}));
              }),
              HasSubstr("g_max=1, got 2"));
}

TEST(RetrievalChoicesTest, AurocLooksAtTheBestK) {
  const Documents documents = in_order({1, 0, 0, 1, 0, 0});
  const auto at = [&](std::int64_t k, EmptyTargetAction action) {
    return value_of(
        RetrievalAUROC(
            RetrievalAUROCOptions().top_k(k).empty_target_action(action)),
        documents);
  };
  EXPECT_EQ(at(4, EmptyTargetAction::kNegative), 0.5);
  // Of one kind alone there is no curve.
  EXPECT_EQ(at(1, EmptyTargetAction::kNegative), 0);
  EXPECT_EQ(at(1, EmptyTargetAction::kPositive), 1);
  EXPECT_TRUE(std::isnan(at(1, EmptyTargetAction::kSkip)));
  EXPECT_THAT(refusal_of([&] { at(1, EmptyTargetAction::kError); }),
              HasSubstr("query 0 has none"));
}

TEST(RetrievalChoicesTest, FallOutIsOfDocumentsThatAreNotRelevant) {
  const auto at = [&](std::int64_t k, std::vector<double> grades) {
    return value_of(RetrievalFallOut(RetrievalFallOutOptions().top_k(k)),
                    in_order(std::move(grades)));
  };
  EXPECT_EQ(at(2, {1, 0, 0, 0}), 1 / 3.0);
  // Without any the default action is "pos".
  EXPECT_EQ(at(2, {1, 1}), 1);
}

TEST(RetrievalChoicesTest, ScoresOfZeroAndLessAreScoresLikeOthers) {
  const Documents documents{{-1, -2, -3}, {1, 0, 0}};
  EXPECT_EQ(value_of(RetrievalMAP(), documents), 1);
  EXPECT_EQ(value_of(RetrievalMRR(), documents), 1);
  EXPECT_EQ(value_of(RetrievalRecall(), documents), 1);
  EXPECT_EQ(value_of(RetrievalPrecision(RetrievalPrecisionOptions().top_k(1)),
                     documents),
            1);
}

TEST(RetrievalChoicesTest, Float64ScoresAreNotRounded) {
  EXPECT_EQ(value_of(RetrievalMAP(), {{1.00000001, 1}, {0, 1}}), 0.5);
  EXPECT_EQ(value_of(RetrievalMAP(), {{1.00000001, 1}, {1, 0}}), 1);
}

TEST(RetrievalChoicesTest, NanScoresAreAnErrorOrLeftOut) {
  const Documents documents{{0.5, std::nan(""), 0.25}, {0, 0, 1}};
  EXPECT_EQ(refusal_of([&] { value_of(RetrievalMAP(), documents); }),
            "expected preds without NaN, got one at position 1 "
            "(RetrievalMAP)");
  EXPECT_EQ(
      value_of(RetrievalMAP({}, MetricOptions().nan_policy(NanPolicy::kIgnore)),
               documents),
      0.5);
}

TEST(RetrievalChoicesTest, ABatchOfIgnoredDocumentsChangesNothing) {
  RetrievalMAP map(RetrievalMAPOptions().ignore_index(-100));
  const Documents documents = in_order({0, 1});
  map.update(documents.preds(), documents.target(), documents.indexes());
  map.update(documents.preds(), at::full({2}, -100.0, at::kDouble),
             documents.indexes());
  EXPECT_EQ(map.compute().item<double>(), 0.5);
  map.update(at::zeros({0}, at::kDouble), at::zeros({0}, at::kDouble),
             at::zeros({0}, at::kLong));
  EXPECT_EQ(map.compute().item<double>(), 0.5);
}

TEST(RetrievalChoicesTest, IndexesAreAnyIntegers) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  RetrievalMRR mrr(RetrievalMRROptions().aggregation(QueryAggregation::kNone));
  mrr.update(at::tensor({3.0, 2.0, 1.0, 3.0, 2.0, 1.0}, at::kDouble),
             at::tensor({0, 0, 1, 1, 0, 1}, at::kLong),
             at::tensor({kMost, kLeast, kMost, -5L, kLeast, 1000000000000L},
                        at::kLong));
  EXPECT_TRUE(
      mrr.compute().equal(at::tensor({0.0, 1.0, 1.0, 0.5}, at::kDouble)))
      << mrr.compute();
}

TEST(RetrievalChoicesTest, QueriesWithoutRelevantDocuments) {
  RetrievalMAPOptions options;
  const auto value = [&](EmptyTargetAction action) {
    RetrievalMAP map(RetrievalMAPOptions().empty_target_action(action));
    map.update(at::tensor({2.0, 1.0, 2.0}, at::kDouble),
               at::tensor({0, 1, 0}, at::kLong),
               at::tensor({4, 4, 7}, at::kLong));
    return map.compute().item<double>();
  };
  EXPECT_EQ(value(EmptyTargetAction::kNegative), 0.25);
  EXPECT_EQ(value(EmptyTargetAction::kPositive), 0.75);
  EXPECT_EQ(value(EmptyTargetAction::kSkip), 0.5);
  EXPECT_EQ(refusal_of([&] { value(EmptyTargetAction::kError); }),
            "RetrievalMAP: expected every query to have a relevant document, "
            "query 7 has none (empty_target_action=error)");
}

// No rank and no batch has a whole query.
THREAD_RANKS_TEST(RetrievalChoicesTest, EmptyQueriesAreKnownAfterTheMerge, 2,
                  3) {
  RetrievalMAP map(
      RetrievalMAPOptions().empty_target_action(EmptyTargetAction::kError));
  const bool is_first = self.rank() == 0;
  for (const std::int64_t query : {1, 2}) {
    map.update(at::tensor({is_first ? 0.9 : 0.1}, at::kDouble),
               at::tensor({is_first ? 0 : 1}, at::kLong),
               at::tensor({query}, at::kLong));
  }
  EXPECT_GT(map.compute().item<double>(), 0);
  map.update(at::tensor({0.5}, at::kDouble), at::tensor({0}, at::kLong),
             at::tensor({3}, at::kLong));
  // On every rank, and none waits for another.
  EXPECT_THAT(refusal_of([&] { map.compute(); }),
              HasSubstr("query 3 has none"));
  map.update(at::tensor({0.5}, at::kDouble), at::tensor({1}, at::kLong),
             at::tensor({3}, at::kLong));
  EXPECT_GT(map.compute().item<double>(), 0);
}

TEST(RetrievalChoicesTest, JudgedQueriesThatWereNotRunCountAsZero) {
  const Documents documents{{kNotRetrieved, kNotRetrieved}, {1, 0}};
  EXPECT_EQ(value_of(RetrievalMAP(), documents), 0);
  EXPECT_EQ(value_of(RetrievalPrecision(), documents), 0);
  EXPECT_EQ(value_of(RetrievalNormalizedDCG(), documents), 0);
}

TEST(RetrievalChoicesTest, RelevantDocumentsThatWereNotRetrieved) {
  const Documents documents{{0.9, kNotRetrieved, 0.5}, {1, 1, 0}};
  EXPECT_EQ(value_of(RetrievalMAP(), documents), 0.5);
  EXPECT_EQ(value_of(RetrievalRecall(), documents), 0.5);
  EXPECT_EQ(value_of(RetrievalRPrecision(), documents), 0.5);
  EXPECT_EQ(value_of(RetrievalPrecision(), documents), 0.5);
  // One that is not relevant is among all of them, too.
  EXPECT_EQ(value_of(RetrievalFallOut(RetrievalFallOutOptions().top_k(1)),
                     {{0.9, kNotRetrieved}, {0, 0}}),
            0.5);
}

TEST(RetrievalChoicesTest, DocumentsThatAreNotJudged) {
  const Documents documents = in_order({-1, 0, 1});
  EXPECT_EQ(
      value_of(RetrievalMRR(RetrievalMRROptions().unjudged(-1)), documents),
      1 / 3.0);
  EXPECT_EQ(
      value_of(RetrievalMRR(RetrievalMRROptions().unjudged(-1).condensed(true)),
               documents),
      0.5);
  // Not above anything for bpref, nor among what fall-out is of.
  EXPECT_EQ(value_of(RetrievalBpref(RetrievalBprefOptions().unjudged(-1)),
                     in_order({-1, 1, 0})),
            1);
  EXPECT_EQ(value_of(RetrievalFallOut(
                         RetrievalFallOutOptions().unjudged(-1).top_k(1)),
                     documents),
            0);
}

TEST(RetrievalChoicesTest, TheSameDocumentTwice) {
  const Documents documents = in_order({1, 1, 0});
  EXPECT_EQ(
      value_of(RetrievalRecall(RetrievalRecallOptions().top_k(1)), documents),
      0.5);
  EXPECT_EQ(refusal_of([&] {
              value_of(RetrievalRecall(), documents, {5, 6, 5});
            }),
            "expected each document of a query once, got doc_id 5 of query 0 "
            "twice");
}

TEST(RetrievalChoicesTest, TiesByIdAreTrecEvals) {
  // a < b < c, the first relevant: it comes last.
  const Documents documents = tied({1, 0, 0});
  const auto by_ids = RetrievalMAPOptions().ties(TieOrder::kIds);
  EXPECT_EQ(value_of(RetrievalMAP(by_ids), documents, {1, 2, 3}), 1 / 3.0);
  EXPECT_EQ(value_of(RetrievalNormalizedDCG(
                         RetrievalNormalizedDCGOptions().ties(TieOrder::kIds)),
                     documents, {1, 2, 3}),
            0.5);
  EXPECT_EQ(refusal_of([&] { value_of(RetrievalMAP(by_ids), documents); }),
            "expected doc_ids with ties=ids, got none (RetrievalMAP)");
}

TEST(RetrievalChoicesTest, TiesAreTheMeanOfAllOrders) {
  const Documents documents = tied({1, 0, 0});
  EXPECT_NEAR(value_of(RetrievalMAP(), documents), (1 + 0.5 + 1 / 3.0) / 3,
              1e-15);
  EXPECT_NEAR(value_of(RetrievalNormalizedDCG(), documents), 0.710, 5e-4);
  EXPECT_NEAR(value_of(RetrievalMAP(), tied({1, 0})), 0.75, 1e-15);
  EXPECT_EQ(value_of(RetrievalAUROC(), documents), 0.5);
  EXPECT_NEAR(
      value_of(RetrievalHitRate(RetrievalHitRateOptions().top_k(1)), documents),
      1 / 3.0, 1e-15);
  EXPECT_EQ(value_of(RetrievalMAP(), {{0.0, -0.0}, {0, 1}}), 0.75);
}

TEST(RetrievalChoicesTest, TheWorstAndTheBestOrderOfTies) {
  const Documents documents = tied({1, 0, 0});
  const auto map = [&](TieOrder ties) {
    return value_of(RetrievalMAP(RetrievalMAPOptions().ties(ties)), documents);
  };
  EXPECT_EQ(map(TieOrder::kPessimistic), 1 / 3.0);
  EXPECT_EQ(map(TieOrder::kOptimistic), 1);
  const auto fall_out = [&](TieOrder ties) {
    return value_of(
        RetrievalFallOut(RetrievalFallOutOptions().top_k(1).ties(ties)),
        documents);
  };
  EXPECT_EQ(fall_out(TieOrder::kPessimistic), 0.5);
  EXPECT_EQ(fall_out(TieOrder::kOptimistic), 0);
}

TEST(RetrievalChoicesTest, TheMedianIsTheLowerOfTwo) {
  RetrievalMRR mrr(
      RetrievalMRROptions().aggregation(QueryAggregation::kMedian));
  mrr.update(at::tensor({2.0, 1.0, 2.0, 1.0}, at::kDouble),
             at::tensor({1, 0, 0, 1}, at::kLong),
             at::tensor({0, 0, 1, 1}, at::kLong));
  EXPECT_EQ(mrr.compute().item<double>(), 0.5);
}

TEST(RetrievalChoicesTest, WithoutQueriesThereIsNoValue) {
  EXPECT_TRUE(std::isnan(RetrievalMAP().compute().item<double>()));
  EXPECT_EQ(
      RetrievalMAP(RetrievalMAPOptions().aggregation(QueryAggregation::kNone))
          .compute()
          .numel(),
      0);
  EXPECT_EQ(RetrievalPrecisionRecallCurve().compute().precision.numel(), 0);
  const auto curve = RetrievalPrecisionRecallCurve(
                         RetrievalPrecisionRecallCurveOptions().max_k(3))
                         .compute();
  EXPECT_TRUE(curve.recall.isnan().all().item<bool>());
  EXPECT_EQ(curve.top_k.numel(), 3);
  const auto best = RetrievalRecallAtFixedPrecision().compute();
  EXPECT_TRUE(std::isnan(best.recall.item<double>()));
  EXPECT_EQ(best.top_k.item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace tally
