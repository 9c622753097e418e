#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/metrics/collection.h"
#include "tally/metrics/retrieval/retrieval.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/metrics/retrieval/documents.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

const std::vector<double> kScores = {0.9, 0.8, 0.7};

struct Inputs {
  at::Tensor preds = at::tensor(kScores, at::kDouble);
  at::Tensor target = at::tensor({0, 1, 0}, at::kLong);
  at::Tensor indexes = at::tensor({0, 0, 1}, at::kLong);
  at::Tensor doc_ids;
};

template <class Error = c10::ValueError>
std::string refused(Inputs inputs) {
  RetrievalMAP map(RetrievalMAPOptions().unjudged(-1));
  map.update(at::tensor({0.5}, at::kDouble), at::tensor({1}, at::kLong),
             at::tensor({0}, at::kLong));
  const auto text = refusal_of<Error>([&] {
    map.update(inputs.preds, inputs.target, inputs.indexes, inputs.doc_ids);
  });
  EXPECT_EQ(map.update_count(), 1);
  EXPECT_EQ(map.compute().item<double>(), 1);
  return text;
}

TEST(JudgedDocumentsTest, BadInputsAreNamedAndChangeNothing) {
  Inputs inputs;
  inputs.indexes = at::tensor({0.0, 0.0, 1.0}, at::kDouble);
  EXPECT_EQ(refused<c10::TypeError>(inputs),
            "expected indexes of an integer dtype, got Double (RetrievalMAP)");
  inputs.indexes = inputs.indexes.to(at::kBool);
  EXPECT_EQ(refused<c10::TypeError>(inputs),
            "expected indexes of an integer dtype, got Bool (RetrievalMAP)");
  inputs = Inputs();
  inputs.preds = at::tensor({1, 2, 3}, at::kLong);
  EXPECT_THAT(refused<c10::TypeError>(inputs),
              HasSubstr("expected preds of a floating-point dtype"));
  inputs = Inputs();
  inputs.target = at::tensor({0, -2, 1}, at::kLong);
  EXPECT_EQ(refused(inputs),
            "expected target from 0 to 1.67772e+07, or unjudged, got -2 at "
            "position 1 (RetrievalMAP)");
  inputs.target = at::tensor({0, 1, 1 << 24}, at::kLong);
  EXPECT_THAT(refused(inputs), HasSubstr("at position 2"));
  inputs.target = at::tensor({0.0, 1.0, kNotRetrieved}, at::kDouble);
  EXPECT_THAT(refused(inputs), HasSubstr("got -inf at position 2"));
  inputs.target = at::full({3}, std::nan(""), at::kDouble);
  EXPECT_THAT(refused(inputs), HasSubstr("got nan at position 0"));
  inputs = Inputs();
  inputs.preds = at::full({3}, std::nan(""), at::kFloat);
  EXPECT_THAT(refused(inputs), HasSubstr("expected preds without NaN"));
  inputs = Inputs();
  inputs.indexes = at::zeros({4}, at::kLong);
  EXPECT_THAT(refused(inputs),
              HasSubstr("expected preds and indexes of the same shape"));
  inputs = Inputs();
  inputs.doc_ids = at::zeros({4}, at::kLong);
  EXPECT_THAT(refused(inputs),
              HasSubstr("expected preds and doc_ids of the same shape"));
  inputs.doc_ids = at::zeros({3}, at::kFloat);
  EXPECT_EQ(refused<c10::TypeError>(inputs),
            "expected doc_ids of an integer dtype, got Float (RetrievalMAP)");
  inputs = Inputs();
  inputs.preds = inputs.preds.to(at::kFloat);
  EXPECT_THAT(refused(inputs), HasSubstr("preds"));
}

TEST(JudgedDocumentsTest, DocIdsAreOfAllDocumentsOrOfNone) {
  RetrievalMAP map;
  const Inputs inputs;
  map.update(inputs.preds, inputs.target, inputs.indexes);
  map.update(inputs.preds, inputs.target, inputs.indexes,
             at::tensor({1, 2, 3}, at::kLong));
  EXPECT_THAT(refusal_of([&] { map.compute(); }),
              HasSubstr("doc_ids for all of them or for none"));
}

