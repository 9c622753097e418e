#include "tally/sync/statistics.h"

#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/exchange/average.h"
#include "tally/sync/exchange/tensor_collectives.h"
#include "tally/sync/reduce.h"

namespace tally::sync {
namespace {

const at::Tensor& without_graph(const Call& call, const at::Tensor& tensor,
                                const char* differentiable) {
  TORCH_CHECK_VALUE(!has_graph(tensor), call.name,
                    ": expected a tensor without a graph, since the result "
                    "carries none; ",
                    differentiable, " keeps it, detach() drops it");
  return tensor;
}

}  // namespace

std::vector<at::Tensor> gather_statistics(
    const at::Tensor& tensor, std::shared_ptr<Communicator> communicator,
    Timeout timeout) {
  const Call call("gather_statistics", std::move(communicator), timeout);
  return internal::gather(
      call, GradientFlow::kDetached, internal::Alike::kDimensions,
      [&] { return without_graph(call, tensor, "gather_all_tensors"); });
}

at::Tensor sum_statistics(const at::Tensor& tensor,
                          std::shared_ptr<Communicator> communicator,
                          Timeout timeout) {
  const Call call("sum_statistics", std::move(communicator), timeout);
  return reduce(call, Reduction::kSum,
                [&] { return without_graph(call, tensor, "all_reduce"); });
}

at::Tensor mean_statistics(const at::Tensor& mean, double count,
                           std::shared_ptr<Communicator> communicator,
                           Timeout timeout) {
  const Call call("mean_statistics", std::move(communicator), timeout);
  return internal::average(call, count, GradientFlow::kDetached, [&] {
    return without_graph(call, mean, "average_over_ranks");
  });
}

}  // namespace tally::sync
