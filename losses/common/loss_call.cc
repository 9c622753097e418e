#include "tally/losses/common/loss_call.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/common/shape_text.h"
#include "tally/port/autograd.h"
#include "tally/state/codec.h"
#include "tally/sync/autograd.h"
#include "tally/sync/collectives.h"

namespace tally::losses::internal {
namespace {

using torch::autograd::variable_list;

class AloneNode final : public port::Node {
 public:
  AloneNode(const std::vector<at::Tensor>& inputs, sync::Adjoint adjoint)
      : adjoint_(std::move(adjoint)) {
    for (const at::Tensor& input : inputs) {
      add_next_edge(port::gradient_edge(input));
    }
  }

  std::string name() const override { return "tally::Alone"; }

 private:
  variable_list apply(variable_list&& gradients) override {
    if (!gradients[0].defined()) return variable_list(num_outputs());
    variable_list result = adjoint_(gradients);
    result.resize(num_outputs());
    return result;
  }

  sync::Adjoint adjoint_;
};

}  // namespace

using sync::Agreement;
using sync::Call;
using sync::Offer;

void check_features(const Call& call, const char* name,
                    const at::Tensor& features) {
  TORCH_CHECK_VALUE(features.defined(), call.name, ": expected ", name,
                    ", got an undefined tensor");
  TORCH_CHECK_VALUE(features.layout() == at::kStrided &&
                        features.is_floating_point() && features.dim() == 2,
                    call.name, ": expected ", name,
                    " of size [rows, features] and a ", "floating dtype, got ",
                    features.toString(), ' ', features.sizes());
}

void check_features(const Call& call, const char* name_a, const at::Tensor& a,
                    const char* name_b, const at::Tensor& b) {
  check_features(call, name_a, a);
  check_features(call, name_b, b);
  TORCH_CHECK_VALUE(a.sizes() == b.sizes() &&
                        a.scalar_type() == b.scalar_type() &&
                        a.device() == b.device(),
                    call.name, ": expected ", name_a, " and ", name_b,
                    " of one size, dtype and device, got ", a.toString(), ' ',
                    a.sizes(), " on ", a.device(), " and ", b.toString(), ' ',
                    b.sizes(), " on ", b.device());
}

double checked_number(const Call& call, const char* name,
                      const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(
      tensor.defined() && tensor.numel() == 1 && tensor.is_floating_point(),
      call.name, ": expected ", name, " to be one floating number, got ",
      shape_text(tensor));
  return tensor.item<double>();
}

void check_budget(const char* loss, std::int64_t bytes) {
  TORCH_CHECK_VALUE(bytes >= 0, loss,
                    ": expected logits_budget_bytes of at least 0, got ",
                    bytes);
}

RowAgreement agree_on_rows(const Call& call,
                           c10::function_ref<RowOffer()> prepare) {
  const Agreement agreement = sync::agree(call, [&] {
    const RowOffer own = prepare();
    Offer offer;
    offer.schema = own.schema;
    offer.has_graph = own.has_graph;
    Encoder(offer.payload).integer(own.rows);
    return offer;
  });
  std::vector<std::int64_t> rows;
  for (const std::string_view payload : agreement.payloads) {
    rows.push_back(Decoder(payload).integer());
  }
  return {RankRows(std::move(rows)), agreement.sequence, agreement.any_graph};
}

Untouched::Untouched(bool has_backward, at::TensorList tensors) {
  if (!has_backward) return;
  for (const at::Tensor& tensor : tensors) {
    // Its graph would hold on to itself.
    tensors_.emplace_back(tensor.detach());
  }
}

void Untouched::check(const Call& call) const {
  for (const UntouchedTensor& tensor : tensors_) {
    tensor.get(call.name, "an input");
  }
}

std::vector<double> agree_on_gradients(const Call& backward,
                                       const at::Tensor& gradient,
                                       const Untouched& inputs) {
  const Agreement agreement = sync::agree(backward, [&] {
    TORCH_CHECK(!at::GradMode::is_enabled(), backward.name,
                ": second-order gradients are not supported in tiles; the "
                "other implementations support them");
    inputs.check(backward);
    Offer offer;
    Encoder(offer.payload).real(gradient.item<double>());
    return offer;
  });
  std::vector<double> gradients;
  for (const std::string_view payload : agreement.payloads) {
    gradients.push_back(Decoder(payload).real());
  }
  return gradients;
}

at::Tensor attach_alone(const std::vector<at::Tensor>& inputs,
                        const at::Tensor& output, sync::Adjoint adjoint) {
  at::Tensor attached = output.detach();
  if (std::any_of(inputs.begin(), inputs.end(), sync::has_graph)) {
    port::set_node(attached,
                   port::make_node<AloneNode>(inputs, std::move(adjoint)));
  }
  return attached;
}

double mean(double sum, double count) { return count == 0 ? 0 : sum / count; }

at::Tensor mean_over_ranks(const Call& call, const at::Tensor& loss) {
  return sync::all_reduce(loss.to(at::kDouble), sync::Reduction::kMean,
                          call.communicator, call.timeout)
      .to(loss.scalar_type());
}

at::Tensor differentiable_once(const Call& call, const at::Tensor& tensor,
                               const char* reason) {
  if (!sync::has_graph(tensor)) return tensor;
  return sync::attach(tensor, tensor,
                      [name = call.name, reason](const at::Tensor& gradient) {
                        TORCH_CHECK(!at::GradMode::is_enabled(), name,
                                    ": second-order gradients ", reason);
                        return gradient;
                      });
}

double sum_over_ranks(const Call& call, double value) {
  if (call.size() == 1) return value;
  at::Tensor sum =
      at::scalar_tensor(value, at::TensorOptions()
                                   .dtype(at::kDouble)
                                   .device(call.communicator->device()));
  call.communicator->all_reduce(sum, sync::ReduceOp::kSum, call.timeout);
  return sum.item<double>();
}

at::Tensor number_like(const at::Tensor& input, double value) {
  if (!input.requires_grad()) return at::Tensor();
  return at::full_like(input.detach(), value);
}

}  // namespace tally::losses::internal
