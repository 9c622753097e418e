#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/shape_text.h"
#include "tally/losses/common/two_views.h"
#include "tally/losses/pairs/barlow_twins_loss.h"
#include "tally/losses/pairs/fused_barlow_twins.h"
#include "tally/losses/pairs/vicreg_loss.h"
#include "tally/metrics/common/fused.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

constexpr const char* kBarlowTwinsLoss = "BarlowTwinsLoss";

void check_barlow_twins(const BarlowTwinsLossOptions& options) {
  TORCH_CHECK_VALUE(options.lambda() >= 0, kBarlowTwinsLoss,
                    ": expected lambda of at least 0, got ", options.lambda());
  TORCH_CHECK_VALUE(options.eps() > 0, kBarlowTwinsLoss,
                    ": expected eps above 0, got ", options.eps());
}

/// By LibTorch's functions: for several ranks, other devices and second-order
/// gradients.
at::Tensor composite_barlow_twins(const sync::Call& call, const at::Tensor& a,
                                  const at::Tensor& b,
                                  const BarlowTwinsLossOptions& options) {
  const internal::CenteredViews views = internal::centered_views(call, [&] {
    check_barlow_twins(options);
    internal::check_features(call, "a", a, "b", b);
    return std::pair(a, b);
  });
  if (views.rows == 0) return internal::loss_without_rows({a, b});
  const std::int64_t features = a.size(1);
  const at::Tensor moments = sync::or_give_up(*call.communicator, [&] {
    return internal::replicated_sum(
               call,
               at::cat({views.a.t().matmul(views.b).flatten(),
                        views.a.square().sum(0), views.b.square().sum(0)}))
        .div(views.rows);
  });
  const auto part = [&](std::int64_t number) {
    return moments.narrow(0, (features + number) * features, features)
        .add(options.eps())
        .rsqrt();
  };
  const at::Tensor correlations = moments.narrow(0, 0, features * features)
                                      .view({features, features})
                                      .mul(part(0).unsqueeze(1))
                                      .mul(part(1));
  const at::Tensor others = correlations.masked_fill(
      at::eye(features, correlations.options().dtype(at::kBool)), 0);
  return correlations.diagonal().sub(1).square().sum().add(
      others.square().sum().mul(options.lambda()));
}

}  // namespace

namespace functional {

at::Tensor barlow_twins_loss(const at::Tensor& a, const at::Tensor& b,
                             const BarlowTwinsLossOptions& options) {
  const internal::AutocastOff as_written;
  const sync::Call call(kBarlowTwinsLoss, options.communicator(),
                        options.timeout());
  if (call.size() == 1) {
    check_barlow_twins(options);
    internal::check_features(call, "a", a, "b", b);
    const at::Tensor x = internal::in_dtype_of_losses(a),
                     y = internal::in_dtype_of_losses(b);
    if (x.size(0) > 1 && tally::internal::are_fusible({x, y})) {
      return internal::fused_barlow_twins(
          x, y, options.lambda(), options.eps(),
          [call, options](const at::Tensor& first, const at::Tensor& second) {
            return composite_barlow_twins(call, first, second, options);
          });
    }
  }
  return composite_barlow_twins(call, a, b, options);
}

}  // namespace functional

BarlowTwinsLossImpl::BarlowTwinsLossImpl(BarlowTwinsLossOptions options)
    : LossModule(std::move(options)) {
  check_barlow_twins(options_);
}

at::Tensor BarlowTwinsLossImpl::forward(const at::Tensor& a,
                                        const at::Tensor& b) {
  return functional::barlow_twins_loss(a, b, options_);
}

