#include "tally/sync/reduce.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>
#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/exchange/tensors.h"

namespace tally::sync {
namespace {

using internal::bring;
using internal::carry_out;
using internal::check_reducible;
using internal::make_ready;
using internal::Parcel;
using internal::parcels_of;
using internal::TensorAgreement;
using internal::TensorOffer;

constexpr std::uint32_t kHasNan = internal::flags::kFirstOwn;

// The ranks' tensors in rank order, in the dtype of sums, on the device of this
// rank's.
std::vector<at::Tensor> tensors_at_hand(const Call& call,
                                        const TensorAgreement& agreement,
                                        const at::Tensor& own) {
  if (call.size() == 1) {
    return {internal::own_copy(own).to(accumulate_dtype(own.scalar_type()))};
  }
  std::vector<at::Tensor> tensors;
  for (const Parcel& parcel : parcels_of(call, agreement, 1)) {
    tensors.push_back(
        parcel.tensor(0).to(own.device(), accumulate_dtype(parcel.dtype)));
  }
  return tensors;
}

template <class Merge>
at::Tensor fold(const std::vector<at::Tensor>& tensors, const Merge& merge) {
  at::Tensor result = tensors[0];
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    result = merge(result, tensors[i]);
  }
  return result;
}

at::Tensor add(const at::Tensor& a, const at::Tensor& b) { return a.add(b); }

// A copy that the communicator can reduce in place, where it can do so.
at::Tensor reducible(const at::Tensor& tensor, c10::Device device) {
  const at::Tensor copy =
      tensor.to(at::TensorOptions()
                    .dtype(accumulate_dtype(tensor.scalar_type()))
                    .device(device),
                /*non_blocking=*/false, /*copy=*/true);
  return copy.is_complex() ? at::view_as_real(copy) : copy;
}

// Of tensors that are not at hand: in place of `moved`, a reducible copy of
// this rank's.
at::Tensor all_sum(const Call& call, at::Tensor moved, const at::Tensor& own) {
  call.communicator->all_reduce(moved, ReduceOp::kSum, call.timeout);
  if (own.is_complex()) moved = at::view_as_complex(moved);
  return moved.to(own.device());
}

// NaN wins, as in at::maximum; a transport would let that depend on the order.
at::Tensor all_extreme(const Call& call, at::Tensor moved,
                       const at::Tensor& own, bool largest,
                       const TensorAgreement& agreement) {
  bool any_nan = false;
  for (std::uint32_t flags : agreement.flags) {
    any_nan |= (flags & kHasNan) != 0;
  }
  at::Tensor somewhere;
  if (any_nan) {
    make_ready(call, agreement, static_cast<std::int64_t>(own.nbytes()), [&] {
      const at::Tensor is_nan = moved.isnan();
      somewhere = is_nan.to(at::kByte);
      const double infinity = std::numeric_limits<double>::infinity();
      moved.masked_fill_(is_nan, largest ? -infinity : infinity);
    });
  }
  call.communicator->all_reduce(
      moved, largest ? ReduceOp::kMax : ReduceOp::kMin, call.timeout);
  if (any_nan) {
    call.communicator->all_reduce(somewhere, ReduceOp::kMax, call.timeout);
    moved.masked_fill_(somewhere.to(at::kBool),
                       std::numeric_limits<double>::quiet_NaN());
  }
  return moved.to(own.device());
}

bool has_nan(const at::Tensor& tensor) {
  return tensor.is_floating_point() && tensor.isnan().any().item<bool>();
}

at::Tensor equals(const at::Tensor& value, const at::Tensor& extreme) {
  return value.eq(extreme).logical_or(
      value.isnan().logical_and(extreme.isnan()));
}

// The gradient that arrives at the sum is the same on every rank, and each uses
// it for its own part. So a gradient of that gradient is the sum over ranks.
struct Replicated : torch::autograd::Function<Replicated> {
  struct Holder : torch::CustomClassHolder {
    Holder(Call c, double f) : call(std::move(c)), factor(f) {}
    Call call;  ///< of the gradient's own backward pass
    double factor;
  };

