#include "tally/losses/pairs/coca_loss.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "tally/losses/autocast.h"
#include "tally/sync/reduce.h"

namespace tally::losses {
namespace {

using sync::Call;

constexpr const char* kName = "CoCaLoss";

void check(const CoCaLossOptions& options) {
  const auto check_weight = [](const char* name, double weight) {
    TORCH_CHECK_VALUE(weight >= 0, kName, ": expected ", name,
                      " of at least 0, got ", weight);
  };
  check_weight("caption_loss_weight", options.caption_loss_weight());
  check_weight("clip_loss_weight", options.clip_loss_weight());
  TORCH_CHECK_VALUE(
      !options.clip().local_loss(), kName,
      ": expected a contrastive loss that is the same on every rank, as the "
      "caption loss is, got local_loss");
}

std::string text_of(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.toString(), ' ', tensor.sizes())
                          : "an undefined tensor";
}

void check_captions(const at::Tensor& logits, const at::Tensor& labels,
                    std::int64_t pad_id) {
  TORCH_CHECK_VALUE(
      logits.defined() && logits.is_floating_point() && logits.dim() == 3,
      kName,
      ": expected logits of size [rows, length, vocabulary] and "
      "a floating dtype, got ",
      text_of(logits));
  TORCH_CHECK_VALUE(labels.defined() && labels.scalar_type() == at::kLong &&
                        labels.sizes() == logits.sizes().slice(0, 2),
                    kName, ": expected labels of size ",
                    logits.sizes().slice(0, 2), " and dtype int64, got ",
                    text_of(labels));
  const std::int64_t vocabulary = logits.size(2);
  const at::Tensor wrong = labels.lt(0)
                               .logical_or(labels.ge(vocabulary))
                               .logical_and(labels.ne(pad_id));
  if (!wrong.any().item<bool>()) return;
  TORCH_CHECK_VALUE(false, kName, ": expected labels from 0 to ",
                    vocabulary - 1, ", or pad_id, ", pad_id, ", got ",
                    labels.masked_select(wrong)[0].item<std::int64_t>());
}

/// The sum over this rank's tokens, and their number.
at::Tensor own_sums(const at::Tensor& logits, const at::Tensor& labels,
                    std::int64_t pad_id) {
  const at::Tensor wide =
      logits.to(sync::accumulate_dtype(logits.scalar_type()));
  const at::Tensor sum = at::cross_entropy_loss(
      wide.flatten(0, 1), labels.flatten(), {}, at::Reduction::Sum, pad_id);
  return at::stack({sum, labels.ne(pad_id).sum().to(sum.scalar_type())});
}

at::Tensor caption_loss(const at::Tensor& logits, const at::Tensor& labels,
                        const CoCaLossOptions& options) {
  const internal::AutocastOff as_written;
  const Call call(kName, options.clip().communicator(),
                  options.clip().timeout());
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check(options);
    check_captions(logits, labels, options.pad_id());
    own = own_sums(logits, labels, options.pad_id());
    return own.detach().to(at::kDouble);
  });
  return sync::replicated(call, own[0], all[0].to(own.scalar_type()),
                          call.size())
      .div(all[1].clamp_min(1).to(own.scalar_type()))
      .mul(options.caption_loss_weight());
}

}  // namespace

namespace functional {

CoCaLosses coca_loss(const at::Tensor& image_features,
                     const at::Tensor& text_features, const at::Tensor& logits,
                     const at::Tensor& labels, const at::Tensor& logit_scale,
                     const CoCaLossOptions& options) {
  CoCaLosses losses;
  losses.caption = caption_loss(logits, labels, options);
  losses.contrastive =
      options.clip_loss_weight() == 0
          ? at::zeros({}, losses.caption.options().requires_grad(false))
          : clip_loss(image_features, text_features, logit_scale, {},
                      options.clip())
                .mul(options.clip_loss_weight());
  return losses;
}

}  // namespace functional

CoCaLossImpl::CoCaLossImpl(CoCaLossOptions options)
    : options_(std::move(options)) {
  check(options_);
}

CoCaLosses CoCaLossImpl::forward(const at::Tensor& image_features,
                                 const at::Tensor& text_features,
                                 const at::Tensor& logits,
                                 const at::Tensor& labels,
                                 const at::Tensor& logit_scale) {
  return functional::coca_loss(image_features, text_features, logits, labels,
                               logit_scale, options_);
}

void CoCaLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tally::losses::CoCaLoss(caption_loss_weight="
         << options_.caption_loss_weight()
         << ", clip_loss_weight=" << options_.clip_loss_weight()
         << ", pad_id=" << options_.pad_id() << ')';
}

}  // namespace tally::losses
