#include "tally/losses/loss_of_rows.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "tally/losses/all_rows.h"
#include "tally/losses/contrastive/loss_call.h"
#include "tally/sync/autograd.h"

namespace tally::losses::internal {

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
