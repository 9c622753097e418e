#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/text/kernels/text_notes.h"
#include "tally/metrics/text/options/bleu_tokenizer.h"
#include "tally/metrics/text/states/reference_counts.h"
#include "tally/metrics/text_list.h"
#include "tally/state/fields.h"

namespace tally {

/// The precision of n-grams of which none matches, or of all but the first
/// order.
enum class BleuSmoothing {
  kExp,    ///< 1 / (2^k total) for the k-th order without a match (NIST)
  kFloor,  ///< smooth_value / total for an order without a match
  kAddK,   ///< smooth_value more matches and n-grams from the second order on
  kNone,   ///< 0, and so is the score
};

template <>
struct EnumNames<BleuSmoothing> {
  static constexpr const char* kNames[] = {"exp", "floor", "add-k", "none"};
};

namespace internal::text {

/// How BLEU is computed from counts.
struct BleuRule {
  std::int64_t orders;
  BleuSmoothing smoothing;
  double smooth_value;
  bool effective_order;
  std::vector<double> weights;  // of the orders; empty: equal ones
};

/// Throws c10::ValueError for n_gram below 1, and for weights that are not as
/// many, below 0, not finite or all 0.
void check_bleu_orders(const char* metric, std::int64_t n_gram,
                       const std::vector<double>& weights);

}  // namespace internal::text

/// Counts the n-grams of hypotheses, and how many of them references have: the
/// observer of BLEUScore and SacreBLEUScore.
class BleuCounts {
 public:
  static constexpr const char* kName = "BleuCounts";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "hypotheses, one text per row"},
      {"target", InputKind::kTextLists, "references, one or more per row"}};
  static constexpr const char* kUnit = "text";

  struct State {
    at::Tensor matches;  ///< int64 [n_gram]: n-grams that references have
    at::Tensor totals;   ///< int64 [n_gram]: n-grams of the hypotheses
    std::int64_t preds_len = 0;   ///< tokens of the hypotheses
    std::int64_t target_len = 0;  ///< tokens of the closest references
    ReferenceCounts references;
    Note unsplit{internal::text::kUnsplit};

    void fields(Fields& f) {
      f("matches", matches)("totals", totals);
      f("preds_len", preds_len)("target_len", target_len);
      references.fields(f);
      f(unsplit);
    }
    static State merge(const State& a, const State& b);
  };

  template <class Options>
  BleuCounts(const Options& options, const MetricOptions&)
      : n_gram_(options.n_gram()),
        tokenizer_(options.tokenize()),
        lowercase_(options.lowercase()) {}

  State observe(const TextList& preds, const TextLists& target) const;

 private:
  std::int64_t n_gram_;
  BleuTokenizer tokenizer_;
  bool lowercase_;
};

namespace internal::text {

/// In [0, 1]; 0 for no n-grams at all.
double bleu(const BleuCounts::State& state, const BleuRule& rule);

}  // namespace internal::text

}  // namespace tally
