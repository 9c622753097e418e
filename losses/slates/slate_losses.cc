#include <ATen/core/grad_mode.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/losses/all_rows.h"
#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/loss_call.h"
#include "tally/losses/loss_of_rows.h"
#include "tally/losses/pairs/row_pieces.h"
#include "tally/losses/ranking/scored_labels.h"
#include "tally/losses/slates/approx_ndcg_loss.h"
#include "tally/losses/slates/lambda_loss.h"
#include "tally/losses/slates/list_net_loss.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

using sync::Call;
using Tensors = std::vector<at::Tensor>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Scores and grades of slates, [B, L], of one floating dtype.
struct Slates {
  at::Tensor scores, grades;
  at::Tensor items;  ///< where there is one; elsewhere grades are 0
};

std::string shape_of(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.toString(), ' ', tensor.sizes())
                          : "an undefined tensor";
}

Slates checked(const char* loss, const at::Tensor& preds,
               const at::Tensor& target, double padding, bool any_grade) {
  TORCH_CHECK_VALUE(preds.defined() && preds.layout() == at::kStrided &&
                        preds.is_floating_point() && preds.dim() == 2,
                    loss,
                    ": expected preds of size [slates, items] and a floating "
                    "dtype, got ",
                    shape_of(preds));
  TORCH_CHECK_VALUE(target.defined() && target.layout() == at::kStrided &&
                        !target.is_complex() &&
                        target.sizes() == preds.sizes() &&
                        target.device() == preds.device(),
                    loss, ": expected target of size ", preds.sizes(), " on ",
                    preds.device(), ", got ", shape_of(target));
  TORCH_CHECK_VALUE(!target.requires_grad(), loss,
                    ": expected target that requires no gradient; detach() it");
  Slates slates;
  slates.scores = preds.to(sync::accumulate_dtype(preds.scalar_type()));
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

/// A sum over this rank's slates, and what it is divided by.
struct Part {
  at::Tensor sum;    ///< with a graph
  at::Tensor count;  ///< without
};

using PartOf =
    c10::function_ref<Part(const at::Tensor& preds, const at::Tensor& target)>;

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
  const internal::RankRows rows =
      internal::agree_on_rows(call, [&] {
        const char* const loss = call.asker.c_str();
        TORCH_CHECK_VALUE(
            preds.defined() && preds.is_floating_point() && preds.dim() == 1,
            loss,
            ": expected preds of size [items] and a floating "
            "dtype with query, got ",
            shape_of(preds));
        ids = internal::checked_query(loss, preds, query);
        TORCH_CHECK_VALUE(target.defined(), loss,
                          ": expected target, got an undefined tensor");
        // Items as lists of their own, for the checks.
        part_of(preds.detach().unsqueeze(1), target.unsqueeze(1));
        return internal::RowOffer{preds.size(0), c10::str(dtype, " by query"),
                                  /*has_graph=*/false};
      }).rows;
  return sync::or_give_up(*call.communicator, [&] {
    const at::Tensor queries = internal::all_rows(call, rows, ids);
    const at::Tensor grades =
        internal::all_rows(call, rows, target.to(at::kDouble));
    const auto [sorted, order] =
        at::sort(queries, /*stable=*/true, 0, /*descending=*/false);
    const auto [distinct, of_item, counts] =
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
    return internal::loss_of_rows(
        call, rows, preds.to(dtype), [&](const at::Tensor& all) {
          return mean_of(part_of(padded(all, 0), padded(grades, padding)))
              .to(dtype);
        });
  });
}

