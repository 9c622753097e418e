#include "tally/losses/pairs/distill_clip_loss.h"

#include <ATen/ops/cat.h>

#include <utility>

#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/loss_call.h"
#include "tally/losses/pairs/row_pieces.h"
#include "tally/losses/pairs/two_views.h"
#include "tally/sync/agree.h"
#include "tally/sync/collectives.h"

namespace tally::losses {
namespace {

using internal::Tensors;
using sync::Call;

constexpr const char* kName = "DistillClipLoss";

void check(const DistillClipLossOptions& options) {
  TORCH_CHECK_VALUE(
      !options.clip().local_loss(), kName,
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
    check(options);
    internal::check_features(call, "image_features", student.image,
                             "text_features", student.text);
    internal::check_features(call, "teacher_image_features", teacher.image,
                             "teacher_text_features", teacher.text);
    TORCH_CHECK_VALUE(student.image.size(0) == teacher.image.size(0) &&
                          student.image.device() == teacher.image.device(),
                      kName, ": expected teacher_image_features of ",
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
  const Call call(kName, options.clip().communicator(),
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
    : options_(std::move(options)) {
  check(options_);
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

void DistillClipLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tally::losses::DistillClipLoss()";
}

}  // namespace tally::losses
