#include "tally/sync/gather.h"

#include <utility>

#include "tally/sync/exchange/tensor_collectives.h"

namespace tally::sync {

std::vector<at::Tensor> gather_all_tensors(
    const at::Tensor& tensor, GradientFlow flow,
    std::shared_ptr<Communicator> communicator, Timeout timeout) {
  const Call call("gather_all_tensors", std::move(communicator), timeout);
  return internal::gather(call, flow, internal::Alike::kDimensions,
                          [&] { return tensor; });
}

}  // namespace tally::sync
