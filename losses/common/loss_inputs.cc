#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <vector>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/labeled_positions.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/shape_text.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {
namespace {

/// Whether target has the sizes of preds without the second.
bool are_classes(const at::Tensor& preds, const at::Tensor& target) {
  return target.dim() + 1 == preds.dim() && target.size(0) == preds.size(0) &&
         target.sizes().slice(1) == preds.sizes().slice(2);
}

std::string sizes_of_classes(const at::Tensor& preds) {
  std::vector<std::int64_t> sizes = preds.sizes().vec();
  sizes.erase(sizes.begin() + 1);
  return c10::str(at::IntArrayRef(sizes));
}

}  // namespace

void check_labels(std::string_view loss, LabelMode mode,
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
                    " and a floating dtype, got ", shape_text(preds));
  TORCH_CHECK_VALUE(target.defined() && target.layout() == at::kStrided, loss,
                    ": expected target, got ", shape_text(target));
  const bool is_classes = multiclass && are_classes(preds, target);
  TORCH_CHECK_VALUE(
      is_classes || target.sizes() == preds.sizes(), loss,
      ": expected target of size ",
      multiclass ? sizes_of_classes(preds) + " or " : std::string(),
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
                    ": expected target of size ", sizes_of_classes(preds),
                    " with ignore_index, got ", target.sizes());
}

void refuse_label(std::string_view loss, const LabeledPositions& input,
                  double value) {
  const std::string also =
      input.ignore_index ? c10::str(" or ", *input.ignore_index) : "";
  TORCH_CHECK_VALUE(!input.index, loss,
                    ": expected target to be a class below ", input.classes,
                    also, ", got ", value);
  TORCH_CHECK_VALUE(false, loss, ": expected target in [0, 1]", also, ", got ",
                    value);
}

void check_label_values(std::string_view loss, const LabeledPositions& input) {
  at::Tensor target = input.target.detach();
  if (input.ignore_index)
    target = target.masked_select(target.ne(*input.ignore_index));
  if (target.numel() == 0) return;
  const double largest =
      input.index ? static_cast<double>(input.classes - 1) : 1;
  const at::Tensor wrong = target.masked_select(
      target.ge(0).logical_and(target.le(largest)).logical_not());
  if (wrong.numel() > 0) refuse_label(loss, input, wrong[0].item<double>());
}

at::Tensor all_rows(const sync::Call& call, const RankRows& rows,
                    const at::Tensor& own) {
  const at::Tensor plain = sync::plain(own);
  if (call.size() == 1) return plain;
  // Every rank sends as many as the one with the most.
  std::vector<std::int64_t> sizes = plain.sizes().vec();
  sizes[0] = rows.most();
  const auto options = plain.options().device(call.communicator->device());
  const at::Tensor sent = at::zeros(sizes, options);
  sent.narrow(0, 0, plain.size(0)).copy_(plain);
  sizes[0] *= call.size();
  at::Tensor all = at::empty(sizes, options);
  call.communicator->all_gather(sent, all, call.timeout);
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < call.size(); ++rank) {
    parts.push_back(all.narrow(0, rank * rows.most(), rows.of(rank)));
  }
  return at::cat(parts).to(plain.device());
}

at::Tensor replicated_value(const sync::Call& call, const at::Tensor& value,
                            const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& gradients) {
  at::Tensor own;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!sync::has_graph(inputs[i])) continue;
    // Whose value does not matter, only its graph.
    const at::Tensor part = inputs[i].mul(gradients[i]).sum();
    own = own.defined() ? own.add(part) : part;
  }
  if (!own.defined()) return value;
  return sync::replicated(call, own.to(value.scalar_type()), value,
                          call.size());
}

at::Tensor loss_of_rows(
    const sync::Call& call, const RankRows& rows, const at::Tensor& own,
    c10::function_ref<at::Tensor(const at::Tensor& all)> loss) {
  const at::Tensor all = all_rows(call, rows, own);
  if (!sync::has_graph(own)) return loss(all);
  const at::AutoGradMode recorded(true);
  const at::Tensor leaf = all.detach().requires_grad_();
  const at::Tensor value = loss(leaf);
  const at::Tensor gradient =
      value.requires_grad()
          ? torch::autograd::grad({value}, {leaf}, {}, /*retain_graph=*/false,
                                  /*create_graph=*/false,
                                  /*allow_unused=*/false)[0]
          : at::zeros_like(all);
  return replicated_value(
      call, value.detach(),
      {differentiable_once(call, own, "are not supported")},
      {gradient.narrow(0, rows.before(call.rank()), rows.of(call.rank()))});
}

}  // namespace tally::losses::internal
