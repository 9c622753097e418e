#include "tally/losses/common/two_views.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/shape_text.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"

namespace tally::losses::internal {
namespace {

using sync::Call;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor sum_of_rows(const at::Tensor& view) {
  return view.sum({0}, /*keepdim=*/false, at::kDouble).flatten();
}

/// `views` less their means over all ranks' rows, one view's after the other's
/// in `means` (float64).
variable_list less_means(const variable_list& views, const at::Tensor& means) {
  variable_list result;
  std::int64_t first = 0;
  for (const at::Tensor& view : views) {
    const std::int64_t size = c10::multiply_integers(view.sizes().slice(1));
    const at::Tensor mean =
        means.narrow(0, first, size).view(view.sizes().slice(1));
    first += size;
    const at::Tensor high = mean.to(view.scalar_type());
    result.push_back(view.sub(high));
    if (view.scalar_type() == at::kDouble) continue;
    // What the mean loses in the view's dtype may be large beside what is left.
    result.back() = result.back().sub(mean.sub(high).to(view.scalar_type()));
  }
  return result;
}

struct Center : torch::autograd::Function<Center> {
  struct Holder : torch::CustomClassHolder {
    Holder(Call c, double r) : call(std::move(c)), rows(r) {}
    Call call;  ///< of gradients' own backward pass
    double rows;
  };

  static variable_list forward(AutogradContext* context, at::TensorList views,
                               const at::Tensor& means,
                               c10::intrusive_ptr<Holder> holder) {
    context->saved_data["holder"] = at::IValue::make_capsule(std::move(holder));
    return less_means(views.vec(), means);
  }

  // The gradients less their means over all rows; these are 0. Their
  // derivatives are not.
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto capsule = context->saved_data["holder"].toCapsule();
    const auto& holder = static_cast<const Holder&>(*capsule);
    if (at::GradMode::is_enabled()) {
      gradients = sync::attach(
          gradients, gradients,
          [call = holder.call,
           rows = holder.rows](const variable_list& seconds) {
            variable_list sums;
            for (const at::Tensor& second : seconds) {
              sums.push_back(sum_of_rows(second));
            }
            return less_means(seconds,
                              sync::reduce(call, sync::Reduction::kSum, [&] {
                                return at::cat(sums);
                              }).div(rows));
          });
    }
    gradients.resize(gradients.size() + 2);
    return gradients;
  }
};

}  // namespace

at::Tensor replicated_sum(const Call& call, const at::Tensor& own) {
  if (call.size() == 1) return own;
  at::Tensor sum = own.detach()
                       .to(call.communicator->device(), own.scalar_type(),
                           /*non_blocking=*/false, /*copy=*/true)
                       .contiguous();
  call.communicator->all_reduce(sum, sync::ReduceOp::kSum, call.timeout);
  return sync::replicated(call, own, sum.to(own.device()), call.size());
}

void check_rows_of_all_ranks(const Call& call, double rows) {
  TORCH_CHECK_VALUE(rows != 1, call.name,
                    ": expected at least 2 rows over all ranks, or none, "
                    "got 1");
}

at::Tensor loss_without_rows(at::TensorList inputs) {
  at::Tensor loss =
      at::zeros({}, inputs[0].options().dtype(
                        sync::accumulate_dtype(inputs[0].scalar_type())));
  for (const at::Tensor& input : inputs) {
    if (sync::has_graph(input)) {
      loss = sync::tie(loss, input);
    }
  }
  return loss;
}

CenteredViews centered_views(
    const Call& call,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> views) {
  variable_list wide;
  CenteredViews result;
  const at::Tensor sums = sync::or_give_up(*call.communicator, [&] {
    const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
      const auto [a, b] = views();
      const at::ScalarType dtype = sync::accumulate_dtype(a.scalar_type());
      wide = {a.to(dtype), b.to(dtype)};
      const at::Tensor count =
          at::full({1}, static_cast<double>(a.size(0)),
                   at::TensorOptions().dtype(at::kDouble).device(a.device()));
      return at::cat({sum_of_rows(a.detach()), sum_of_rows(b.detach()), count});
    });
    result.rows = all[all.size(0) - 1].item<double>();
    return all;
  });
  check_rows_of_all_ranks(call, result.rows);
  if (result.rows == 0) return result;
  sync::or_give_up(*call.communicator, [&] {
    const variable_list centered =
        Center::apply(at::TensorList(wide),
                      sums.narrow(0, 0, sums.size(0) - 1).div(result.rows),
                      c10::make_intrusive<Center::Holder>(
                          call.backward_of_gradient(), result.rows));
    result.a = centered[0];
    result.b = centered[1];
  });
  return result;
}

}  // namespace tally::losses::internal
