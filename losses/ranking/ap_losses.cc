#include <ATen/ops/_unique2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/query_lists.h"
#include "tally/losses/common/scored_labels.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/common/two_views.h"
#include "tally/losses/ranking/fast_ap_loss.h"
#include "tally/losses/ranking/smooth_ap_loss.h"
#include "tally/metrics/common/constants.h"
#include "tally/sync/reduce.h"

namespace tally::losses {
namespace {

using internal::ScoredLabels;
using sync::Call;

void check_average_precision(const SmoothAPLossOptions& options) {
  TORCH_CHECK_VALUE(
      std::isfinite(options.temperature()) && options.temperature() > 0,
      SmoothAPLossImpl::kName, ": expected temperature above 0, got ",
      options.temperature());
}

void check_average_precision(const FastAPLossOptions& options) {
  TORCH_CHECK_VALUE(options.n_bins() >= 1, FastAPLossImpl::kName,
                    ": expected n_bins of at least 1, got ", options.n_bins());
  TORCH_CHECK_VALUE(
      std::isfinite(options.lowest()) && std::isfinite(options.highest()) &&
          options.lowest() < options.highest(),
      FastAPLossImpl::kName, ": expected highest above lowest, got ",
      options.highest(), " and ", options.lowest());
}

/// Positives of all ranks, and this rank's samples, of which those with the
/// indices `is` are the positives from `before` on: of one query.
struct Ranking {
  at::Tensor positives, scores, is;
  std::int64_t before;
};

/// The same of all queries, and where in the whole they are.
struct Rankings {
  internal::QueryLists lists;
  std::vector<Ranking> of_query;
  std::vector<at::Tensor> labels;  ///< [own, 2]: positives, negatives
};

Rankings rankings_of(const Call& call, const internal::RankRows& rows,
                     const ScoredLabels& own) {
  const at::Tensor scores = own.scores.detach();
  const at::Tensor gathered =
      internal::all_rows(call, rows, scores.index_select(0, own.is));
  Rankings result;
  result.lists = internal::query_lists(call, rows, own);
  const at::Tensor positives = gathered.index_select(0, result.lists.order);
  for (const internal::QueryList& query : result.lists.queries) {
    const at::Tensor samples =
        result.lists.own_order.narrow(0, query.own_first, query.own);
    const at::Tensor positive = own.positive.index_select(0, samples);
    result.of_query.push_back(
        {positives.narrow(0, query.first, query.positives),
         scores.index_select(0, samples), positive.nonzero().squeeze(1),
         query.before});
    result.labels.push_back(
        at::stack({positive, positive.logical_not()}, 1).to(at::kDouble));
  }
  return result;
}

/// sigmoid((s_j - s_i) / temperature) of positives i and this rank's samples j,
/// and its derivative by s_j times the temperature, some rows at a time. Both 0
/// for a positive and itself: what cancels would hide small derivatives.
template <class Body>
void for_each_tile(const Ranking& of, double temperature, const Body& body) {
  const std::int64_t at_once = std::max<std::int64_t>(
      1, (1 << 20) / std::max<std::int64_t>(1, of.scores.numel()));
  internal::for_each_range(
      of.positives.numel(), at_once,
      [&](std::int64_t first, std::int64_t size) {
        at::Tensor x =
            of.scores.unsqueeze(0)
                .sub(of.positives.narrow(0, first, size).unsqueeze(1))
                .div(temperature);
        const std::int64_t begin = std::max(first, of.before);
        const std::int64_t end =
            std::min(first + size, of.before + of.is.numel());
        if (begin < end) {
          x.narrow(0, begin - first, end - begin)
              .scatter_(
                  1,
                  of.is.narrow(0, begin - of.before, end - begin).unsqueeze(1),
                  -tally::internal::kInfinity);
        }
        const at::Tensor above = x.sigmoid();
        // Not above * (1 - above), which is 0 far above.
        body(first, size, above, above.mul(x.neg().sigmoid()));
      });
}

at::Tensor smooth_ap(const Call& call, double temperature,
                     const internal::RankRows& rows, const ScoredLabels& own) {
  const Rankings rankings = rankings_of(call, rows, own);
  const std::vector<internal::QueryList>& queries = rankings.lists.queries;
  const auto options = own.scores.detach().options();

  // For each positive, over samples of either label: the sum of sigmoids, and
  // of their derivatives. And how much it counts in the mean over queries.
  at::Tensor sums = at::empty({rows.total(), 4}, options);
  at::Tensor weight = at::empty({rows.total()}, options);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    weight.narrow(0, queries[q].first, queries[q].positives)
        .fill_(1 / (static_cast<double>(queries[q].positives) *
                    static_cast<double>(queries.size())));
    for_each_tile(rankings.of_query[q], temperature,
                  [&](std::int64_t first, std::int64_t size,
                      const at::Tensor& above, const at::Tensor& slopes) {
                    sums.narrow(0, queries[q].first + first, size)
                        .copy_(at::cat({above.matmul(rankings.labels[q]),
                                        slopes.matmul(rankings.labels[q])},
                                       1));
                  });
  }
  if (call.size() > 1) {
    sums = sums.to(call.communicator->device());
    call.communicator->all_reduce(sums, sync::ReduceOp::kSum, call.timeout);
    sums = sums.to(weight.device());
  }

