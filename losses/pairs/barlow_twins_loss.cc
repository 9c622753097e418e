#include "tally/losses/pairs/barlow_twins_loss.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>

#include <utility>

#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/loss_call.h"
#include "tally/losses/pairs/two_views.h"
#include "tally/sync/agree.h"

namespace tally::losses {
namespace {

constexpr const char* kName = "BarlowTwinsLoss";

void check(const BarlowTwinsLossOptions& options) {
  TORCH_CHECK_VALUE(options.lambda() >= 0, kName,
                    ": expected lambda of at least 0, got ", options.lambda());
  TORCH_CHECK_VALUE(options.eps() > 0, kName, ": expected eps above 0, got ",
                    options.eps());
}

}  // namespace

namespace functional {

at::Tensor barlow_twins_loss(const at::Tensor& a, const at::Tensor& b,
                             const BarlowTwinsLossOptions& options) {
  const internal::AutocastOff as_written;
  const sync::Call call(kName, options.communicator(), options.timeout());
  const internal::CentredViews views = internal::centred_views(call, [&] {
    check(options);
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

}  // namespace functional

BarlowTwinsLossImpl::BarlowTwinsLossImpl(BarlowTwinsLossOptions options)
    : options_(std::move(options)) {
  check(options_);
}

at::Tensor BarlowTwinsLossImpl::forward(const at::Tensor& a,
                                        const at::Tensor& b) {
  return functional::barlow_twins_loss(a, b, options_);
}

void BarlowTwinsLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tally::losses::BarlowTwinsLoss(lambda=" << options_.lambda()
         << ')';
}

}  // namespace tally::losses