/// The sum over the slates of all ranks, divided by their count.
template <class Options>
at::Tensor loss_of(const char* name, const Options& options,
                   const at::Tensor& preds, const at::Tensor& target,
                   const at::Tensor& query, PartOf part_of) {
  const internal::AutocastOff as_written;
  const Call call = internal::call_of(name, options);
  if (query.defined()) {
    return loss_of_lists(call, options.padding(), preds, target, query,
                         part_of);
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

/// log2(1 + position) of positions 1 to `items`.
at::Tensor discounts(std::int64_t items, const at::Tensor& like) {
  return at::arange(2, items + 2, like.options()).log2();
}

/// The largest DCG of a slate's first k items, [B].
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

/// x_i - x_j, [B, L, L].
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

void check(const ApproxNDCGLossOptions& options) {
  check_above_0(ApproxNDCGLossImpl::kName, "alpha", options.alpha());
}

void check(const LambdaLossOptions& options) {
  const char* const name = LambdaLossImpl::kName;
  check_above_0(name, "sigma", options.sigma());
  TORCH_CHECK_VALUE(std::isfinite(options.mu()) && options.mu() >= 0, name,
                    ": expected mu of at least 0, got ", options.mu());
  TORCH_CHECK_VALUE(!options.top_k() || *options.top_k() >= 1, name,
                    ": expected top_k of at least 1, got ",
                    options.top_k().value_or(0));
}

/// The sum of slates' approximate NDCG, of scores, gains / IDCG and items.
at::Tensor approx_ndcg(const at::Tensor& scores, const at::Tensor& gains,
                       const at::Tensor& items, double alpha) {
  const at::Tensor others = of_both(items).logical_and(
      at::eye(scores.size(1), items.options()).logical_not());
  // The score of padding may be anything.
  const at::Tensor clean = scores.masked_fill(items.logical_not(), 0);
  const at::Tensor positions =
      differences(clean).mul(-alpha).sigmoid().mul(others).sum(2).add(1);
  return gains.div(positions.add(1).log2()).sum();
}

/// Weights of pairs, [B, L, L], of slates in the order of scores; `gains` are
/// divided by IDCG.
at::Tensor weights_of(const LambdaLossOptions& options, const at::Tensor& gains,
                      const at::Tensor& grades) {
  const std::int64_t items = grades.size(1);
  const at::Tensor inverse = discounts(items + 1, grades).reciprocal();
  const at::Tensor by_position = inverse.narrow(0, 0, items);
  const auto ndcg2 = [&] {
    const at::Tensor places =
        at::arange(items, grades.options().dtype(at::kLong));
    const at::Tensor apart = places.unsqueeze(1).sub(places.unsqueeze(0)).abs();
    // 1 / D(k) - 1 / D(k + 1) of positions k apart; an item and itself are no
    // pair.
    const at::Tensor steps =
        inverse.slice(0, 0, items).sub(inverse.slice(0, 1));
    return steps.index_select(0, apart.sub(1).clamp_min(0).flatten())
        .view({items, items})
        .mul(apart.gt(0))
        .mul(differences(gains).abs());
  };
  const auto lambda_rank = [&] {
    return differences(by_position.unsqueeze(0))
        .abs()
        .mul(differences(gains).abs());
  };
  switch (options.weight()) {
    case LambdaWeight::kRankNet:
      return at::ones_like(differences(grades));
    case LambdaWeight::kNDCG1:
      return gains.mul(by_position)
          .unsqueeze(2)
          .expand({grades.size(0), items, items});
    case LambdaWeight::kNDCG2:
      return ndcg2();
    case LambdaWeight::kLambdaRank:
      return lambda_rank();
    case LambdaWeight::kNDCG2PlusPlus:
      return ndcg2().mul(options.mu()).add(lambda_rank());
    case LambdaWeight::kGradeDifference:
      return differences(grades).abs();
    case LambdaWeight::kSquaredGradeDifference:
      return differences(grades.square()).abs();
  }
  TORCH_CHECK(false, "unknown weight");
}

/// Which pairs count, [B, L, L], of slates in the order of scores.
at::Tensor pairs_of(const LambdaLossOptions& options, const at::Tensor& grades,
                    const at::Tensor& items) {
  at::Tensor pairs = of_both(items);
  if (options.weight() != LambdaWeight::kNDCG1) {
    pairs = pairs.logical_and(differences(grades).gt(0));
  }
  if (!options.top_k()) return pairs;
  const at::Tensor first =
      at::arange(grades.size(1), grades.options().dtype(at::kLong))
          .lt(*options.top_k());
  return pairs.logical_and(of_both(first.unsqueeze(0)));
}

Part lambda_part(const LambdaLossOptions& options, const Slates& slates) {
  const std::int64_t length = slates.grades.size(1);
  // Padding comes last, equal scores by index.
  const at::Tensor order =
      std::get<1>(at::sort(slates.scores.detach().masked_fill(
                               slates.items.logical_not(), -kInfinity),
                           /*stable=*/true, 1, /*descending=*/true));
  const at::Tensor scores = slates.scores.gather(1, order);
  const at::Tensor grades = slates.grades.gather(1, order);
  const at::Tensor items = slates.items.gather(1, order);
  const at::Tensor ideal =
      or_one(ideal_dcg(grades, options.top_k().value_or(length))).unsqueeze(1);
  const at::Tensor gains = gains_of(grades).div(ideal);
  const at::Tensor sum = internal::sum_over_pieces(
      {scores, gains, grades, items}, {},
      internal::rows_at_once(length * length, scores),
      [options](const Tensors& of, const Tensors&) {
        const at::Tensor clean = of[0].masked_fill(of[3].logical_not(), 0);
        const at::Tensor log_odds =
            at::log_sigmoid(differences(clean).mul(options.sigma()))
                .div(-std::log(2.0));
        return log_odds.mul(weights_of(options, of[1], of[2]))
            .mul(pairs_of(options, of[2], of[3]))
            .sum();
      });
  const at::NoGradGuard no_grad;
  const at::Tensor count = internal::sum_over_pieces(
      {grades.to(at::kDouble), items}, {},
      internal::rows_at_once(length * length, scores),
      [options](const Tensors& of, const Tensors&) {
        const at::Tensor pairs =
            pairs_of(options, of[0], of[1]).flatten(1).sum(1);
        return (options.mean_over() == LambdaMean::kPairs ? pairs : pairs.gt(0))
            .sum()
            .to(at::kDouble);
      });
  return {sum, count};
}

}  // namespace

namespace functional {

at::Tensor approx_ndcg_loss(const at::Tensor& preds, const at::Tensor& target,
                            const ApproxNDCGLossOptions& options,
                            const at::Tensor& query) {
  const char* const name = ApproxNDCGLossImpl::kName;
  return loss_of(
      name, options, preds, target, query,
      [&](const at::Tensor& x, const at::Tensor& y) {
        check(options);
        const Slates slates =
            checked(name, x, y, options.padding(), /*any_grade=*/false);
        const std::int64_t length = x.size(1);
        const at::Tensor ideal = ideal_dcg(slates.grades, length);
        const at::Tensor counted = options.count_irrelevant()
                                       ? at::ones_like(ideal)
                                       : ideal.gt(0).to(ideal.scalar_type());
        const at::Tensor sum = internal::sum_over_pieces(
            {slates.scores,
             gains_of(slates.grades).div(or_one(ideal).unsqueeze(1)),
             slates.items},
            {}, internal::rows_at_once(length * length, slates.scores),
            [alpha = options.alpha()](const Tensors& of, const Tensors&) {
              return approx_ndcg(of[0], of[1], of[2], alpha);
            });
        return Part{counted.sum().sub(sum), counted.sum()};
      });
}

at::Tensor lambda_loss(const at::Tensor& preds, const at::Tensor& target,
                       const LambdaLossOptions& options,
                       const at::Tensor& query) {
  const char* const name = LambdaLossImpl::kName;
  return loss_of(name, options, preds, target, query,
                 [&](const at::Tensor& x, const at::Tensor& y) {
                   check(options);
                   return lambda_part(options,
                                      checked(name, x, y, options.padding(),
                                              /*any_grade=*/false));
                 });
}

at::Tensor list_net_loss(const at::Tensor& preds, const at::Tensor& target,
                         const ListNetLossOptions& options,
                         const at::Tensor& query) {
  const char* const name = ListNetLossImpl::kName;
  return loss_of(name, options, preds, target, query,
                 [&](const at::Tensor& x, const at::Tensor& y) {
                   const Slates slates = checked(name, x, y, options.padding(),
                                                 /*any_grade=*/true);
                   const at::Tensor padding = slates.items.logical_not();
                   // Low enough to have no probability, and no NaN where all is
                   // padding.
                   const double low = -1e30;
                   const at::Tensor given =
                       slates.grades.masked_fill(padding, low).softmax(1);
                   const at::Tensor log_p =
                       slates.scores.masked_fill(padding, low)
                           .log_softmax(1)
                           .masked_fill(padding, 0);
                   return Part{given.mul(log_p).sum().neg(),
                               slates.items.any(1).sum().to(at::kDouble)};
                 });
}

}  // namespace functional

ApproxNDCGLossImpl::ApproxNDCGLossImpl(ApproxNDCGLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor ApproxNDCGLossImpl::forward(const at::Tensor& preds,
                                       const at::Tensor& target,
                                       const at::Tensor& query) {
  return functional::approx_ndcg_loss(preds, target, options(), query);
}

LambdaLossImpl::LambdaLossImpl(LambdaLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor LambdaLossImpl::forward(const at::Tensor& preds,
                                   const at::Tensor& target,
                                   const at::Tensor& query) {
  return functional::lambda_loss(preds, target, options(), query);
}

ListNetLossImpl::ListNetLossImpl(ListNetLossOptions options)
    : LossModule(std::move(options)) {}

at::Tensor ListNetLossImpl::forward(const at::Tensor& preds,
                                    const at::Tensor& target,
                                    const at::Tensor& query) {
  return functional::list_net_loss(preds, target, options(), query);
}

}  // namespace tally::losses
