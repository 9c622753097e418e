#include "tally/losses/label_inputs.h"

#include <c10/util/Exception.h>

#include <vector>

namespace tally::losses::internal {
namespace {

std::string shape_of(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.toString(), ' ', tensor.sizes())
                          : "an undefined tensor";
}

}  // namespace

void check_labels(const std::string& loss, LabelMode mode,
                  const std::optional<std::int64_t>& ignore_index,
                  const at::Tensor& preds, const at::Tensor& target) {
  const bool binary = mode == LabelMode::kBinary;
  const bool multiclass = mode == LabelMode::kMulticlass;
  TORCH_CHECK_VALUE(preds.defined() && preds.layout() == at::kStrided &&
                        preds.is_floating_point() &&
                        preds.dim() >= (binary ? 1 : 2) &&
                        (binary || preds.size(1) >= (multiclass ? 2 : 1)),
                    loss, ": expected preds of size ",
                    binary       ? "[N, ...]"
                    : multiclass ? "[N, C, ...] with at least 2 classes"
                                 : "[N, C, ...]",
                    " and a floating dtype, got ", shape_of(preds));
  TORCH_CHECK_VALUE(target.defined() && target.layout() == at::kStrided, loss,
                    ": expected target, got ", shape_of(target));
  std::vector<std::int64_t> classes = preds.sizes().vec();
  if (multiclass) classes.erase(classes.begin() + 1);
  const bool is_classes = multiclass && target.sizes() == classes;
  TORCH_CHECK_VALUE(
      is_classes || target.sizes() == preds.sizes(), loss,
      ": expected target of size ",
      multiclass ? c10::str(at::IntArrayRef(classes), " or ") : std::string(),
      preds.sizes(), ", got ", target.sizes());
  TORCH_CHECK_VALUE(
      at::isIntegralType(target.scalar_type(), /*includeBool=*/!is_classes) ||
          (target.is_floating_point() && !is_classes),
      loss, ": expected target of ",
      is_classes ? "integers" : "integers, bool or a floating dtype", ", got ",
      target.toString());
  TORCH_CHECK_VALUE(target.device() == preds.device(), loss,
                    ": expected preds and target on one device, got ",
                    preds.device(), " and ", target.device());
  TORCH_CHECK_VALUE(!target.requires_grad(), loss,
                    ": expected target that requires no gradient; detach() it");
  TORCH_CHECK_VALUE(!ignore_index || !target.is_floating_point(), loss,
                    ": expected target of integers with ignore_index, got ",
                    target.toString());
  TORCH_CHECK_VALUE(!ignore_index || !multiclass || is_classes, loss,
                    ": expected target of size ", at::IntArrayRef(classes),
                    " with ignore_index, got ", target.sizes());
}

}  // namespace tally::losses::internal
