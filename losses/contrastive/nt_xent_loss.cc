#include "tally/losses/contrastive/nt_xent_loss.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/same_label_loss.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/gather.h"

namespace tally::losses {
namespace {

using internal::RowAgreement;
using internal::RowOffer;
using internal::SameLabelInputs;
using sync::Call;

constexpr const char* kName = "NTXentLoss";

void check(const NTXentLossOptions& options) {
  TORCH_CHECK_VALUE(std::abs(options.temperature()) >= 1e-8, kName,
                    ": expected a temperature of a size of at least 1e-8, got ",
                    options.temperature());
  TORCH_CHECK_VALUE(options.memory_bank_size() >= 0, kName,
                    ": expected memory_bank_size of at least 0, got ",
                    options.memory_bank_size());
  TORCH_CHECK_VALUE(options.memory_bank_dim() >= 0, kName,
                    ": expected memory_bank_dim of at least 0, got ",
                    options.memory_bank_dim());
  TORCH_CHECK_VALUE(options.logits_budget_bytes() >= 0, kName,
                    ": expected logits_budget_bytes of at least 0, got ",
                    options.logits_budget_bytes());
}

Call call_of(const NTXentLossOptions& options) {
  return Call(kName,
              options.gather_distributed()
                  ? options.communicator()
                  : sync::single_process_communicator(),
              options.timeout());
}

std::string schema_of(const NTXentLossOptions& options,
                      const at::Tensor& out0) {
  return c10::str(out0.scalar_type(), " rows of ", out0.size(1),
                  ", temperature ", options.temperature(),
                  ", memory_bank_size ", options.memory_bank_size());
}

at::Tensor same_label_pairs(const NTXentLossOptions& options,
                            const at::Tensor& out0, const at::Tensor& out1) {
  const internal::AutocastOff autocast_off;
  const Call call = call_of(options);
  SameLabelInputs inputs;
  const RowAgreement agreement = internal::agree_on_rows(call, [&] {
    check(options);
    internal::check_features(call, "out0", out0, "out1", out1);
    inputs = {at::cat({internal::normalized(out0), internal::normalized(out1)}),
              at::Tensor(), 1 / options.temperature(),
              options.pairwise_logits(), options.logits_budget_bytes()};
    const bool tiled = internal::has_tiles(inputs);
    return RowOffer{inputs.z.size(0),
                    schema_of(options, out0) + (tiled ? ", tiled" : ""),
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
  TORCH_CHECK_VALUE(options.memory_bank_size() == 0, kName,
                    ": expected no memory bank, got memory_bank_size ",
                    options.memory_bank_size(), "; the module has one");
  return same_label_pairs(options, out0, out1);
}

}  // namespace functional

NTXentLossImpl::NTXentLossImpl(NTXentLossOptions options)
    : options_(std::move(options)) {
  check(options_);
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
  const Call call = call_of(options_);
  bool has_graph = false;
  const RowAgreement agreement = internal::agree_on_rows(call, [&] {
    internal::check_features(call, "out0", out0, "out1", out1);
    TORCH_CHECK_VALUE(
        !memory_bank.defined() || memory_bank.size(1) == out0.size(1),
        call.name, ": expected rows of ", memory_bank.size(1),
        ", as the memory bank has, got ", out0.size(1));
    has_graph = sync::has_graph(out0);
    return RowOffer{out0.size(0), schema_of(options_, out0), has_graph};
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
  const std::int64_t skipped = std::max<std::int64_t>(0, rows.size(0) - size);
  const std::int64_t first = memory_bank_next.item<std::int64_t>() + skipped;
  const at::Tensor places =
      at::arange(first, first + rows.size(0) - skipped, at::kLong)
          .remainder(size)
          .to(memory_bank.device());
  memory_bank.index_copy_(0, places,
                          rows.narrow(0, skipped, rows.size(0) - skipped));
  memory_bank_next.fill_((first + rows.size(0) - skipped) % size);
}

void NTXentLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tally::losses::NTXentLoss(temperature=" << options_.temperature()
         << ", memory_bank_size=" << options_.memory_bank_size()
         << ", gather_distributed=" << options_.gather_distributed() << ')';
}

}  // namespace tally::losses