namespace {

constexpr const char* kVICRegLoss = "VICRegLoss";

void check_vicreg(const VICRegLossOptions& options) {
  const auto check_weight = [](const char* name, double weight) {
    TORCH_CHECK_VALUE(weight >= 0, kVICRegLoss, ": expected ", name,
                      " of at least 0, got ", weight);
  };
  check_weight("lambda", options.lambda());
  check_weight("mu", options.mu());
  check_weight("nu", options.nu());
  TORCH_CHECK_VALUE(options.eps() > 0, kVICRegLoss,
                    ": expected eps above 0, got ", options.eps());
}

void check_view(const char* name, const at::Tensor& view) {
  TORCH_CHECK_VALUE(view.defined() && view.layout() == at::kStrided &&
                        view.is_floating_point() && view.dim() >= 2,
                    kVICRegLoss, ": expected ", name,
                    " of size [rows, ..., features] and a floating dtype, got ",
                    internal::shape_text(view));
}

/// [positions, D, D]: the sums over this rank's rows of products of features.
at::Tensor products(const at::Tensor& centered) {
  const at::Tensor by_position =
      centered.flatten(1, -2).transpose(0, 1);  // [positions, n, D]
  return by_position.transpose(1, 2).matmul(by_position);
}

/// Mean over features, and positions.
at::Tensor variance_term(const at::Tensor& covariances, double eps) {
  return covariances.diagonal(0, 1, 2)
      .add(eps)
      .sqrt()
      .neg()
      .add(1)
      .relu()
      .mean();
}

at::Tensor covariance_term(const at::Tensor& covariances) {
  const std::int64_t features = covariances.size(1);
  return covariances
      .masked_fill(at::eye(features, covariances.options().dtype(at::kBool)), 0)
      .square()
      .sum({1, 2})
      .div(static_cast<double>(features))
      .mean();
}

}  // namespace

namespace functional {

at::Tensor vicreg_loss(const at::Tensor& a, const at::Tensor& b,
                       const VICRegLossOptions& options) {
  const internal::AutocastOff as_written;
  const sync::Call call(kVICRegLoss, options.communicator(), options.timeout());
  const internal::CenteredViews views = internal::centered_views(call, [&] {
    check_vicreg(options);
    check_view("a", a);
    check_view("b", b);
    TORCH_CHECK_VALUE(
        a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
            a.device() == b.device(),
        kVICRegLoss, ": expected a and b of one size, dtype and device, got ",
        internal::shape_text(a), " on ", a.device(), " and ",
        internal::shape_text(b), " on ", b.device());
    // A position between rows and features, if there is none.
    return a.dim() == 2 ? std::pair(a.unsqueeze(1), b.unsqueeze(1))
                        : std::pair(a, b);
  });
  if (views.rows == 0) return internal::loss_without_rows({a, b});
  const at::ScalarType dtype = views.a.scalar_type();
  at::Tensor of_a, of_b;
  const at::Tensor sums = sync::or_give_up(*call.communicator, [&] {
    of_a = products(views.a);
    of_b = products(views.b);
    const at::Tensor squares = a.to(dtype).sub(b.to(dtype)).square().sum();
    return internal::replicated_sum(
        call, at::cat({of_a.flatten(), of_b.flatten(), squares.reshape({1})}));
  });
  const auto covariances = [&](std::int64_t first) {
    return sums.narrow(0, first, of_a.numel())
        .view(of_a.sizes())
        .div(views.rows - 1);
  };
  const at::Tensor cov_a = covariances(0), cov_b = covariances(of_a.numel());
  const double numbers =
      views.rows *
      static_cast<double>(c10::multiply_integers(a.sizes().slice(1)));
  const at::Tensor invariance = sums[2 * of_a.numel()].div(numbers);
  const at::Tensor variance = variance_term(cov_a, options.eps())
                                  .add(variance_term(cov_b, options.eps()))
                                  .div(2);
  return invariance.mul(options.lambda())
      .add(variance.mul(options.mu()))
      .add(
          covariance_term(cov_a).add(covariance_term(cov_b)).mul(options.nu()));
}

}  // namespace functional

VICRegLossImpl::VICRegLossImpl(VICRegLossOptions options)
    : LossModule(std::move(options)) {
  check_vicreg(options_);
}

at::Tensor VICRegLossImpl::forward(const at::Tensor& a, const at::Tensor& b) {
  return functional::vicreg_loss(a, b, options_);
}

template class internal::LossModule<BarlowTwinsLossImpl,
                                    BarlowTwinsLossOptions>;
template class internal::LossModule<VICRegLossImpl, VICRegLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::BarlowTwinsLossImpl>;
template class torch::nn::Cloneable<tally::losses::VICRegLossImpl>;
