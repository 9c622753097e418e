#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/contrastive/nt_xent_loss.h"
#include "tally/losses/contrastive/same_label_loss.h"
#include "tally/losses/contrastive/same_label_ring.h"
#include "tally/losses/contrastive/sup_con_loss.h"
#include "tally/metrics/common/constants.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/collectives.h"
#include "tally/sync/gather.h"

namespace tally::losses::internal {
namespace {

using sync::Call;

/// The loss in tiles, for as long as its backward pass may come.
class TiledSameLabel {
 public:
  TiledSameLabel(Call call, const RowAgreement& agreement,
                 const SameLabelInputs& inputs)
      : z_(inputs.z),
        untouched_(agreement.any_graph, {inputs.z}),
        sequence_(agreement.sequence),
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
    for (const double arriving : agree_on_gradients(
             problem_.call.backward(sequence_), gradient, untouched_)) {
      sum += arriving;
    }
    return sync::or_give_up(*problem_.call.communicator, [&] {
      return std::vector<at::Tensor>{
          same_label_backward(problem_, state_, mean(sum, rows_))
              .to(z_.scalar_type())};
    });
  }

 private:
  at::Tensor z_;
  Untouched untouched_;
  std::int64_t sequence_;
  SameLabelProblem problem_;
  SameLabelState state_;
  double rows_ = 0;
};

at::Tensor gathered_same_label_loss(const Call& call,
                                    const RowAgreement& agreement,
                                    const SameLabelInputs& inputs) {
  const auto all = [&](const at::Tensor& tensor) {
    return sync::all_gather(tensor, call.communicator, call.timeout);
  };
  const at::Tensor z = in_dtype_of_losses(inputs.z);
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
  const at::Tensor losses = logits.sub(right)
                                .masked_fill(own, -tally::internal::kInfinity)
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
    if (!has_tiles(inputs))
      return gathered_same_label_loss(call, agreement, inputs);
    const auto tiles =
        std::make_shared<TiledSameLabel>(call, agreement, inputs);
    return attach_tiles(agreement, tiles->forward(), tiles);
  });
}

at::Tensor normalized(const at::Tensor& features) {
  const at::Tensor wide = in_dtype_of_losses(features);
  return wide.div(wide.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12));
}

}  // namespace tally::losses::internal

