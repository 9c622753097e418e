#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of Perplexity.
///
/// Example:
///     Perplexity perplexity(PerplexityOptions().ignore_index(-100));
struct PerplexityOptions {
  /// Tokens with this target are ignored.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
};

/// The observer of Perplexity.
class TokenLikelihood {
 public:
  static constexpr const char* kName = "TokenLikelihood";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kFloat, "logits [N, L, V]"},
      {"target", InputKind::kInteger, "int tokens [N, L], 0 to V - 1"}};
  static constexpr const char* kUnit = "text";
  using Options = PerplexityOptions;
  struct State {
    Number negative_log;
    std::int64_t total = 0;

    void fields(Fields& f) { f("negative_log", negative_log)("total", total); }
  };

  TokenLikelihood(const Options& options, const MetricOptions& metric_options)
      : ignore_index_(options.ignore_index()),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}
  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  template <class T>
  State sum_tokens(const T* logits, const std::int64_t* labels,
                   std::int64_t tokens, std::int64_t vocabulary) const;

  std::optional<std::int64_t> ignore_index_;
  NanPolicy nan_policy_;
  bool validate_;
};

/// Perplexity of a language model: the number of equally likely tokens that it
/// is as uncertain between.
///
///     exp(-mean over tokens of log softmax(preds)[target])
///
/// update(preds, target): logits [N, L, V], for V tokens at L places of N
/// sequences, float, double, half or bfloat16; target integers [N, L].
/// Result: 0-dim float64, at least 1; infinite where a token has no
/// probability; NaN without tokens.
/// State: the sum of the logarithms in float64 and the number of tokens, merged
/// by addition. Logarithms do not underflow, as those of TorchMetrics' softmax
/// do. On the CPU and without a graph they are float64, otherwise computed in
/// float32 for other preds than double.
/// NaN: propagates, as +infinity does and a token all of whose logits are
/// -infinity; NanPolicy::kIgnore skips tokens with a NaN.
/// Errors: c10::ValueError for other shapes, and for NaN with
/// NanPolicy::kError; c10::IndexError for a target that is neither in [0, V)
/// nor ignored (on a GPU with validate_args only; such a token then does not
/// count); c10::TypeError for other dtypes. Differentiable by preds. Source:
/// Jelinek et al. 1977.
///
/// Example:
///     Perplexity perplexity;
///     perplexity.update(at::randn({2, 8, 50}), at::zeros({2, 8}, at::kLong));
///     double value = perplexity.compute().item<double>();
class Perplexity final
    : public MetricOf<Perplexity, TokenLikelihood, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "Perplexity";
  static constexpr MetricSummary kSummary{
      "Exponential of the mean negative log-likelihood of tokens.",
      "[1, inf]",
      "",
      "ppl",
      R"(\exp \left( -\frac{1}{N} \sum_n \log p_n \right))",
      "Jelinek et al. 1977"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<Perplexity, TokenLikelihood, at::Tensor>;

}  // namespace tally
