#include "tally/metrics/text/perplexity.h"

#include <ATen/Parallel.h>
#include <ATen/ops/softmax.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/fused.h"
#include "tally/metrics/text/kernels/token_logs.h"

namespace tally {
namespace {

namespace classification = internal::classification;

// So many logits are worth another thread.
constexpr std::int64_t kGrain = 32768;

[[noreturn]] void refuse_nan(std::int64_t token) {
  TORCH_CHECK_VALUE(false, "expected preds without NaN, got some for token ",
                    token);
}

bool is_kept(std::int64_t label, std::int64_t vocabulary,
             std::optional<std::int64_t> ignore_index) {
  return label >= 0 && label < vocabulary &&
         !(ignore_index && label == *ignore_index);
}

// The negative logarithm of the probability of each token that is_kept().
template <class T>
std::vector<double> negative_logs(const T* logits, const std::int64_t* labels,
                                  std::int64_t tokens, std::int64_t vocabulary,
                                  std::optional<std::int64_t> ignore_index) {
  std::vector<double> logs(static_cast<std::size_t>(tokens));
  at::parallel_for(0, tokens, 1 + kGrain / vocabulary,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       if (!is_kept(labels[i], vocabulary, ignore_index))
                         continue;
                       const T* const own = logits + i * vocabulary;
                       logs[i] = internal::text::negative_log(own, vocabulary,
                                                              labels[i]);
                     }
                   });
  return logs;
}

// The sum of the logs of rows that all count, as one node of the graph.
class FusedTokens final : public internal::Fused {
 public:
  FusedTokens(at::Tensor labels, double sum)
      : labels_(std::move(labels)), sum_(sum) {}

  at::Tensor value(at::TensorList) const override {
    return internal::scalar_tensor(sum_);
  }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool>) const override {
    const auto factor = gradient.item<double>();
    at::Tensor slopes = at::softmax(inputs[0], 1).mul_(factor);
    if (slopes.scalar_type() == at::kFloat) {
      take_labels(slopes.mutable_data_ptr<float>(), slopes.size(1), factor);
    } else {
      take_labels(slopes.mutable_data_ptr<double>(), slopes.size(1), factor);
    }
    return {slopes};
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const at::Tensor& rows = inputs[0];
    const at::Tensor picked = rows.gather(1, labels_.unsqueeze(1)).squeeze(1);
    return rows.logsumexp(1).to(at::kDouble).sub(picked.to(at::kDouble)).sum();
  }

 private:
  template <class T>
  void take_labels(T* slopes, std::int64_t vocabulary, double factor) const {
    const auto* const labels = labels_.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < labels_.numel(); ++i) {
      slopes[i * vocabulary + labels[i]] -= static_cast<T>(factor);
    }
  }

  at::Tensor labels_;
  double sum_;
};

template <class T>
bool has_nan(const T* logits, std::int64_t vocabulary) {
  return std::any_of(logits, logits + vocabulary,
                     [](T logit) { return std::isnan(logit); });
}

}  // namespace

template <class T>
TokenLikelihood::State TokenLikelihood::sum_tokens(
    const T* logits, const std::int64_t* labels, std::int64_t tokens,
    std::int64_t vocabulary) const {
  const std::vector<double> logs =
      negative_logs(logits, labels, tokens, vocabulary, ignore_index_);
  double sum = 0;
  State state;
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (!is_kept(labels[i], vocabulary, ignore_index_)) continue;
    const bool is_left_out = nan_policy_ != NanPolicy::kPropagate &&
                             std::isnan(logs[i]) &&
                             has_nan(logits + i * vocabulary, vocabulary);
    if (is_left_out && nan_policy_ == NanPolicy::kError) refuse_nan(i);
    if (is_left_out) continue;
    sum += logs[i];
    ++state.total;
  }
  state.negative_log = sum;
  return state;
}

TokenLikelihood::State TokenLikelihood::observe(
    const at::Tensor& preds, const at::Tensor& target) const {
  internal::check_floating("preds", preds);
  internal::check_integral("target", target);
  internal::check_same_device("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      preds.dim() == 3 && target.dim() == 2 && preds.size(2) > 0 &&
          preds.sizes().slice(0, 2) == target.sizes(),
      "expected preds [N, L, V] and target [N, L], V at least 1, got ",
      preds.sizes(), " and ", target.sizes());
  const std::int64_t vocabulary = preds.size(2);
  if (validate_ || target.is_cpu()) {
    classification::check_labels(target, vocabulary, ignore_index_);
  }
  const at::Tensor labels = target.reshape(-1).to(at::kLong).contiguous();
  const at::Tensor logits =
      preds.to(preds.scalar_type() == at::kDouble ? at::kDouble : at::kFloat)
          .reshape({-1, vocabulary})
          .contiguous();
  if (internal::is_plain(logits)) {
    const auto* const own = labels.const_data_ptr<std::int64_t>();
    return logits.scalar_type() == at::kDouble
               ? sum_tokens(logits.const_data_ptr<double>(), own,
                            labels.numel(), vocabulary)
               : sum_tokens(logits.const_data_ptr<float>(), own, labels.numel(),
                            vocabulary);
  }
  at::Tensor kept = labels.ge(0).logical_and_(labels.lt(vocabulary));
  if (ignore_index_) kept.logical_and_(labels.ne(*ignore_index_));
  if (nan_policy_ != NanPolicy::kPropagate) {
    const at::Tensor nan = logits.detach().isnan().any(1).logical_and_(kept);
    if (nan_policy_ == NanPolicy::kError) {
      if (const auto token = classification::first_true(nan)) {
        refuse_nan(*token);
      }
    }
    kept.logical_and_(nan.logical_not());
  }
  // Rows that are left out have no part in the gradient, whatever they hold.
  const at::Tensor places = kept.nonzero().squeeze(1);
  const bool are_all = places.numel() == labels.numel();
  const at::Tensor rows = are_all ? logits : logits.index_select(0, places);
  if (are_all && internal::are_fusible(logits)) {
    const at::Tensor plain = logits.detach();
    const auto* const own = labels.const_data_ptr<std::int64_t>();
    const State sums = plain.scalar_type() == at::kDouble
                           ? sum_tokens(plain.const_data_ptr<double>(), own,
                                        labels.numel(), vocabulary)
                           : sum_tokens(plain.const_data_ptr<float>(), own,
                                        labels.numel(), vocabulary);
    return {Number(internal::fused(c10::make_intrusive<FusedTokens>(
                                       labels, sums.negative_log.value()),
                                   logits)),
            labels.numel()};
  }
  const at::Tensor picked =
      rows.gather(1, labels.index_select(0, places).unsqueeze(1)).squeeze(1);
  const at::Tensor logs =
      rows.logsumexp(1).to(at::kDouble).sub(picked.to(at::kDouble));
  return {Number(logs.sum()), places.numel()};
}

at::Tensor Perplexity::evaluate(const State& state) const {
  const Number mean = state.negative_log / Number(state.total);
  return mean.is_plain() ? internal::scalar_tensor(std::exp(mean.value()))
                         : mean.tensor().exp();
}

template class MetricOf<Perplexity, TokenLikelihood, at::Tensor>;

}  // namespace tally
