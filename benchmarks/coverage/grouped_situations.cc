#include "tally/benchmarks/coverage/grouped_situations.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include <memory>
#include <string>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/retrieval/retrieval_hit_rate.h"
#include "tally/metrics/retrieval/retrieval_map.h"
#include "tally/metrics/retrieval/retrieval_mrr.h"
#include "tally/metrics/retrieval/retrieval_normalized_dcg.h"

namespace tally::coverage {
namespace {

// Queries of `documents` documents each, whose difficulty varies.
Rows ranked(std::int64_t queries, std::int64_t documents, double relevant) {
  const at::Tensor indexes = at::arange(queries).repeat_interleave(documents);
  const at::Tensor target =
      uniform({queries * documents}).lt(relevant).to(at::kLong);
  const at::Tensor skill = uniform({queries}).mul(2).index_select(0, indexes);
  return {normal({queries * documents}) + skill * target, target, indexes};
}

double ranked_truth(OwnedMetric metric, std::int64_t documents,
                    double relevant) {
  const std::unique_ptr<Metric> many = metric.take("truth");
  for (int part = 0; part < 10; ++part) {
    Rows rows = ranked(2000, documents, relevant);
    many->update(rows.preds, rows.target, rows.other + 2000 * part);
  }
  return many->number();
}

}  // namespace

void groups(const Choice& choice) {
  for (const std::int64_t count : {3, 5, 8, 10, 20, 50, 200}) {
    const at::Tensor ids = at::arange(count).repeat_interleave(10);
    const std::string rest = std::to_string(count) + " groups of 10";
    measure_intervals(
        choice,
        {"accuracy .9, " + rest, 0.9,
         [] { return OwnedMetric(BinaryAccuracy()); },
         [=] {
           const at::Tensor right =
               uniform({10 * count})
                   .lt(beta(4.5, 0.5, count).repeat_interleave(10));
           return Rows{right.to(at::kLong), at::full({10 * count}, 1), {}, ids};
         }});
    measure_intervals(
        choice,
        {"MSE 2, " + rest, 2, [] { return OwnedMetric(MeanSquaredError()); },
         [=] {
           const at::Tensor errors =
               normal({count}).repeat_interleave(10) + normal({10 * count});
           return Rows{errors, at::zeros_like(errors), {}, ids};
         }});
  }
  // One group of 200 rows, and 19 of 5.
  const at::Tensor ids =
      at::cat({at::full({200}, 0), at::arange(1, 20).repeat_interleave(5)});
  measure_intervals(choice,
                    {"MSE 2, a group of 200 and 19 of 5", 2,
                     [] { return OwnedMetric(MeanSquaredError()); },
                     [=] {
                       const at::Tensor errors =
                           normal({20}).index_select(0, ids) + normal({295});
                       return Rows{errors, at::zeros_like(errors), {}, ids};
                     }});
}

void retrieval(const Choice& choice) {
  const auto measure = [&](const char* name, const auto& make,
                           std::int64_t queries, std::int64_t documents,
                           double relevant) {
    const std::string whole = std::string(name) + ", " +
                              std::to_string(queries) + " queries of " +
                              std::to_string(documents);
    if (!choice.includes(whole)) return;
    measure_intervals(choice,
                      {whole, ranked_truth(make(), documents, relevant), make,
                       [=] { return ranked(queries, documents, relevant); }});
  };
  const auto map = [] { return OwnedMetric(RetrievalMAP()); };
  const auto ndcg = [] { return OwnedMetric(RetrievalNormalizedDCG()); };
  const auto mrr = [] { return OwnedMetric(RetrievalMRR()); };
  measure("MAP", map, 20, 10, 0.3);
  measure("MAP", map, 20, 200, 0.3);
  measure("NDCG", ndcg, 20, 10, 0.3);
  measure("NDCG", ndcg, 200, 10, 0.3);
  measure("MRR", mrr, 50, 10, 0.3);
  // One relevant document of 5, first in 97 % of queries.
  measure_intervals(
      choice, {"hit rate .97, 50 queries", 0.97,
               [] {
                 return OwnedMetric(
                     RetrievalHitRate(RetrievalHitRateOptions().top_k(1)));
               },
               [] {
                 const at::Tensor indexes = at::arange(50).repeat_interleave(5);
                 const at::Tensor places = at::arange(250).remainder(5);
                 const at::Tensor hit =
                     uniform({50}).lt(0.97).repeat_interleave(5).to(at::kLong);
                 return Rows{places.to(at::kDouble),
                             places.eq(hit.mul(3).add(1)).to(at::kLong),
                             indexes};
               }});
}

}  // namespace tally::coverage
