#include "tally/metrics/audio/inputs/signals.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/view_as_real.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tally/metrics/common/checks.h"

namespace tally::internal::audio {
namespace {

double epsilon_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kHalf:
      return 0x1p-10;
    case at::kBFloat16:
      return 0x1p-7;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

void check_signals(const char* input, const at::Tensor& tensor) {
  check_floating(input, tensor);
  TORCH_CHECK_TYPE(tensor.layout() == at::kStrided, "expected ", input,
                   " to be a dense tensor, got one of layout ",
                   tensor.layout());
}

// Real and imaginary parts beside each other, [..., F, T, 2].
at::Tensor parts_of(const char* input, const at::Tensor& tensor) {
  check_defined(input, tensor);
  const at::Tensor parts =
      tensor.is_complex() ? at::view_as_real(tensor.resolve_conj()) : tensor;
  check_signals(input, parts);
  TORCH_CHECK_VALUE(parts.dim() >= 3 && parts.size(-1) == 2, "expected ", input,
                    " of shape [..., F, T, 2], or complex [..., F, T], got ",
                    tensor.sizes());
  return parts;
}

// How many of the last dimensions are a channel, and whether there is one of
// channels before.
struct Folds {
  std::int64_t inner;
  bool has_channels;
  const char* words;
};

Folds folds_of(Layout layout, const at::Tensor& tensor) {
  switch (layout) {
    case Layout::kTime:
      return {1, false, "[..., T], T at least 1"};
    case Layout::kChannels:
      return {1, true, "[..., C, T], C and T at least 1"};
    case Layout::kComplex:
      return {3, false, "[..., F, T, 2], F and T at least 1"};
    case Layout::kSpeakers:
      break;
  }
  return {std::max<std::int64_t>(tensor.dim() - 2, 1), true,
          "[N, C, ...], all but N at least 1"};
}

// [N, C, T].
at::Tensor folded(const at::Tensor& tensor, const Folds& folds) {
  const at::IntArrayRef sizes = tensor.sizes();
  const std::int64_t outer =
      tensor.dim() - folds.inner - (folds.has_channels ? 1 : 0);
  const std::int64_t samples = c10::multiply_integers(sizes.slice(0, outer));
  const std::int64_t time =
      c10::multiply_integers(sizes.slice(tensor.dim() - folds.inner));
  return tensor.reshape({samples, folds.has_channels ? sizes[outer] : 1, time});
}

}  // namespace

bool Signals::requires_grad() const {
  return at::GradMode::is_enabled() &&
         (preds.requires_grad() || target.requires_grad());
}

Signals Signals::plain() const {
  const bool is_float =
      preds.scalar_type() == at::kFloat && target.scalar_type() == at::kFloat;
  const auto plain_of = [&](const at::Tensor& tensor) {
    return tensor.detach()
        .to(at::kCPU, is_float ? at::kFloat : at::kDouble)
        .contiguous();
  };
  return with(plain_of(preds), plain_of(target));
}

Signals Signals::wide() const {
  return with(preds.to(at::kDouble), target.to(at::kDouble));
}

Signals Signals::select(const at::Tensor& places) const {
  return with(preds.index_select(0, places.to(preds.device())),
              target.index_select(0, places.to(target.device())));
}

Signals Signals::with(at::Tensor other_preds, at::Tensor other_target) const {
  return {std::move(other_preds), std::move(other_target), epsilon, sizes};
}

Signals arrange(const at::Tensor& preds, const at::Tensor& target,
                Layout layout) {
  at::Tensor p = preds, t = target;
  const bool may_be_complex =
      layout == Layout::kComplex ||
      (layout == Layout::kSpeakers && preds.defined() && preds.is_complex());
  if (may_be_complex) {
    p = parts_of("preds", preds);
    t = parts_of("target", target);
  } else {
    check_signals("preds", preds);
    check_signals("target", target);
  }
  check_same_shape("preds", p, "target", t);
  const Folds folds = folds_of(layout, p);
  const std::int64_t least = folds.inner + (folds.has_channels ? 1 : 0);
  // Of two dimensions the first may be samples or speakers.
  bool has_values = p.dim() >= (layout == Layout::kSpeakers ? 3 : least);
  for (std::int64_t i = 1; has_values && i <= least; ++i) {
    has_values = p.size(-i) > 0;
  }
  TORCH_CHECK_VALUE(has_values, "expected preds and target of shape ",
                    folds.words, ", got ", p.sizes());
  return {folded(p, folds), folded(t, folds), epsilon_of(p.scalar_type()),
          p.sizes().slice(p.dim() - folds.inner).vec()};
}

}  // namespace tally::internal::audio
