#include "tally/metrics/classification/inputs/value_checks.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <utility>

#include "tally/metrics/common/checks.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {
namespace {

[[noreturn]] void refuse_part(double label, std::int64_t position) {
  // Images of 8 bits as numbers from 0 to 1, as ToTensor makes them of masks.
  const double level = label * 255;
  const bool may_be_mask =
      label > 0 && label < 1 && std::abs(level - std::round(level)) < 1e-4;
  TORCH_CHECK_VALUE(
      false, "expected whole numbers as target, got ", label, " at position ",
      position,
      may_be_mask
          ? "; is it a mask of 8 bits as numbers from 0 to 1 (then pass "
            "target > 0.5), or"
          : ";",
      " are preds and target swapped?");
}

// REQUIRES: of dtype T, on the CPU.
template <class T>
at::Tensor whole_numbers(const at::Tensor& target) {
  // Larger ones are whole, but no class has such a number.
  constexpr T kLimit = 0x1p53;
  const at::Tensor given = dense(target);
  const auto* const data = given.const_data_ptr<T>();
  at::Tensor labels = fresh_tensor(given.sizes(), at::kLong);
  auto* const out = labels.mutable_data_ptr<std::int64_t>();
  const auto is_whole = [&](std::int64_t i) {
    const bool inside = std::abs(data[i]) <= kLimit;
    out[i] = inside ? static_cast<std::int64_t>(data[i]) : 0;
    return inside && static_cast<T>(out[i]) == data[i];
  };
  bool fine = true;
  for (std::int64_t i = 0; i < given.numel(); ++i) fine &= is_whole(i);
  for (std::int64_t i = 0; !fine && i < given.numel(); ++i) {
    if (!is_whole(i)) refuse_part(data[i], i);
  }
  return labels;
}

}  // namespace

std::string class_hint(at::IntArrayRef preds, at::IntArrayRef target,
                       std::int64_t num_classes) {
  const auto is_by_class = [&](at::IntArrayRef sizes) {
    return sizes.size() >= 2 && sizes[1] == num_classes;
  };
  if (is_by_class(target)) {
    return is_by_class(preds)
               ? "; of a one-hot target target.argmax(1) are the labels"
               : "; are preds and target swapped?";
  }
  if (is_by_class(preds) && target.size() == preds.size() && target[1] == 1) {
    return "; did you mean target.squeeze(1)?";
  }
  if (is_by_class(preds) && !target.empty() && preds[0] == target[0]) return "";
  return shape_hint("preds", preds, "target", target);
}

void check_class_scores(const at::Tensor& preds, const at::Tensor& target,
                        std::int64_t num_classes) {
  check_floating("preds", preds);
  check_target_type(target);
  check_same_device("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      preds.dim() >= 2 && preds.size(1) == num_classes &&
          preds.dim() == target.dim() + 1 && preds.size(0) == target.size(0) &&
          preds.sizes().slice(2) == target.sizes().slice(1),
      "expected preds [N, ", num_classes,
      ", ...] and target [N, ...], got sizes ", preds.sizes(), " and ",
      target.sizes(), class_hint(preds.sizes(), target.sizes(), num_classes));
}

bool is_label_type(at::ScalarType type) {
  return type == at::kBool || type == at::kByte || type == at::kChar ||
         type == at::kShort || type == at::kInt || type == at::kLong;
}

bool is_score_type(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf ||
         type == at::kBFloat16;
}

void check_target_type(const at::Tensor& target) {
  check_defined("target", target);
  const at::ScalarType type = target.scalar_type();
  TORCH_CHECK_TYPE(
      at::isIntegralType(type, /*includeBool=*/true) || is_score_type(type),
      "expected target of an integer dtype, or whole numbers of a "
      "floating-point dtype, got ",
      type);
}

