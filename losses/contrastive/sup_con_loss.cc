#include "tally/losses/contrastive/sup_con_loss.h"

#include <ATen/ops/arange.h>

#include <utility>

#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/same_label_loss.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"

namespace tally::losses {
namespace {

using internal::RowAgreement;
using internal::RowOffer;
using internal::SameLabelInputs;
using sync::Call;

constexpr const char* kName = "SupConLoss";

void check(const SupConLossOptions& options) {
  TORCH_CHECK_VALUE(options.temperature() > 0, kName,
                    ": expected a temperature above 0, got ",
                    options.temperature());
  TORCH_CHECK_VALUE(options.base_temperature() >= 0, kName,
                    ": expected base_temperature of at least 0, got ",
                    options.base_temperature());
  TORCH_CHECK_VALUE(options.logits_budget_bytes() >= 0, kName,
                    ": expected logits_budget_bytes of at least 0, got ",
                    options.logits_budget_bytes());
}

void check(const at::Tensor& features, const at::Tensor& labels) {
  TORCH_CHECK_VALUE(features.defined(), kName,
                    ": expected features, got an undefined tensor");
  TORCH_CHECK_VALUE(features.layout() == at::kStrided &&
                        features.is_floating_point() &&
                        (features.dim() == 2 || features.dim() == 3),
                    kName,
                    ": expected features of size [rows, features] or [rows, "
                    "views, features] and a floating dtype, got ",
                    features.toString(), ' ', features.sizes());
  if (!labels.defined()) return;
  TORCH_CHECK_VALUE(
      at::isIntegralType(labels.scalar_type(), /*includeBool=*/false) &&
          labels.dim() == 1 && labels.size(0) == features.size(0),
      kName, ": expected ", features.size(0), " integer labels, got ",
      labels.toString(), ' ', labels.sizes());
}

}  // namespace

namespace functional {

at::Tensor sup_con_loss(const at::Tensor& features, const at::Tensor& labels,
                        const SupConLossOptions& options) {
  const internal::AutocastOff autocast_off;
  const Call call(kName, options.communicator(), options.timeout());
  SameLabelInputs inputs;
  std::int64_t views = 1;
  const RowAgreement agreement = internal::agree_on_rows(call, [&] {
    check(options);
    check(features, labels);
    if (features.dim() == 3) views = features.size(1);
    inputs = {features.reshape({features.size(0) * views, features.size(-1)}),
              at::Tensor(), 1 / options.temperature(),
              options.pairwise_logits(), options.logits_budget_bytes()};
    const bool tiled = internal::has_tiles(inputs);
    return RowOffer{
        inputs.z.size(0),
        c10::str(features.scalar_type(), " rows of ", views, " views of ",
                 features.size(-1), ", temperature ", options.temperature(),
                 ", base_temperature ", options.base_temperature(),
                 labels.defined() ? ", with labels" : "",
                 tiled ? ", tiled" : ""),
        tiled && sync::has_graph(inputs.z)};
  });
  const at::Tensor loss = sync::or_give_up(*call.communicator, [&] {
    const std::int64_t samples = features.size(0);
    at::Tensor ids;
    if (labels.defined()) {
      ids = labels.detach().to(at::kCPU, at::kLong);
    } else {
      const std::int64_t first =
          views == 0 ? 0 : agreement.rows.before(call.rank()) / views;
      ids = at::arange(first, first + samples, at::kLong);
    }
    inputs.labels =
        ids.unsqueeze(1).expand({samples, views}).reshape({samples * views});
    return internal::same_label_loss(call, agreement, inputs);
  });
  if (options.base_temperature() == 0) return loss;
  return loss.mul(options.temperature() / options.base_temperature());
}

}  // namespace functional

SupConLossImpl::SupConLossImpl(SupConLossOptions options)
    : options_(std::move(options)) {
  check(options_);
}

at::Tensor SupConLossImpl::forward(const at::Tensor& features,
                                   const at::Tensor& labels) const {
  return functional::sup_con_loss(features, labels, options_);
}

void SupConLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tally::losses::SupConLoss(temperature=" << options_.temperature()
         << ')';
}

}  // namespace tally::losses
