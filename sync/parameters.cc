#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/gradient_layout.h"
#include "tally/sync/exchange/parameter_list.h"
#include "tally/sync/exchange/readiness.h"
#include "tally/sync/exchange/tensors.h"

namespace tally::sync {
namespace {

constexpr const char* kAverageGradients = "average_gradients";

void check_gradients(const std::vector<at::Tensor>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    TORCH_CHECK_VALUE(parameters[i].defined(), kAverageGradients,
                      ": parameter ", i, " is undefined");
    internal::check_gradient(kAverageGradients, i, parameters[i].grad());
  }
}

/// One bit for each parameter that has a gradient.
std::string gradient_bits(const std::vector<at::Tensor>& parameters) {
  std::string bits = internal::no_bits(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].grad().defined()) internal::set_bit(bits, i);
  }
  return bits;
}

/// All ranks' bits, together with these.
std::string bits_of_ranks(const internal::Contributions& all,
                          std::string bits) {
  for (const std::string_view payload : all.payloads) {
    internal::add_bits(kAverageGradients, bits, payload);
  }
  return bits;
}

/// Of the parameters that have a bit.
std::int64_t bytes_of(const std::vector<at::Tensor>& parameters,
                      const std::string& bits) {
  std::int64_t bytes = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!internal::has_bit(bits, i)) continue;
    bytes += static_cast<std::int64_t>(parameters[i].nbytes());
  }
  return bytes;
}

/// The gradients of the parameters that are summed in one dtype, in a row.
class Bucket {
 public:
  Bucket(const std::vector<at::Tensor>& parameters, const std::string& bits,
         at::ScalarType dtype, c10::Device device) {
    std::int64_t size = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& parameter = parameters[i];
      if (!internal::has_bit(bits, i)) continue;
      if (internal::gradient_sum_dtype(parameter.scalar_type()) != dtype) {
        continue;
      }
      parameters_.push_back(parameter);
      size += internal::reals(parameter).numel();
    }
    flat_ = at::empty({size}, at::TensorOptions().dtype(dtype).device(device));
    for_each([](const at::Tensor& parameter, at::Tensor slice) {
      const at::Tensor& gradient = parameter.grad();
      gradient.defined() ? slice.copy_(internal::reals(gradient))
                         : slice.zero_();
    });
  }

  void average(Communicator& communicator, Timeout timeout) {
    if (flat_.numel() == 0) return;
    communicator.all_reduce(flat_, ReduceOp::kSum, timeout);
    flat_.div_(communicator.size());
  }

  void write_back() const {
    for_each([](const at::Tensor& parameter, const at::Tensor& slice) {
      internal::reals(internal::ensure_gradient(parameter)).copy_(slice);
    });
  }

 private:
  template <class Call>
  void for_each(const Call& call) const {
    std::int64_t begin = 0;
    for (const at::Tensor& parameter : parameters_) {
      const at::Tensor shape = internal::reals(parameter);
      call(parameter,
           flat_.narrow(0, begin, shape.numel()).view(shape.sizes()));
      begin += shape.numel();
    }
  }

  std::vector<at::Tensor> parameters_;
  at::Tensor flat_;
};

/// Those of the parameters that have a bit.
std::vector<Bucket> fill_buckets(const std::vector<at::Tensor>& parameters,
                                 const std::string& bits, c10::Device device) {
  std::vector<Bucket> buckets;
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    buckets.emplace_back(parameters, bits, dtype, device);
  }
  return buckets;
}

/// Sums for which the ranks have agreed on parameters.
std::vector<Bucket> averaged(const std::vector<at::Tensor>& parameters,
                             Communicator& communicator, Timeout timeout) {
  std::vector<Bucket> buckets;
  std::string bits;
  const internal::Contribution own = internal::prepared(
      communicator, {internal::ExchangeKind::kGradients, kAverageGradients},
      timeout, [&](internal::Contribution& mine) {
        check_gradients(parameters);
        if (!parameters.empty()) mine.device = parameters[0].device();
        mine.schema = [&parameters] { return internal::list_of(parameters); };
        mine.fingerprint = internal::fingerprint_of(parameters);
        bits = gradient_bits(parameters);
        mine.payload = std::make_shared<const std::string>(bits);
        // As a rule all ranks have the same gradients: what fails for want of
        // memory fails here.
        buckets =
            fill_buckets(parameters, bits,
                         internal::likely_device(communicator, mine.device));
      });
  const internal::Contributions all =
      internal::Exchange::run(communicator, own, timeout);
  or_give_up(communicator, [&] {
    const std::string of_any = bits_of_ranks(all, bits);
    const bool same =
        std::all_of(all.payloads.begin(), all.payloads.end(),
                    [&](auto of_rank) { return of_rank == of_any; });
    if (!same || communicator.accelerator()) {
      internal::make_ready(
          communicator, {kAverageGradients, all.sequence, timeout},
          bytes_of(parameters, of_any), [&] {
            const c10::Device device =
                internal::likely_device(communicator, own.device);
            if (same && device == all.device) return;
            buckets.clear();
            buckets = fill_buckets(parameters, of_any, all.device);
          });
    }
    for (Bucket& bucket : buckets) bucket.average(communicator, timeout);
  });
  return buckets;
}

}  // namespace

