#include "tally/sync/agreed_sum.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros_like.h>

#include <cstring>

#include "tally/sync/fingerprint.h"

namespace tally::sync {

void agreed_sum(Communicator& communicator, ExchangeKind kind,
                std::string_view label, at::Tensor& flat, Timeout timeout) {
  TORCH_CHECK_VALUE(
      flat.dim() == 1 && flat.is_contiguous() && !flat.requires_grad(),
      "expected a flat contiguous tensor without a graph");
  const auto schema = [&] {
    return c10::str(flat.numel(), " elements of ", flat.scalar_type());
  };
  const bool eager =
      static_cast<std::int64_t>(flat.nbytes()) <= Exchange::kEagerBytes;
  const at::Tensor bytes = eager ? flat.cpu() : at::Tensor();

  Contribution own{kind, label, fingerprint(schema()), schema};
  if (eager && flat.numel() > 0) {
    own.payload = {static_cast<const char*>(bytes.const_data_ptr()),
                   flat.nbytes()};
  }
  const Contributions all = Exchange::run(communicator, own, timeout);
  if (!eager) {
    at::Tensor moved = flat.to(communicator.device());
    communicator.all_reduce(moved, ReduceOp::kSum, timeout);
    if (!moved.is_same(flat)) flat.copy_(moved);
    return;
  }
  at::Tensor sum = at::zeros_like(bytes);
  at::Tensor part = at::zeros_like(bytes);
  for (const std::string_view payload : all.payloads) {
    if (payload.empty()) continue;
    std::memcpy(part.mutable_data_ptr(), payload.data(), payload.size());
    sum.add_(part);
  }
  flat.copy_(sum);
}

}  // namespace tally::sync
