// A custom loss over all ranks. The Dice loss of a global batch is not the mean
// of the ranks' Dice losses; the value and gradients here equal those of a
// single process with all rows, however they are distributed.
//
//   ./tools/bazel run //examples:custom_loss
//
// runs on two processes and prints
//
//   gradients averaged over W = 2 ranks with 1 4 rows: exact
//     loss     0.438609971 in one process, the same over ranks
//     weight   exact
//     input 0  exact
//   rank 1 failed: expected target of size [5], got [4]
#include <ATen/ops/linspace.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <iostream>

#include "tally/losses/check_distributed_gradients.h"
#include "tally/sync/agree.h"
#include "tally/sync/errors.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"
#include "tally/sync/reduce.h"

/// 1 - 2 sum(preds * target) / sum(preds + target), over the rows of all ranks.
at::Tensor dice_loss(const at::Tensor& preds, const at::Tensor& target) {
  const tally::sync::Call call("dice_loss");
  at::Tensor own;
  const at::Tensor all =
      tally::sync::reduce(call, tally::sync::Reduction::kSum, [&] {
        // An exception on one rank reaches all of them.
        TORCH_CHECK_VALUE(preds.sizes() == target.sizes(),
                          "expected target of size ", preds.sizes(), ", got ",
                          target.sizes());
        own = at::stack({preds.mul(target).sum(), preds.add(target).sum()});
        return own.detach();
      });
  // Every rank computes the same loss from the same sums, so backward needs no
  // communication; `size` makes gradients exact when averaged.
  const at::Tensor sums = tally::sync::replicated(call, own, all, call.size());
  return sums[0].div(sums[1]).mul(-2).add(1);
}

int main(int argc, char** argv) {
  if (auto status = tally::sync::launch_local(2, argc, argv)) return *status;
  const auto ranks = tally::sync::init_from_env();
  const auto say = [&](const auto& text) {
    if (ranks->rank() == 0) std::cout << text << std::flush;
  };

  // The same on every rank; the check distributes the rows unevenly.
  const at::Tensor x = at::linspace(-2, 2, 10, at::kDouble).view({5, 2});
  const at::Tensor target = at::tensor({0, 1, 0, 1, 1});
  const at::Tensor weight =
      at::tensor({0.5, -0.25}, at::kDouble).requires_grad_();
  say(tally::losses::check_distributed_gradients(
      [&](const std::vector<at::Tensor>& rows) {
        return dice_loss(rows[0].matmul(weight).sigmoid(), rows[1]);
      },
      {x, target}, {{"weight", weight}}));

  // An error on one rank is an error on every rank, and none waits.
  try {
    const at::Tensor preds = x.select(1, 0).sigmoid();
    dice_loss(preds, ranks->rank() == 1 ? target.narrow(0, 0, 4) : target);
  } catch (const tally::sync::SyncError& error) {
    say(error.message() + "\n");
  } catch (const c10::ValueError&) {
    // Rank 1 itself.
  }
}
