#pragma once

#include <type_traits>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalERR.
struct RetrievalERROptions : TopKOptions<RetrievalERROptions> {
  /// The highest grade there is, above 0 and at most 1023.
  template <class Grade, std::enable_if_t<std::is_arithmetic_v<Grade> &&
                                              !std::is_same_v<Grade, bool>,
                                          int> = 0>
  RetrievalERROptions(Grade g_max) : g_max_(static_cast<double>(g_max)) {}
  explicit RetrievalERROptions(internal::Unset) : g_max_(0) {}

  /// Not the highest grade seen, which would depend on the data.
  TALLY_INHERITED_ARG(RetrievalERROptions, double, g_max);

 public:
  void visit(OptionVisitor& v) {
    v("g_max", g_max_, OptionRole::kValue, internal::words::kGMax);
    TopKOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The mean over queries of the expected reciprocal rank: of the document at
/// which a user stops who finds one of grade g sufficient with probability
/// (2^g - 1) / 2^g_max.
///
///     sum over ranks i up to k of 1 / i P_i prod over j < i of (1 - P_j)
///
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP. Grades
/// above g_max are an error of compute(). With TieOrder::kExpected n tied
/// documents of several grades, m of them relevant, cost min(n, k) * min(m, r):
/// after r relevant documents hardly anyone (2^-64) reads on.
/// Not differentiable. Source: Chapelle et al. 2009.
///
/// Example:
///     RetrievalERR err(RetrievalERROptions(4).top_k(20));
///     err.update(preds, target, indexes);
///     double value = err.compute().item<double>();
class RetrievalERR final : public MetricOf<RetrievalERR, JudgedDocuments,
                                           at::Tensor, RetrievalERROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalERR";
  static constexpr MetricSummary kSummary{
      "Expected reciprocal rank (ERR).",
      "[0, 1]",
      "g_max=4",
      "err, expected reciprocal rank",
      R"(\sum_k \frac{R_k}{k} \prod_{i < k} (1 - R_i))",
      "Chapelle et al. 2009"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalERR, JudgedDocuments, at::Tensor,
                               RetrievalERROptions>;

}  // namespace tally
