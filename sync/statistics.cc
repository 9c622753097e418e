#include "tally/sync/statistics.h"

#include <utility>

#include "tally/sync/exchange/average.h"
#include "tally/sync/exchange/parts.h"
#include "tally/sync/exchange/reduce.h"

namespace tally::sync {
namespace {

using internal::Call;

const at::Tensor& without_graph(const Call& call, const at::Tensor& tensor,
                                const char* differentiable) {
  TORCH_CHECK_VALUE(!internal::has_graph(tensor), call.name,
                    ": expected a tensor without a graph, since the result "
                    "carries none; ",
                    differentiable, " keeps it, detach() drops it");
  return tensor;
}

}  // namespace

std::vector<at::Tensor> gather_statistics(
    const at::Tensor& tensor, std::shared_ptr<Communicator> communicator,
    Timeout timeout) {
  const Call call = internal::collective("gather_statistics",
                                         std::move(communicator), timeout);
  return internal::gather(
      call, GradientFlow::kDetached, internal::Alike::kDimensions,
      [&] { return without_graph(call, tensor, "gather_all_tensors"); });
}

at::Tensor sum_statistics(const at::Tensor& tensor,
                          std::shared_ptr<Communicator> communicator,
                          Timeout timeout) {
  const Call call =
      internal::collective("sum_statistics", std::move(communicator), timeout);
  return internal::reduce(call, Reduction::kSum, [&] {
    return without_graph(call, tensor, "all_reduce");
  });
}

at::Tensor mean_statistics(const at::Tensor& mean, double count,
                           std::shared_ptr<Communicator> communicator,
                           Timeout timeout) {
  const Call call =
      internal::collective("mean_statistics", std::move(communicator), timeout);
  return internal::average(call, count, GradientFlow::kDetached, [&] {
    return without_graph(call, mean, "average_over_ranks");
  });
}

}  // namespace tally::sync