  const at::Tensor among_positives = sums.select(1, 0).add(1);
  const at::Tensor among_negatives = sums.select(1, 1);
  const at::Tensor rank = among_positives.add(among_negatives);
  const at::Tensor value =
      among_positives.div(rank).mul(weight).sum().neg().add(1);
  const at::Tensor factor = weight.div(rank.square().mul(temperature));
  const at::Tensor by_positives = among_negatives.mul(factor).neg();
  const at::Tensor by_negatives = among_positives.mul(factor);
  const at::Tensor by_itself = by_positives.mul(sums.select(1, 2))
                                   .add(by_negatives.mul(sums.select(1, 3)));

  // As samples that stand above positives, and as positives.
  const at::Tensor by_label = at::stack({by_positives, by_negatives}, 1);
  at::Tensor gradient = at::zeros({own.scores.numel()}, options);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const internal::QueryList& query = queries[q];
    const Ranking& ranking = rankings.of_query[q];
    if (query.own == 0) continue;
    at::Tensor of_samples = at::zeros({query.own, 2}, options);
    for_each_tile(ranking, temperature,
                  [&](std::int64_t first, std::int64_t size, const at::Tensor&,
                      const at::Tensor& slopes) {
                    of_samples.addmm_(
                        slopes.t(),
                        by_label.narrow(0, query.first + first, size));
                  });
    at::Tensor of_query = of_samples.mul(rankings.labels[q]).sum(1);
    of_query.index_add_(
        0, ranking.is,
        by_itself.narrow(0, query.first + query.before, ranking.is.numel())
            .neg());
    gradient.index_copy_(
        0, rankings.lists.own_order.narrow(0, query.own_first, query.own),
        of_query);
  }
  return internal::replicated_value(
      call, value.to(own.result_dtype),
      {internal::differentiable_once(call, own.scores, "are not supported")},
      {gradient});
}

/// The soft histograms of positives and of all samples, [2, queries, n_bins +
/// 1], from the highest score to the lowest. `of_query` [n] numbers queries,
/// and is `queries` for samples that do not count.
at::Tensor histograms_of(const FastAPLossOptions& options,
                         const ScoredLabels& samples,
                         const at::Tensor& of_query, std::int64_t queries) {
  const auto bins = static_cast<double>(options.n_bins());
  const double width = (options.highest() - options.lowest()) / bins;
  const at::Tensor position =
      samples.scores.neg().add(options.highest()).div(width).clamp(0, bins);
  // NaN counts in the first bin, where it shows.
  const at::Tensor lower =
      position.detach().nan_to_num(0).floor().clamp_max(bins - 1).to(at::kLong);
  const at::Tensor upper_part = position.sub(lower);
  const at::Tensor lower_part = upper_part.neg().add(1);
  const std::int64_t length = options.n_bins() + 1;
  const at::Tensor bin =
      of_query.defined() ? lower.add(of_query, length) : lower;
  const at::Tensor none =
      at::zeros({(queries + 1) * length}, samples.scores.options());
  const auto histogram = [&](const at::Tensor& weight) {
    return none.index_add(0, bin, lower_part.mul(weight))
        .index_add(0, bin.add(1), upper_part.mul(weight))
        .view({queries + 1, length})
        .narrow(0, 0, queries);
  };
  return at::stack({histogram(samples.positive.to(at::kDouble)),
                    histogram(at::ones_like(samples.scores.detach()))});
}