namespace tally::losses {
namespace {

using internal::RowAgreement;
using internal::RowOffer;
using internal::SameLabelInputs;
using sync::Call;

constexpr const char* kSupCon = "SupConLoss";

void check_sup_con(const SupConLossOptions& options) {
  TORCH_CHECK_VALUE(options.temperature() > 0, kSupCon,
                    ": expected a temperature above 0, got ",
                    options.temperature());
  TORCH_CHECK_VALUE(options.base_temperature() >= 0, kSupCon,
                    ": expected base_temperature of at least 0, got ",
                    options.base_temperature());
  internal::check_budget(kSupCon, options.logits_budget_bytes());
}

void check_sup_con(const at::Tensor& features, const at::Tensor& labels) {
  TORCH_CHECK_VALUE(features.defined(), kSupCon,
                    ": expected features, got an undefined tensor");
  TORCH_CHECK_VALUE(features.layout() == at::kStrided &&
                        features.is_floating_point() &&
                        (features.dim() == 2 || features.dim() == 3),
                    kSupCon,
                    ": expected features of size [rows, features] or [rows, "
                    "views, features] and a floating dtype, got ",
                    features.toString(), ' ', features.sizes());
  if (!labels.defined()) return;
  TORCH_CHECK_VALUE(
      at::isIntegralType(labels.scalar_type(), /*includeBool=*/false) &&
          labels.dim() == 1 && labels.size(0) == features.size(0),
      kSupCon, ": expected ", features.size(0), " integer labels, got ",
      labels.toString(), ' ', labels.sizes());
}

}  // namespace

namespace functional {

at::Tensor sup_con_loss(const at::Tensor& features, const at::Tensor& labels,
                        const SupConLossOptions& options) {
  const internal::AutocastOff autocast_off;
  const Call call(kSupCon, options.communicator(), options.timeout());
  SameLabelInputs inputs;
  std::int64_t views = 1;
  const RowAgreement agreement = internal::agree_on_rows(call, [&] {
    check_sup_con(options);
    check_sup_con(features, labels);
    if (features.dim() == 3) views = features.size(1);
    inputs = {features.reshape({features.size(0) * views, features.size(-1)}),
              at::Tensor(), 1 / options.temperature(),
              options.pairwise_logits(), options.logits_budget_bytes()};
    const bool tiled = internal::has_tiles(inputs);
    return RowOffer{
        inputs.z.size(0),
        c10::str(features.scalar_type(), " rows of ", views, " views of ",
                 features.size(-1), ", ", options_state_key(options),
                 labels.defined() ? ", with labels" : "",
                 tiled ? ", tiled" : ""),
        tiled && sync::has_graph(inputs.z)};
  });
  const at::Tensor loss = sync::or_give_up(*call.communicator, [&] {
    const std::int64_t samples = features.size(0);
    at::Tensor ids;
    if (labels.defined()) {
      ids = labels.detach().to(at::kCPU, at::kLong);
    } else {
      const std::int64_t first =
          views == 0 ? 0 : agreement.rows.before(call.rank()) / views;
      ids = at::arange(first, first + samples, at::kLong);
    }
    inputs.labels =
        ids.unsqueeze(1).expand({samples, views}).reshape({samples * views});
    return internal::same_label_loss(call, agreement, inputs);
  });
  if (options.base_temperature() == 0) return loss;
  return loss.mul(options.temperature() / options.base_temperature());
}

}  // namespace functional

SupConLossImpl::SupConLossImpl(SupConLossOptions options)
    : LossModule(std::move(options)) {
  check_sup_con(options_);
}

at::Tensor SupConLossImpl::forward(const at::Tensor& features,
                                   const at::Tensor& labels) const {
  return functional::sup_con_loss(features, labels, options_);
}

namespace {

constexpr const char* kNTXent = "NTXentLoss";

void check_nt_xent(const NTXentLossOptions& options) {
  TORCH_CHECK_VALUE(std::abs(options.temperature()) >= 1e-8, kNTXent,
                    ": expected a temperature of a size of at least 1e-8, got ",
                    options.temperature());
  TORCH_CHECK_VALUE(options.memory_bank_size() >= 0, kNTXent,
                    ": expected memory_bank_size of at least 0, got ",
                    options.memory_bank_size());
  TORCH_CHECK_VALUE(options.memory_bank_dim() >= 0, kNTXent,
                    ": expected memory_bank_dim of at least 0, got ",
                    options.memory_bank_dim());
  internal::check_budget(kNTXent, options.logits_budget_bytes());
}

Call nt_xent_call(const NTXentLossOptions& options) {
  return Call(kNTXent,
              options.gather_distributed()
                  ? options.communicator()
                  : sync::single_process_communicator(),
              options.timeout());
}

std::string nt_xent_schema(const NTXentLossOptions& options,
                           const at::Tensor& out0) {
  return c10::str(out0.scalar_type(), " rows of ", out0.size(1), ", ",
                  options_state_key(options));
}

at::Tensor same_label_pairs(const NTXentLossOptions& options,
                            const at::Tensor& out0, const at::Tensor& out1) {
  const internal::AutocastOff autocast_off;
  const Call call = nt_xent_call(options);
  SameLabelInputs inputs;
  const RowAgreement agreement = internal::agree_on_rows(call, [&] {
    check_nt_xent(options);
    internal::check_features(call, "out0", out0, "out1", out1);
    inputs = {at::cat({internal::normalized(out0), internal::normalized(out1)}),
              at::Tensor(), 1 / options.temperature(),
              options.pairwise_logits(), options.logits_budget_bytes()};
    const bool tiled = internal::has_tiles(inputs);
    return RowOffer{inputs.z.size(0),
                    nt_xent_schema(options, out0) + (tiled ? ", tiled" : ""),
                    tiled && sync::has_graph(inputs.z)};
  });
  return sync::or_give_up(*call.communicator, [&] {
    // A row's label is its sample's number.
    const std::int64_t first = agreement.rows.before(call.rank()) / 2;
    const at::Tensor samples =
        at::arange(first, first + out0.size(0), at::kLong);
    inputs.labels = at::cat({samples, samples});
    return internal::same_label_loss(call, agreement, inputs);
  });
}

}  // namespace

namespace functional {

at::Tensor nt_xent_loss(const at::Tensor& out0, const at::Tensor& out1,
                        const NTXentLossOptions& options) {
  TORCH_CHECK_VALUE(options.memory_bank_size() == 0, kNTXent,
                    ": expected no memory bank, got memory_bank_size ",
                    options.memory_bank_size(), "; the module has one");
  return same_label_pairs(options, out0, out1);
}

}  // namespace functional

NTXentLossImpl::NTXentLossImpl(NTXentLossOptions options)
    : LossModule(std::move(options)) {
  check_nt_xent(options_);
  reset();
}

void NTXentLossImpl::reset() {
  if (options_.memory_bank_size() == 0 || options_.memory_bank_dim() == 0) {
    return;
  }
  const tally::internal::OutsideInference outside;
  const at::Tensor rows =
      at::randn({options_.memory_bank_size(), options_.memory_bank_dim()},
                at::detail::createCPUGenerator(/*seed=*/0), at::kFloat);
  memory_bank = register_buffer("memory_bank", internal::normalized(rows));
  memory_bank_next =
      register_buffer("memory_bank_next", at::zeros({}, at::kLong));
}

at::Tensor NTXentLossImpl::forward(const at::Tensor& out0,
                                   const at::Tensor& out1) {
  return options_.memory_bank_size() == 0
             ? same_label_pairs(options_, out0, out1)
             : forward_with_bank(out0, out1);
}

at::Tensor NTXentLossImpl::forward_with_bank(const at::Tensor& out0,
                                             const at::Tensor& out1) {
  const internal::AutocastOff autocast_off;
  const Call call = nt_xent_call(options_);
  bool has_graph = false;
  const RowAgreement agreement = internal::agree_on_rows(call, [&] {
    internal::check_features(call, "out0", out0, "out1", out1);
    TORCH_CHECK_VALUE(
        !memory_bank.defined() || memory_bank.size(1) == out0.size(1),
        call.name, ": expected rows of ", memory_bank.size(1),
        ", as the memory bank has, got ", out0.size(1));
    has_graph = sync::has_graph(out0);
    return RowOffer{out0.size(0), nt_xent_schema(options_, out0), has_graph};
  });
  return sync::or_give_up(*call.communicator, [&] {
    if (!memory_bank.defined()) {
      options_.memory_bank_dim(out0.size(1));
      reset();
    }
    const at::Tensor q = internal::normalized(out0);
    const at::Tensor k = internal::normalized(out1);
    // Of their own: the backward pass needs them as they are now.
    const at::Tensor bank =
        memory_bank.to(q.options(), /*non_blocking=*/false, /*copy=*/true);
    const at::Tensor right = q.mul(k).sum(1, /*keepdim=*/true);
    // Less the right answer's, which would hide small differences.
    const at::Tensor logits =
        at::cat({at::zeros_like(right), q.matmul(bank.t()).sub(right)}, 1)
            .div(options_.temperature());
    const auto rows = static_cast<double>(agreement.rows.total());
    const at::Tensor loss = internal::mean_over_ranks(
        call, logits.logsumexp(1).sum().mul(internal::mean(call.size(), rows)));
    if (agreement.any_graph) {
      const at::NoGradGuard no_grad;
      enqueue(at::cat(sync::gather_all_tensors(
          k.detach().to(memory_bank.options()), sync::GradientFlow::kDetached,
          call.communicator, call.timeout)));
    }
    return loss;
  });
}

void NTXentLossImpl::enqueue(const at::Tensor& rows) {
  const std::int64_t size = memory_bank.size(0);
  // Of more rows than there is room for, the last ones remain.
  const std::int64_t kept = std::min(rows.size(0), size);
  const std::int64_t end = memory_bank_next.item<std::int64_t>() + rows.size(0);
  const at::Tensor places = at::arange(end - kept, end, at::kLong)
                                .remainder(size)
                                .to(memory_bank.device());
  memory_bank.index_copy_(0, places, rows.narrow(0, rows.size(0) - kept, kept));
  memory_bank_next.fill_(end % size);
}

template class internal::LossModule<NTXentLossImpl, NTXentLossOptions>;
template class internal::LossModule<SupConLossImpl, SupConLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::NTXentLossImpl>;
template class torch::nn::Cloneable<tally::losses::SupConLossImpl>;