TEST(JudgedDocumentsTest, ShapesAndDtypesDoNotMatter) {
  const at::Tensor preds = at::tensor({4.0, 3.0, 2.0, 1.0}, at::kDouble);
  const at::Tensor target = at::tensor({0, 1, 1, 0}, at::kLong);
  const at::Tensor indexes = at::tensor({1, 1, 2, 2}, at::kLong);
  for (const at::ScalarType scores :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const at::ScalarType grades :
         {at::kBool, at::kByte, at::kInt, at::kLong, at::kFloat, at::kDouble,
          at::kHalf}) {
      for (const at::ScalarType queries :
           {at::kByte, at::kShort, at::kInt, at::kLong}) {
        RetrievalMAP map;
        map.update(preds.to(scores).view({2, 2}),
                   target.to(grades).view({2, 2}),
                   indexes.to(queries).view({2, 2}));
        EXPECT_EQ(map.compute().item<double>(), 0.75);
      }
    }
  }
}

TEST(JudgedDocumentsTest, InputsByName) {
  MetricCollection metrics;
  metrics.add("map", RetrievalMAP());
  metrics.add("ndcg", RetrievalNormalizedDCG());
  const Inputs inputs;
  metrics.update({{"indexes", inputs.indexes},
                  {"target", inputs.target},
                  {"preds", inputs.preds}});
  EXPECT_EQ(metrics.compute().at("map").item<double>(), 0.25);
}

MetricCollection family() {
  MetricCollection metrics;
  metrics.add("map", RetrievalMAP());
  metrics.add("mrr", RetrievalMRR());
  metrics.add("p", RetrievalPrecision(RetrievalPrecisionOptions().top_k(10)));
  metrics.add("recall", RetrievalRecall(RetrievalRecallOptions().top_k(10)));
  metrics.add("fall_out",
              RetrievalFallOut(RetrievalFallOutOptions().top_k(10)));
  metrics.add("hits", RetrievalHitRate(RetrievalHitRateOptions().top_k(10)));
  metrics.add("ndcg", RetrievalNormalizedDCG());
  metrics.add("r_precision", RetrievalRPrecision());
  metrics.add(
      "bpref",
      RetrievalBpref(RetrievalBprefOptions().ties(TieOrder::kPessimistic)));
  return metrics;
}

THREAD_RANKS_TEST(JudgedDocumentsTest, OneStateAndTwoCollectivesForAFamily, 1,
                  2, 3) {
  MetricCollection metrics = family();
  EXPECT_EQ(metrics.groups().size(), 1u);
  for (int batch = 0; batch < 50; ++batch) {
    metrics.update(at::rand({500}), at::randint(2, {500}, at::kLong),
                   at::randint(40, {500}, at::kLong));
  }
  const std::int64_t before = self.group()->collectives();
  const Results results = metrics.compute();
  EXPECT_EQ(self.group()->collectives(), before + (self.size() > 1 ? 2 : 0));
  EXPECT_EQ(results.size(), 9u);
}

TEST(JudgedDocumentsTest, DocumentsAreRankedOnceForAllWhoReadThem) {
  const Inputs inputs;
  const auto state =
      RetrievalMAP().observe(inputs.preds, inputs.target, inputs.indexes);
  const auto ranked = state.ranked();
  EXPECT_EQ(state.ranked(), ranked);
  // Not after they have changed, nor for a copy, which may go on differently.
  EXPECT_NE(DocumentState(state).ranked(), ranked);
  inputs.preds.neg_();
  EXPECT_NE(state.ranked(), ranked);
  EXPECT_EQ(
      RetrievalMRR(RetrievalMRROptions().aggregation(QueryAggregation::kMax))
          .evaluate(state)
          .item<double>(),
      1);

  RetrievalMAP map;
  map.update(inputs.preds, inputs.target, inputs.indexes);
  map.compute();
  map.update(inputs.preds, inputs.target, at::full({3}, 7, at::kLong));
  EXPECT_NEAR(map.compute().item<double>(), (1 + 0 + 0.5) / 3, 1e-15);
  map.reset();
  map.update(inputs.preds, inputs.target, inputs.indexes);
  EXPECT_EQ(map.compute().item<double>(), 0.5);
}