  static at::Tensor forward(torch::autograd::AutogradContext* context,
                            const at::Tensor& /*own*/, const at::Tensor& sum,
                            c10::intrusive_ptr<Holder> holder) {
    context->saved_data["holder"] = at::IValue::make_capsule(std::move(holder));
    return sum.clone();
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context,
      torch::autograd::variable_list gradients) {
    const auto capsule = context->saved_data["holder"].toCapsule();
    const auto& holder = static_cast<const Holder&>(*capsule);
    const at::Tensor& gradient = gradients[0];
    at::Tensor result = gradient.mul(holder.factor);
    if (at::GradMode::is_enabled() && gradient.requires_grad()) {
      result = attach(
          gradient, result,
          [call = holder.call, factor = holder.factor](const at::Tensor& own) {
            const at::Tensor sum =
                reduce(call, Reduction::kSum, [&] { return own.detach(); });
            return replicated(call, own, sum, factor);
          });
    }
    return {result, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor reduce(const Call& call, Reduction reduction,
                  c10::function_ref<at::Tensor()> prepare) {
  const AskedBy asked = call.asked();
  const bool extreme =
      reduction == Reduction::kMin || reduction == Reduction::kMax;
  at::Tensor tensor, own, moved;
  const TensorAgreement agreement = internal::agree_on_tensors(call, [&] {
    tensor = prepare();
    check_reducible(call, reduction, tensor);
    own = plain(tensor);
    TensorOffer offer;
    offer.schema = c10::str(to_string(reduction), " of ", own.scalar_type(),
                            " ", own.sizes());
    offer.has_graph = has_graph(tensor);
    offer.device = own.device();
    internal::pack(call, {own}, offer);
    if (extreme) own = own.to(accumulate_dtype(own.scalar_type()));
    if (extreme && has_nan(own)) offer.flags = kHasNan;
    // The ranks' tensors are alike: what fails for want of memory fails here.
    if (offer.moves) {
      moved = reducible(
          own, internal::likely_device(*call.communicator, own.device()));
    }
    return offer;
  });
  const at::ScalarType dtype = tensor.scalar_type();
  const Call backward = call.backward(agreement.sequence);
  if (agreement.any_moves) {
    carry_out(call, agreement, [&] { bring(call, agreement, moved); });
  }

  if (!extreme) {
    at::Tensor result = carry_out(call, agreement, [&] {
      return agreement.any_moves
                 ? all_sum(call, moved, own)
                 : fold(tensors_at_hand(call, agreement, own), add);
    });
    if (reduction == Reduction::kMean) result = result.div(call.size());
    result = result.to(internal::sum_dtype(dtype));
    if (!agreement.any_graph) return result;
    return attach(tensor, result, [=](const at::Tensor& gradient) {
      return reduce(backward, reduction, [&] { return gradient; });
    });
  }

  const bool largest = reduction == Reduction::kMax;
  at::Tensor result, mine, holders;
  carry_out(call, agreement, [&] {
    if (agreement.any_moves) {
      result = all_extreme(call, moved, own, largest, agreement);
      if (!agreement.any_graph) return;
      at::Tensor one;
      make_ready(call, agreement, static_cast<std::int64_t>(own.nbytes()), [&] {
        mine = equals(own, result);
        one = reducible(mine, agreement.device);
      });
      holders = all_sum(call, one, mine);
      return;
    }
    const auto ranks = tensors_at_hand(call, agreement, own);
    result = fold(ranks, [=](const auto& a, const auto& b) {
      return largest ? at::maximum(a, b) : at::minimum(a, b);
    });
    if (!agreement.any_graph) return;
    mine = equals(own, result);
    for (const at::Tensor& value : ranks) {
      const at::Tensor one = equals(value, result).to(at::kLong);
      holders = holders.defined() ? holders.add(one) : one;
    }
  });
  if (!agreement.any_graph) return result.to(dtype);
  return attach(tensor, result.to(dtype), [=](const at::Tensor& gradient) {
    const at::Tensor sum =
        reduce(backward, Reduction::kSum, [&] { return gradient; });
    return at::where(mine, sum.div(holders.to(sum.scalar_type())), 0);
  });
}

at::Tensor replicated(const Call& call, const at::Tensor& own,
                      const at::Tensor& sum, double factor) {
  if (!has_graph(own)) return sum;
  return Replicated::apply(own, sum,
                           c10::make_intrusive<Replicated::Holder>(
                               call.backward_of_gradient(), factor));
}

}  // namespace tally::sync
