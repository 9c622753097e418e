#include "tally/losses/slates/slates.h"

#include <ATen/ops/_unique2.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/scored_labels.h"
#include "tally/losses/common/shape_text.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal::slates {
namespace {

using sync::Call;

at::Tensor mean_of(const Part& part) {
  return part.sum.to(at::kDouble)
      .div(part.count.detach().to(at::kDouble).clamp_min(1));
}

/// The loss of lists whose items lie on any ranks, of which all gather all.
at::Tensor loss_of_lists(const Call& call, double padding,
                         const at::Tensor& preds, const at::Tensor& target,
                         const at::Tensor& query, PartOf part_of) {
  const at::ScalarType dtype = sync::accumulate_dtype(
      preds.defined() ? preds.scalar_type() : at::kFloat);
  at::Tensor ids;
  const RankRows rows =
      agree_on_rows(call, [&] {
        const char* const loss = call.asker.c_str();
        TORCH_CHECK_VALUE(
            preds.defined() && preds.is_floating_point() && preds.dim() == 1,
            loss,
            ": expected preds of size [items] and a floating "
            "dtype with query, got ",
            shape_text(preds));
        ids = checked_query(loss, preds, query);
        TORCH_CHECK_VALUE(target.defined(), loss,
                          ": expected target, got an undefined tensor");
        // Items as lists of their own, for the checks.
        part_of(preds.detach().unsqueeze(1), target.unsqueeze(1));
        return RowOffer{preds.size(0), c10::str(dtype, " by query"),
                        /*has_graph=*/false};
      }).rows;
  return sync::or_give_up(*call.communicator, [&] {
    const at::Tensor queries = all_rows(call, rows, ids);
    const at::Tensor grades = all_rows(call, rows, target.to(at::kDouble));
    at::Tensor sorted, order, distinct, of_item, counts;
    std::tie(sorted, order) =
        at::sort(queries, /*stable=*/true, 0, /*descending=*/false);
    std::tie(distinct, of_item, counts) =
        at::_unique2(sorted, /*sorted=*/true, /*return_inverse=*/true,
                     /*return_counts=*/true);
    const at::Tensor begins = counts.cumsum(0).sub(counts);
    const at::Tensor place = at::arange(order.size(0), order.options())
                                 .sub(begins.index_select(0, of_item));
    const std::int64_t length =
        rows.total() == 0 ? 0 : counts.max().item<std::int64_t>();
    const at::Tensor slots = of_item.mul(length).add(place);
    const auto padded = [&](const at::Tensor& items, double otherwise) {
      return at::full({distinct.size(0) * length}, otherwise,
                      items.options().requires_grad(false))
          .index_copy(0, slots, items.index_select(0, order))
          .view({distinct.size(0), length});
    };
    return loss_of_rows(
        call, rows, preds.to(dtype), [&](const at::Tensor& all) {
          return mean_of(part_of(padded(all, 0), padded(grades, padding)))
              .to(dtype);
        });
  });
}

}  // namespace

Slates checked_slates(const char* loss, const at::Tensor& preds,
                      const at::Tensor& target, double padding,
                      bool any_grade) {
  TORCH_CHECK_VALUE(preds.defined() && preds.layout() == at::kStrided &&
                        preds.is_floating_point() && preds.dim() == 2,
                    loss,
                    ": expected preds of size [slates, items] and a floating "
                    "dtype, got ",
                    shape_text(preds));
  TORCH_CHECK_VALUE(target.defined() && target.layout() == at::kStrided &&
                        !target.is_complex() &&
                        target.sizes() == preds.sizes() &&
                        target.device() == preds.device(),
                    loss, ": expected target of size ", preds.sizes(), " on ",
                    preds.device(), ", got ", shape_text(target));
  TORCH_CHECK_VALUE(!target.requires_grad(), loss,
                    ": expected target that requires no gradient; detach() it");
  Slates slates;
  slates.scores = in_dtype_of_losses(preds);
  slates.grades = target.to(slates.scores.scalar_type());
  slates.items = slates.grades.ne(padding);
  slates.grades = slates.grades.masked_fill(slates.items.logical_not(), 0);
  const at::Tensor wrong = slates.grades.masked_select(
      (any_grade ? slates.grades.isfinite()
                 : slates.grades.isfinite().logical_and(slates.grades.ge(0)))
          .logical_not());
  TORCH_CHECK_VALUE(wrong.numel() == 0, loss, ": expected ",
                    any_grade ? "finite grades" : "finite grades of at least 0",
                    " or ", padding, ", got ", wrong[0].item<double>());
  return slates;
}

at::Tensor loss_of_slates(const Call& call, double padding,
                          const at::Tensor& preds, const at::Tensor& target,
                          const at::Tensor& query, PartOf part_of) {
  const AutocastOff as_written;
  if (query.defined()) {
    return loss_of_lists(call, padding, preds, target, query, part_of);
  }
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    const Part part = part_of(preds, target);
    own = at::stack(
        {part.sum.to(at::kDouble), part.count.detach().to(at::kDouble)});
    return own.detach();
  });
  return mean_of({sync::replicated(call, own, all, call.size())[0], all[1]})
      .to(sync::accumulate_dtype(preds.scalar_type()));
}

at::Tensor gains_of(const at::Tensor& grades) {
  return at::pow(2, grades).sub(1);
}

at::Tensor discounts(std::int64_t items, const at::Tensor& like) {
  return at::arange(2, items + 2, like.options()).log2();
}

at::Tensor ideal_dcg(const at::Tensor& grades, std::int64_t k) {
  const std::int64_t items = grades.size(1);
  return gains_of(std::get<0>(grades.sort(1, /*descending=*/true)))
      .div(discounts(items, grades))
      .narrow(1, 0, std::min(k, items))
      .sum(1);
}

at::Tensor or_one(const at::Tensor& divisor) {
  return at::where(divisor.gt(0), divisor, at::ones_like(divisor));
}

at::Tensor differences(const at::Tensor& x) {
  return x.unsqueeze(2).sub(x.unsqueeze(1));
}
at::Tensor of_both(const at::Tensor& items) {
  return items.unsqueeze(2).logical_and(items.unsqueeze(1));
}

void check_above_0(const char* loss, const char* option, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value > 0, loss, ": expected ",
                    option, " above 0, got ", value);
}

}  // namespace tally::losses::internal::slates
