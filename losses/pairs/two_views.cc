#include "tally/losses/pairs/two_views.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"

namespace tally::losses::internal {

using sync::internal::Call;

at::Tensor replicated_sum(const Call& call, const at::Tensor& own) {
  if (call.size() == 1) return own;
  at::Tensor sum = own.detach()
                       .to(call.communicator->device(), own.scalar_type(),
                           /*non_blocking=*/false, /*copy=*/true)
                       .contiguous();
  call.communicator->all_reduce(sum, sync::ReduceOp::kSum, call.timeout);
  return sync::internal::replace_values(
      sync::internal::scale_gradient(own, call.size()), sum.to(own.device()));
}

void check_rows_of_all_ranks(const Call& call, double rows) {
  TORCH_CHECK_VALUE(rows >= 2, call.name,
                    ": expected at least 2 rows over all ranks, got ", rows);
}

CentredViews centred_views(
    const Call& call,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> views) {
  CentredViews result;
  const at::Tensor sums =
      sync::internal::reduce(call, sync::Reduction::kSum, [&] {
        const auto [a, b] = views();
        const at::ScalarType dtype = sync::internal::wide(a.scalar_type());
        result.a = a.to(dtype);
        result.b = b.to(dtype);
        const auto sum = [](const at::Tensor& view) {
          return view.detach().sum({0}, false, at::kDouble).flatten();
        };
        const at::Tensor count =
            at::full({1}, static_cast<double>(a.size(0)),
                     at::TensorOptions().dtype(at::kDouble).device(a.device()));
        return at::cat({sum(a), sum(b), count});
      });
  const std::int64_t size = (sums.size(0) - 1) / 2;
  result.rows = sums[2 * size].item<double>();
  check_rows_of_all_ranks(call, result.rows);
  const auto centred = [&](const at::Tensor& view, std::int64_t first) {
    const at::Tensor mean = sums.narrow(0, first, size).div(result.rows);
    return view.sub(mean.view(view.sizes().slice(1)).to(view.scalar_type()));
  };
  result.a = centred(result.a, 0);
  result.b = centred(result.b, size);
  return result;
}

}  // namespace tally::losses::internal
