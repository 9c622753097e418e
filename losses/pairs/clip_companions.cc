#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/row_pieces.h"
#include "tally/losses/common/shape_text.h"
#include "tally/losses/common/two_views.h"
#include "tally/losses/pairs/coca_loss.h"
#include "tally/losses/pairs/distill_clip_loss.h"
#include "tally/sync/agree.h"
#include "tally/sync/collectives.h"
#include "tally/sync/reduce.h"

namespace tally::losses {
namespace {

using sync::Call;

constexpr const char* kCoCaLoss = "CoCaLoss";

void check_coca(const CoCaLossOptions& options) {
  const auto check_weight = [](const char* name, double weight) {
    TORCH_CHECK_VALUE(weight >= 0, kCoCaLoss, ": expected ", name,
                      " of at least 0, got ", weight);
  };
  check_weight("caption_loss_weight", options.caption_loss_weight());
  check_weight("clip_loss_weight", options.clip_loss_weight());
  TORCH_CHECK_VALUE(
      !options.clip().local_loss(), kCoCaLoss,
      ": expected a contrastive loss that is the same on every rank, as the "
      "caption loss is, got local_loss");
}

void check_captions(const at::Tensor& logits, const at::Tensor& labels,
                    std::int64_t pad_id) {
  TORCH_CHECK_VALUE(
      logits.defined() && logits.is_floating_point() && logits.dim() == 3,
      kCoCaLoss,
      ": expected logits of size [rows, length, vocabulary] and "
      "a floating dtype, got ",
      internal::shape_text(logits));
  TORCH_CHECK_VALUE(labels.defined() && labels.scalar_type() == at::kLong &&
                        labels.sizes() == logits.sizes().slice(0, 2),
                    kCoCaLoss, ": expected labels of size ",
                    logits.sizes().slice(0, 2), " and dtype int64, got ",
                    internal::shape_text(labels));
  const std::int64_t vocabulary = logits.size(2);
  const at::Tensor wrong = labels.lt(0)
                               .logical_or(labels.ge(vocabulary))
                               .logical_and(labels.ne(pad_id));
  if (!wrong.any().item<bool>()) return;
  TORCH_CHECK_VALUE(false, kCoCaLoss, ": expected labels from 0 to ",
                    vocabulary - 1, ", or pad_id, ", pad_id, ", got ",
                    labels.masked_select(wrong)[0].item<std::int64_t>());
}

/// The sum over this rank's tokens, and their number.
at::Tensor own_sums(const at::Tensor& logits, const at::Tensor& labels,
                    std::int64_t pad_id) {
  const at::Tensor wide = internal::in_dtype_of_losses(logits);
  const at::Tensor sum = at::cross_entropy_loss(
      wide.flatten(0, 1), labels.flatten(), {}, at::Reduction::Sum, pad_id);
  return at::stack({sum, labels.ne(pad_id).sum().to(sum.scalar_type())});
}

at::Tensor caption_loss(const at::Tensor& logits, const at::Tensor& labels,
                        const CoCaLossOptions& options) {
  const internal::AutocastOff as_written;
  const Call call(kCoCaLoss, options.clip().communicator(),
                  options.clip().timeout());
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check_coca(options);
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
    : LossModule(std::move(options)) {
  check_coca(options_);
}

CoCaLosses CoCaLossImpl::forward(const at::Tensor& image_features,
                                 const at::Tensor& text_features,
                                 const at::Tensor& logits,
                                 const at::Tensor& labels,
                                 const at::Tensor& logit_scale) {
  return functional::coca_loss(image_features, text_features, logits, labels,
                               logit_scale, options_);
}

namespace {

using internal::Tensors;

constexpr const char* kDistillClipLoss = "DistillClipLoss";

void check_distill_clip(const DistillClipLossOptions& options) {
  TORCH_CHECK_VALUE(
      !options.clip().local_loss(), kDistillClipLoss,
      ": expected losses that are the same on every rank, got local_loss");
}

/// The sum over rows of -sum_j softmax(teacher)_j log softmax(student)_j. By
/// row: the student's rows, the teacher's; shared: their columns, and scales.
at::Tensor cross_entropies(const Tensors& by_row, const Tensors& shared) {
  const at::Tensor student =
      by_row[0].matmul(shared[0].t()).mul(shared[2]).log_softmax(1);
  const at::Tensor teacher =
      by_row[1].matmul(shared[1].t()).mul(shared[3]).softmax(1);
  return student.mul(teacher).sum().neg();
}

/// One model's features, of this rank and of all.
struct Sides {
  at::Tensor image, text, scale;
  at::Tensor all_image, all_text;

  void widen(at::ScalarType dtype) {
    image = image.to(dtype);
    text = text.to(dtype);
    scale = scale.to(dtype).to(image.device()).reshape({});
  }
  void gather(const Call& call) {
    const at::Tensor all = sync::all_gather(at::cat({image, text}, 1),
                                            call.communicator, call.timeout);
    all_image = all.narrow(1, 0, image.size(1));
    all_text = all.narrow(1, image.size(1), text.size(1));
  }
};

at::Tensor distill(const Call& call, Sides student, Sides teacher,
                   const DistillClipLossOptions& options) {
  const internal::AutocastOff as_written;
  const internal::RowAgreement agreement = internal::agree_on_rows(call, [&] {
    check_distill_clip(options);
    internal::check_features(call, "image_features", student.image,
                             "text_features", student.text);
    internal::check_features(call, "teacher_image_features", teacher.image,
                             "teacher_text_features", teacher.text);
    TORCH_CHECK_VALUE(student.image.size(0) == teacher.image.size(0) &&
                          student.image.device() == teacher.image.device(),
                      kDistillClipLoss, ": expected teacher_image_features of ",
                      student.image.size(0), " rows on ",
                      student.image.device(), ", got ", teacher.image.size(0),
                      " on ", teacher.image.device());
    return internal::RowOffer{
        student.image.size(0),
        c10::str(student.image.scalar_type(), " and ",
                 teacher.image.scalar_type(), " rows of ",
                 student.image.size(1), " and ", teacher.image.size(1),
                 ", logit_scale ",
                 internal::checked_number(call, "logit_scale", student.scale),
                 ", teacher_logit_scale ",
                 internal::checked_number(call, "teacher_logit_scale",
                                          teacher.scale)),
        false};
  });
  const std::int64_t pairs = agreement.rows.total();
  if (pairs == 0) {
    return internal::loss_without_rows(
        {student.image, student.text, student.scale});
  }
  return sync::or_give_up(*call.communicator, [&] {
    const at::ScalarType dtype = sync::accumulate_dtype(c10::promoteTypes(
        student.image.scalar_type(), teacher.image.scalar_type()));
    student.widen(dtype);
    teacher.widen(dtype);
    student.gather(call);
    teacher.gather(call);
    const auto side = [&](const at::Tensor& rows, const at::Tensor& of_teacher,
                          const at::Tensor& columns,
                          const at::Tensor& columns_of_teacher) {
      return internal::sum_over_pieces(
          {rows, of_teacher},
          {columns, columns_of_teacher, student.scale, teacher.scale},
          internal::rows_at_once(pairs, rows), cross_entropies);
    };
    const at::Tensor sum =
        side(student.image, teacher.image, student.all_text, teacher.all_text)
            .add(side(student.text, teacher.text, student.all_image,
                      teacher.all_image));
    return internal::replicated_sum(call, sum).div(2.0 *
                                                   static_cast<double>(pairs));
  });
}

at::Tensor detached(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach() : tensor;
}

}  // namespace

namespace functional {

DistillClipLosses distill_clip_loss(const at::Tensor& image_features,
                                    const at::Tensor& text_features,
                                    const at::Tensor& logit_scale,
                                    const at::Tensor& teacher_image_features,
                                    const at::Tensor& teacher_text_features,
                                    const at::Tensor& teacher_logit_scale,
                                    const DistillClipLossOptions& options) {
  const Call call(kDistillClipLoss, options.clip().communicator(),
                  options.clip().timeout());
  DistillClipLosses losses;
  losses.distill =
      distill(call, {image_features, text_features, logit_scale, {}, {}},
              {detached(teacher_image_features),
               detached(teacher_text_features),
               detached(teacher_logit_scale),
               {},
               {}},
              options);
  losses.contrastive =
      clip_loss(image_features, text_features, logit_scale, {}, options.clip());
  return losses;
}

}  // namespace functional

DistillClipLossImpl::DistillClipLossImpl(DistillClipLossOptions options)
    : LossModule(std::move(options)) {
  check_distill_clip(options_);
}

DistillClipLosses DistillClipLossImpl::forward(
    const at::Tensor& image_features, const at::Tensor& text_features,
    const at::Tensor& logit_scale, const at::Tensor& teacher_image_features,
    const at::Tensor& teacher_text_features,
    const at::Tensor& teacher_logit_scale) {
  return functional::distill_clip_loss(
      image_features, text_features, logit_scale, teacher_image_features,
      teacher_text_features, teacher_logit_scale, options_);
}

template class internal::LossModule<CoCaLossImpl, CoCaLossOptions>;
template class internal::LossModule<DistillClipLossImpl,
                                    DistillClipLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::CoCaLossImpl>;
template class torch::nn::Cloneable<tally::losses::DistillClipLossImpl>;
