#include "tally/metrics/features/bert_score.h"

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <limits>

#include "tally/metrics/checks.h"
#include "tally/metrics/features/inputs/pairs.h"

namespace tally {
namespace {

// Embeddings of length 1, which of them are tokens, and their weights.
struct Tokens {
  at::Tensor directions;  // [N, L, D]
  at::Tensor mask;        // bool [N, L]
  at::Tensor weight;      // [N, L]; 0 where masked
};

void check_embeddings(const char* input, const at::Tensor& embeddings) {
  internal::check_real(input, embeddings);
  TORCH_CHECK_VALUE(embeddings.dim() == 3, "expected ", input,
                    " of shape [N, tokens, D], got ", embeddings.sizes());
}

void check_tokens(const char* input, const at::Tensor& values,
                  const at::Tensor& embeddings) {
  internal::check_real(input, values);
  TORCH_CHECK_VALUE(values.sizes() == embeddings.sizes().slice(0, 2),
                    "expected ", input, " of shape ",
                    embeddings.sizes().slice(0, 2),
                    ", one for each token, got ", values.sizes());
}

void check_mask(const char* input, const at::Tensor& mask,
                const at::Tensor& embeddings, bool validate) {
  if (!mask.defined()) return;
  internal::check_integral(input, mask);
  check_tokens(input, mask, embeddings);
  if (!validate) return;
  TORCH_CHECK_VALUE(mask.eq(0).logical_or(mask.eq(1)).all().item().toBool(),
                    "expected ", input, " of 0 and 1, got other values");
}

void check_weight(const char* input, const at::Tensor& weight,
                  const at::Tensor& embeddings, bool validate) {
  if (!weight.defined()) return;
  check_tokens(input, weight, embeddings);
  if (!validate) return;
  const at::Tensor wide = weight.detach().to(at::kDouble);
  TORCH_CHECK_VALUE(
      wide.ge(0).logical_and(wide.isfinite()).all().item().toBool(),
      "expected ", input, " of finite numbers of at least 0, got others");
}

Tokens tokens_of(const at::Tensor& embeddings, const at::Tensor& mask,
                 const at::Tensor& weight) {
  const at::Tensor wide = embeddings.detach().to(at::kDouble);
  const auto sizes = wide.sizes().slice(0, 2);
  Tokens tokens;
  tokens.mask = mask.defined()
                    ? mask.to(wide.device()).ne(0)
                    : at::ones(sizes, wide.options().dtype(at::kBool));
  const at::Tensor inside =
      wide.masked_fill(tokens.mask.logical_not().unsqueeze(2), 0);
  const at::Tensor lengths = inside.square().sum(2, /*keepdim=*/true).sqrt();
  tokens.directions = inside.div(lengths.masked_fill(lengths.eq(0), 1));
  tokens.weight =
      (weight.defined() ? weight.detach().to(wide.device(), at::kDouble)
                        : at::ones(sizes, wide.options()))
          .mul(tokens.mask);
  return tokens;
}

// [N]: the weighted mean of the best similarities [N, L, M] over dimension 2.
at::Tensor mean_of_best(const at::Tensor& similarities, const Tokens& tokens,
                        const Tokens& others) {
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  const at::Tensor best =
      similarities.masked_fill(others.mask.logical_not().unsqueeze(1), kLeast)
          .amax(2);
  const at::Tensor weights = tokens.weight.sum(1);
  const at::Tensor is_none =
      weights.eq(0).logical_or(others.weight.sum(1).eq(0));
  return best.masked_fill(tokens.weight.eq(0), 0)
      .mul(tokens.weight)
      .sum(1)
      .div(weights)
      .masked_fill(is_none, 0);
}

at::Tensor without_padding(const at::Tensor& embeddings,
                           const at::Tensor& mask) {
  return mask.defined()
             ? embeddings.masked_fill(
                   mask.to(embeddings.device()).eq(0).unsqueeze(2), 0)
             : embeddings;
}

}  // namespace

void BERTScoreOptions::validate(const char* metric) const {
  for (const double baseline :
       {precision_baseline_, recall_baseline_, f1_baseline_}) {
    TORCH_CHECK_VALUE(baseline < 1, metric,
                      ": expected baselines below 1, got ", baseline);
  }
}

TokenMatches::State TokenMatches::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& preds_mask, const at::Tensor& target_mask,
    const at::Tensor& preds_weight, const at::Tensor& target_weight) const {
  check_embeddings("preds", preds);
  check_embeddings("target", target);
  internal::check_same_device("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      preds.size(0) == target.size(0) && preds.size(2) == target.size(2),
      "expected preds and target of as many texts and "
      "dimensions, got ",
      preds.sizes(), " and ", target.sizes());
  const bool validate = options_.validate_args();
  check_mask("preds_mask", preds_mask, preds, validate);
  check_mask("target_mask", target_mask, target, validate);
  check_weight("preds_weight", preds_weight, preds, validate);
  check_weight("target_weight", target_weight, target, validate);
  const at::Tensor kept = internal::features::rows_without_nan(
      without_padding(preds, preds_mask), without_padding(target, target_mask),
      "embeddings", options_.nan_policy());
  const auto rows = [&](const at::Tensor& all) {
    return kept.defined() && all.defined()
               ? all.index_select(0, kept.to(all.device()))
               : all;
  };
  State state;
  state.total = kept.defined() ? kept.size(0) : preds.size(0);
  if (state.total == 0 || preds.numel() == 0 || target.numel() == 0) {
    return state;
  }
  const Tokens from =
      tokens_of(rows(preds), rows(preds_mask), rows(preds_weight));
  const Tokens to =
      tokens_of(rows(target), rows(target_mask), rows(target_weight));
  const at::Tensor similarities =
      from.directions.bmm(to.directions.transpose(1, 2));
  const at::Tensor precision = mean_of_best(similarities, from, to);
  const at::Tensor recall =
      mean_of_best(similarities.transpose(1, 2), to, from);
  const at::Tensor sum = precision.add(recall);
  state.precision = Number(precision.sum());
  state.recall = Number(recall.sum());
  state.f1 = Number(
      precision.mul(recall).mul(2).div(sum.masked_fill(sum.eq(0), 1)).sum());
  return state;
}

PrecisionRecallF1 BERTScore::evaluate(const State& state) const {
  const auto scaled = [&](const Number& sum, double baseline) {
    return at::Tensor((sum / state.total - baseline) / (1 - baseline));
  };
  return {scaled(state.precision, options().precision_baseline()),
          scaled(state.recall, options().recall_baseline()),
          scaled(state.f1, options().f1_baseline())};
}

}  // namespace tally