void average_gradients(const std::vector<at::Tensor>& parameters,
                       std::shared_ptr<Communicator> communicator,
                       Timeout timeout) {
  const AskedBy asked(kAverageGradients);
  if (!communicator) communicator = default_communicator();
  const at::NoGradGuard no_grad;
  if (communicator->size() == 1) {
    check_gradients(parameters);
    return;
  }
  for (const Bucket& bucket : averaged(parameters, *communicator, timeout)) {
    bucket.write_back();
  }
}

namespace {

// Where a slice of bytes begins, any dtype may.
constexpr std::int64_t kAlignment = 16;

/// Calls use(tensor, begin, bytes) for each tensor's place in a flat copy, and
/// returns that one's size.
template <class Use>
std::int64_t for_each_place(const std::vector<at::Tensor>& tensors,
                            const Use& use) {
  std::int64_t begin = 0;
  for (const at::Tensor& tensor : tensors) {
    const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
    use(tensor, begin, bytes);
    begin += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return begin;
}

/// Of all tensors, if `filled`.
at::Tensor flat_copy(const std::vector<at::Tensor>& tensors, bool filled,
                     c10::Device device) {
  const std::int64_t size = for_each_place(tensors, [](auto&&...) {});
  const at::Tensor flat =
      at::empty({size}, at::TensorOptions().dtype(at::kByte).device(device));
  if (!filled) return flat;
  for_each_place(tensors, [&](const at::Tensor& tensor, std::int64_t begin,
                              std::int64_t bytes) {
    flat.narrow(0, begin, bytes)
        .copy_(plain(tensor).reshape({-1}).view(at::kByte));
  });
  return flat;
}

}  // namespace

void broadcast_parameters(const std::vector<at::Tensor>& tensors, int root,
                          std::shared_ptr<Communicator> communicator,
                          Timeout timeout) {
  const Call call("broadcast_parameters", std::move(communicator), timeout);
  const AskedBy asked = call.asked();
  const at::NoGradGuard no_grad;
  at::Tensor flat;
  const auto prepare = [&] {
    TORCH_CHECK_VALUE(root >= 0 && root < call.size(), call.name,
                      ": expected a root below ", call.size(), ", got ", root);
    for (const at::Tensor& tensor : tensors) {
      internal::check_dense(call, tensor);
      TORCH_CHECK_VALUE(
          at::has_internal_overlap(tensor) != at::MemOverlap::Yes, call.name,
          ": expected each element to have its own memory, got an "
          "expanded tensor of sizes ",
          tensor.sizes());
      TORCH_CHECK_VALUE(
          call.rank() == root || internal::is_writable(tensor), call.name,
          ": expected tensors that can be written to, got an inference tensor "
          "outside inference mode, of sizes ",
          tensor.sizes());
    }
    internal::TensorOffer offer;
    offer.schema =
        c10::str("from rank ", root, ", ", internal::list_of(tensors));
    if (!tensors.empty()) offer.device = tensors[0].device();
    if (call.size() == 1) return offer;
    flat = flat_copy(tensors, call.rank() == root,
                     internal::likely_device(*call.communicator, offer.device));
    offer.moves = flat.numel() > 0;
    return offer;
  };
  if (call.size() == 1) {
    prepare();
    return;
  }
  const internal::TensorAgreement agreement =
      internal::agree_on_tensors(call, prepare);
  if (!agreement.any_moves) return;
  carry_out(call, agreement, [&] {
    bring(call, agreement, flat);
    call.communicator->broadcast(flat, root, timeout);
  });
  if (call.rank() == root) return;
  for_each_place(tensors, [&](const at::Tensor& tensor, std::int64_t begin,
                              std::int64_t bytes) {
    tensor.detach().copy_(flat.narrow(0, begin, bytes)
                              .view(tensor.scalar_type())
                              .view(tensor.sizes()));
  });
}

}  // namespace tally::sync
