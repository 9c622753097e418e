#include "tally/sync/broadcast_parameters.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/exchange/parameter_list.h"
#include "tally/sync/exchange/tensors.h"

namespace tally::sync {
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
      TORCH_CHECK_VALUE(at::has_internal_overlap(tensor) != at::MemOverlap::Yes,
                        call.name,
                        ": expected memory of its own for each element, got an "
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