// The order of rows, and how many queries a thread gets, are not in the bits.
TEST(JudgedDocumentsTest, AnyOrderGivesTheSameBits) {
  const std::int64_t count = 20'000;
  const at::Tensor preds = at::rand({count}).mul(64).floor();
  const at::Tensor target =
      at::rand({count}, at::kDouble).sub(0.5).clamp_min(0);
  const at::Tensor indexes = at::randint(1000, {count}, at::kLong);
  const auto value = [&](const at::Tensor& order) {
    MetricCollection metrics = family();
    for (const at::Tensor& some : order.chunk(7)) {
      metrics.update(preds.index_select(0, some), target.index_select(0, some),
                     indexes.index_select(0, some));
    }
    return metrics.compute();
  };
  const Results expected = value(at::arange(count));
  for (int i = 0; i < 3; ++i) {
    const Results results = value(at::randperm(count, at::kLong));
    for (const auto& [name, tensor] : results) {
      EXPECT_TRUE(tensor.equal(expected.at(name))) << name;
    }
  }
}

TEST(JudgedDocumentsTest, OptionsThatDoNotFit) {
  const auto error = [](RetrievalMAPOptions options) {
    return refusal_of([&] { RetrievalMAP map(options); });
  };
  EXPECT_EQ(error(RetrievalMAPOptions().top_k(0)),
            "RetrievalMAP: expected top_k to be at least 1, got 0");
  EXPECT_EQ(error(RetrievalMAPOptions().unjudged(3).ignore_index(3)),
            "RetrievalMAP: expected ignore_index and unjudged to differ, got 3 "
            "twice");
  EXPECT_THAT(error(RetrievalMAPOptions().condensed(true)),
              HasSubstr("expected unjudged"));
  EXPECT_EQ(error(RetrievalMAPOptions().keep_top_k(-1)),
            "RetrievalMAP: expected keep_top_k to be at least 1, got -1");
  EXPECT_EQ(error(RetrievalMAPOptions().keep_top_k(5)),
            "RetrievalMAP: expected top_k with keep_top_k=5");
  EXPECT_EQ(error(RetrievalMAPOptions().keep_top_k(5).top_k(6)),
            "RetrievalMAP: expected top_k of at most keep_top_k=5, got 6");
  EXPECT_THAT(
      error(RetrievalMAPOptions().keep_top_k(5).top_k(5).ties(TieOrder::kIds)),
      HasSubstr("expected ties other than ids"));
  EXPECT_THAT(refusal_of([] {
                RetrievalBpref bpref(RetrievalBprefOptions().keep_top_k(5));
              }),
              HasSubstr("needs whole rankings"));
  EXPECT_THAT(
      refusal_of([] {
        RetrievalRPrecision metric(RetrievalRPrecisionOptions().keep_top_k(5));
      }),
      HasSubstr("needs whole rankings"));
  for (const double max_fpr : {0.0, 1.5, std::nan("")}) {
    EXPECT_THAT(
        refusal_of([&] {
          RetrievalAUROC auroc(RetrievalAUROCOptions().max_fpr(max_fpr));
        }),
        HasSubstr("expected max_fpr in (0, 1]"));
  }
  for (const double g_max : {0.0, 1024.0, std::nan("")}) {
    EXPECT_THAT(refusal_of([&] { RetrievalERR err(g_max); }),
                HasSubstr("expected g_max above 0"));
  }
  for (const double p : {0.0, 1.0, std::nan("")}) {
    EXPECT_THAT(refusal_of([&] {
                  RetrievalRBP rbp(RetrievalRBPOptions().persistence(p));
                }),
                HasSubstr("expected persistence in (0, 1)"));
  }
  EXPECT_THAT(
      refusal_of([] { RetrievalRBP rbp(RetrievalRBPOptions().g_max(0)); }),
      HasSubstr("expected g_max above 0"));
  EXPECT_THAT(refusal_of([] {
                RetrievalPrecisionRecallCurve curve(
                    RetrievalPrecisionRecallCurveOptions().max_k(1 << 21));
              }),
              HasSubstr("expected max_k of at most 1048576"));
  EXPECT_THAT(refusal_of([] {
                RetrievalRecallAtFixedPrecision recall(
                    RetrievalRecallAtFixedPrecisionOptions().min_precision(2));
              }),
              HasSubstr("expected min_precision in [0, 1]"));
}

TEST(JudgedDocumentsTest, GradesThatNoGainCanHold) {
  RetrievalNormalizedDCG ndcg(
      RetrievalNormalizedDCGOptions().gain(Gain::kExponential));
  ndcg.update(at::tensor({1.0}, at::kDouble), at::tensor({2000}, at::kLong),
              at::tensor({0}, at::kLong));
  EXPECT_EQ(refusal_of([&] { ndcg.compute(); }),
            "RetrievalNormalizedDCG: expected grades of at most 1023 with "
            "gain=exponential, got 2000");
}

}  // namespace
}  // namespace tally
