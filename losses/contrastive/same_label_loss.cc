#include "tally/losses/contrastive/same_label_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/scalar_tensor.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/same_label_ring.h"
#include "tally/losses/contrastive/tiles.h"
#include "tally/sync/agree.h"
#include "tally/sync/collectives.h"

namespace tally::losses::internal {
namespace {

using sync::Call;

/// The loss in tiles, for as long as its backward pass may come.
class TiledLoss {
 public:
  TiledLoss(Call call, const RowAgreement& agreement,
            const SameLabelInputs& inputs)
      : z_(inputs.z),
        untouched_({inputs.z}),
        backward_(call.backward(agreement.sequence)),
        problem_{std::move(call),
                 agreement.rows,
                 working_copy(inputs.z),
                 inputs.labels.contiguous(),
                 inputs.scale,
                 agreement.any_graph ? inputs.budget_bytes : -1} {}

  at::Tensor forward() {
    state_ = same_label_forward(problem_);
    rows_ = sum_over_ranks(problem_.call, static_cast<double>(state_.rows));
    const double loss = sum_over_ranks(problem_.call, state_.loss);
    return at::scalar_tensor(mean(loss, rows_), problem_.z.options());
  }

  std::vector<at::Tensor> inputs() const { return {z_}; }

  std::vector<at::Tensor> backward(const at::Tensor& gradient) {
    const AutocastOff autocast_off;
    double sum = 0;
    for (const double arriving :
         agree_on_gradients(backward_, gradient, untouched_)) {
      sum += arriving;
    }
    return sync::or_give_up(*backward_.communicator, [&] {
      return std::vector<at::Tensor>{
          same_label_backward(problem_, state_, mean(sum, rows_))
              .to(z_.scalar_type())};
    });
  }

 private:
  at::Tensor z_;
  Untouched untouched_;
  Call backward_;
  SameLabelProblem problem_;
  SameLabelState state_;
  double rows_ = 0;
};

at::Tensor gathered_loss(const Call& call, const RowAgreement& agreement,
                         const SameLabelInputs& inputs) {
  const auto all = [&](const at::Tensor& tensor) {
    return sync::all_gather(tensor, call.communicator, call.timeout);
  };
  const at::Tensor z =
      inputs.z.to(sync::accumulate_dtype(inputs.z.scalar_type()));
  const at::Tensor labels = inputs.labels.to(z.device());
  const at::Tensor logits = z.matmul(all(z).t()).mul(inputs.scale);
  const auto index = labels.options();
  const at::Tensor own =
      at::arange(z.size(0), index)
          .add(agreement.rows.before(call.rank()))
          .unsqueeze(1)
          .eq(at::arange(agreement.rows.total(), index).unsqueeze(0));
  const at::Tensor positives = labels.unsqueeze(1)
                                   .eq(all(labels).unsqueeze(0))
                                   .logical_and(own.logical_not());
  const at::Tensor counts = positives.sum(1);
  // Without what logits have in common, which would hide small differences.
  const at::Tensor right = logits.mul(positives)
                               .sum(1, /*keepdim=*/true)
                               .div(counts.clamp_min(1).unsqueeze(1));
  const at::Tensor losses =
      logits.sub(right)
          .masked_fill(own, -std::numeric_limits<double>::infinity())
          .logsumexp(1)
          .masked_fill(counts.eq(0), 0);
  const double rows = sum_over_ranks(call, counts.gt(0).sum().item<double>());
  return mean_over_ranks(call, losses.sum().mul(mean(call.size(), rows)));
}

}  // namespace

bool has_tiles(const SameLabelInputs& inputs) {
  return inputs.pairwise_logits == PairwiseLogits::kTiled && inputs.z.is_cpu();
}

at::Tensor same_label_loss(const Call& call, const RowAgreement& agreement,
                           const SameLabelInputs& inputs) {
  return sync::or_give_up(*call.communicator, [&] {
    if (!has_tiles(inputs)) return gathered_loss(call, agreement, inputs);
    const auto tiles = std::make_shared<TiledLoss>(call, agreement, inputs);
    return attach_tiles(agreement, tiles->forward(), tiles);
  });
}

at::Tensor normalized(const at::Tensor& features) {
  const at::Tensor wide =
      features.to(sync::accumulate_dtype(features.scalar_type()));
  return wide.div(wide.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12));
}

}  // namespace tally::losses::internal