/// The mean over queries, all of which have positives.
at::Tensor loss_of_histograms(const at::Tensor& sums) {
  const at::Tensor above = sums.cumsum(2);
  // Without samples so far, there are no positives in the bin either.
  const at::Tensor samples = above[1].detach();
  const at::Tensor ranked =
      at::where(samples.eq(0), at::ones_like(samples), above[1]);
  const at::Tensor count = sums[0].detach().sum(1);
  return sums[0].mul(above[0]).div(ranked).sum(1).div(count).mean().neg().add(
      1);
}

/// With the queries of each rank's samples.
at::Tensor fast_ap_of_queries(const Call& call,
                              const FastAPLossOptions& options,
                              c10::function_ref<ScoredLabels()> prepare) {
  ScoredLabels samples;
  at::Tensor own;
  const internal::RankRows rows =
      internal::agree_on_rows(call, [&] {
        samples = prepare();
        own = std::get<0>(
            at::_unique2(samples.query.index_select(0, samples.is)));
        return internal::RowOffer{own.size(0),
                                  c10::str(samples.result_dtype, " by query"),
                                  /*has_graph=*/false};
      }).rows;
  if (rows.total() == 0) return internal::loss_without_pairs(call, samples);
  return sync::or_give_up(*call.communicator, [&] {
    const at::Tensor ids =
        std::get<0>(at::_unique2(internal::all_rows(call, rows, own)));
    const at::Tensor place =
        at::searchsorted(ids, samples.query).clamp_max(ids.size(0) - 1);
    const at::Tensor of_query = at::where(
        ids.index_select(0, place).eq(samples.query), place, ids.size(0));
    const at::Tensor sums = internal::replicated_sum(
        call, histograms_of(options, samples, of_query, ids.size(0)));
    return loss_of_histograms(sums).to(samples.result_dtype);
  });
}

}  // namespace

namespace functional {

at::Tensor smooth_ap_loss(const at::Tensor& preds, const at::Tensor& target,
                          const SmoothAPLossOptions& options,
                          const at::Tensor& query) {
  const internal::AutocastOff as_written;
  const char* const name = SmoothAPLossImpl::kName;
  const Call call = internal::call_of(name, options);
  ScoredLabels own;
  const internal::LabelAgreement ranks = internal::agree_on_labels(
      call,
      [&] {
        check_average_precision(options);
        return internal::scored_labels(name, preds, target, query);
      },
      own);
  if (ranks.positives.total() == 0) {
    return internal::loss_without_pairs(call, own);
  }
  return sync::or_give_up(*call.communicator, [&] {
    return smooth_ap(call, options.temperature(), ranks.positives, own);
  });
}

at::Tensor fast_ap_loss(const at::Tensor& preds, const at::Tensor& target,
                        const FastAPLossOptions& options,
                        const at::Tensor& query) {
  const internal::AutocastOff as_written;
  const char* const name = FastAPLossImpl::kName;
  const Call call = internal::call_of(name, options);
  if (query.defined()) {
    return fast_ap_of_queries(call, options, [&] {
      check_average_precision(options);
      return internal::scored_labels(name, preds, target, query);
    });
  }
  ScoredLabels samples;
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check_average_precision(options);
    samples = internal::scored_labels(name, preds, target);
    own = histograms_of(options, samples, {}, 1);
    return own.detach();
  });
  if (all[0].sum().item<double>() == 0) {
    return internal::loss_without_pairs(call, samples);
  }
  return loss_of_histograms(sync::replicated(call, own, all, call.size()))
      .to(samples.result_dtype);
}

}  // namespace functional

SmoothAPLossImpl::SmoothAPLossImpl(SmoothAPLossOptions options)
    : LossModule(std::move(options)) {
  check_average_precision(this->options());
}

at::Tensor SmoothAPLossImpl::forward(const at::Tensor& preds,
                                     const at::Tensor& target,
                                     const at::Tensor& query) {
  return functional::smooth_ap_loss(preds, target, options(), query);
}

FastAPLossImpl::FastAPLossImpl(FastAPLossOptions options)
    : LossModule(std::move(options)) {
  check_average_precision(this->options());
}

at::Tensor FastAPLossImpl::forward(const at::Tensor& preds,
                                   const at::Tensor& target,
                                   const at::Tensor& query) {
  return functional::fast_ap_loss(preds, target, options(), query);
}

template class internal::LossModule<FastAPLossImpl, FastAPLossOptions>;
template class internal::LossModule<SmoothAPLossImpl, SmoothAPLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::FastAPLossImpl>;
template class torch::nn::Cloneable<tally::losses::SmoothAPLossImpl>;