c10::MaybeOwned<at::Tensor> whole_target(const at::Tensor& target,
                                         bool checks) {
  using Labels = c10::MaybeOwned<at::Tensor>;
  if (!is_score_type(target.scalar_type())) return Labels::borrowed(target);
  check_dense("target", target);
  const at::Tensor given = target.detach();
  if (!given.is_cpu()) {
    at::Tensor labels = given.to(at::kLong);
    if (const auto i = checks ? first_true(labels.ne(given)) : std::nullopt) {
      refuse_part(given.reshape(-1).select(0, *i).item().toDouble(), *i);
    }
    return Labels::owned(std::move(labels));
  }
  return Labels::owned(given.scalar_type() == at::kDouble
                           ? whole_numbers<double>(given)
                           : whole_numbers<float>(given.to(at::kFloat)));
}

void check_label_type(const char* input, const at::Tensor& labels,
                      std::int64_t num_classes) {
  TORCH_CHECK_TYPE(is_label_type(labels.scalar_type()), "expected labels of ",
                   "dtype bool, uint8, int8, int16, int32 or int64 in ", input,
                   ", got ", labels.scalar_type());
  TORCH_CHECK_TYPE(labels.scalar_type() != at::kBool || num_classes == 2,
                   "expected labels of an integer dtype in ", input, " for ",
                   num_classes, " classes, got bool, which is for 2");
}

void check_dense(const char* input, const at::Tensor& tensor) {
  TORCH_CHECK_TYPE(tensor.layout() == at::kStrided, "expected a dense tensor ",
                   "as ", input, ", got layout ", tensor.layout());
}

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.is_neg() ? tensor.resolve_neg().contiguous()
                         : tensor.contiguous();
}

at::Tensor checked_weight(const at::Tensor& weight, const at::Tensor& target,
                          at::IntArrayRef sizes) {
  check_real("weight", weight);
  check_same_device("weight", weight, "target", target);
  TORCH_CHECK_VALUE(weight.sizes() == sizes, "expected weight of shape ", sizes,
                    ", got ", weight.sizes());
  return dense(weight.detach().to(at::kDouble));
}

void refuse_predicted_label(std::int64_t value, std::int64_t position,
                            std::int64_t num_classes) {
  TORCH_CHECK_INDEX(false, "expected preds in [0, ", num_classes, "), got ",
                    value, " at position ", position);
}

void refuse_label(std::int64_t value, std::int64_t position,
                  std::int64_t num_classes,
                  std::optional<std::int64_t> ignore_index) {
  TORCH_CHECK_INDEX(
      false, "expected target in [0, ", num_classes, ")",
      ignore_index ? c10::str(" or ignore_index (", *ignore_index, ")") : "",
      ", got ", value, " at position ", position);
}

void check_labels(const at::Tensor& target, std::int64_t num_classes,
                  std::optional<std::int64_t> ignore_index) {
  const at::Tensor labels = target.to(at::kLong);
  at::Tensor bad = labels.lt(0).logical_or_(labels.ge(num_classes));
  if (ignore_index) bad.logical_and_(labels.ne(*ignore_index));
  if (const auto position = first_true(bad)) {
    refuse_label(labels.reshape(-1).select(0, *position).item().toLong(),
                 *position, num_classes, ignore_index);
  }
}

void refuse_nan(const char* input, std::int64_t position) {
  TORCH_CHECK_VALUE(false, "expected ", input, " without NaN, got NaN at ",
                    "position ", position);
}

void refuse_probability(double score, std::int64_t position, bool any_allowed) {
  TORCH_CHECK_VALUE(
      false, "expected probabilities in [0, 1] as preds, got ", score,
      " at position ", position, " (input is ScoreKind::kLogits for logits",
      any_allowed ? ", ScoreKind::kScores for scores of any kind)" : ")");
}

std::optional<std::int64_t> first_true(const at::Tensor& mask) {
  if (!mask.any().item().toBool()) return std::nullopt;
  return mask.reshape(-1).to(at::kByte).argmax().item().toLong();
}

}  // namespace tally::internal::classification
