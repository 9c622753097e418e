#include "tally/losses/ranking/partial_auc_loss.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/scored_labels.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/ranking/pair_sums.h"
#include "tally/metrics/common/constants.h"

namespace tally::losses {
namespace {

using internal::LabelAgreement;
using internal::ScoredLabels;
using sync::Call;

void check_partial_auc(const PartialAUCLossOptions& options) {
  const char* const name = PartialAUCLossImpl::kName;
  const auto above_0 = [&](const char* option, double value) {
    TORCH_CHECK_VALUE(std::isfinite(value) && value > 0, name, ": expected ",
                      option, " above 0, got ", value);
  };
  TORCH_CHECK_VALUE(options.max_fpr() > 0 && options.max_fpr() <= 1, name,
                    ": expected max_fpr above 0 and at most 1, got ",
                    options.max_fpr());
  above_0("lambda", options.lambda());
  above_0("scale", options.scale());
  TORCH_CHECK_VALUE(std::isfinite(options.margin()), name,
                    ": expected a finite margin, got ", options.margin());
  TORCH_CHECK_VALUE(options.surrogate() != AUCSurrogate::kSquared, name,
                    ": expected the surrogate squared_hinge or logistic, got "
                    "squared, which also grows above the margin");
}

bool is_hinge(const PartialAUCLossOptions& options) {
  return options.surrogate() == AUCSurrogate::kSquaredHinge;
}

void all_reduce(const Call& call, at::Tensor& tensor,
                sync::ReduceOp op = sync::ReduceOp::kSum) {
  if (call.size() == 1) return;
  const c10::Device device = tensor.device();
  tensor = tensor.to(call.communicator->device()).contiguous();
  call.communicator->all_reduce(tensor, op, call.timeout);
  tensor = tensor.to(device);
}

at::Tensor result(const Call& call, const ScoredLabels& own,
                  const at::Tensor& value, const at::Tensor& gradient) {
  return internal::replicated_value(
      call, value.to(own.result_dtype),
      {internal::differentiable_once(call, own.scores, "are not supported")},
      {gradient});
}

/// The smallest count of negatives with a rate of at least `max_fpr`.
std::int64_t count_of(double max_fpr, std::int64_t negatives) {
  const double exact = max_fpr * static_cast<double>(negatives);
  // 0.1 * 30 is more than 3.
  const double rounded = std::round(exact);
  const bool whole = std::abs(exact - rounded) < 1e-9 * exact;
  const double count = std::ceil(whole ? rounded : exact);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(count), 1,
                                  negatives);
}

at::Tensor top_loss(const Call& call, const PartialAUCLossOptions& options,
                    const LabelAgreement& ranks, const ScoredLabels& own) {
  const std::int64_t count =
      count_of(options.max_fpr(), ranks.negatives.total());
  const at::Tensor plain = own.scores.detach();
  const at::Tensor p = plain.index_select(0, own.is);
  const at::Tensor n = plain.index_select(0, own.isnt);
  std::vector<std::int64_t> offered;
  for (int rank = 0; rank < call.size(); ++rank) {
    offered.push_back(std::min(count, ranks.negatives.of(rank)));
  }
  const internal::RankRows rows(std::move(offered));
  const auto [highest, which] =
      at::topk(n, rows.of(call.rank()), 0, /*largest=*/true, /*sorted=*/true);
  const at::Tensor all = internal::all_rows(call, rows, highest);
  const at::Tensor last =
      std::get<0>(at::topk(all, count, 0, /*largest=*/true, /*sorted=*/true))
          .select(0, count - 1);

  // How many negatives are above the last one that counts, and how many are as
  // high: these share what is left.
  at::Tensor numbers = at::stack({n.gt(last).sum(), n.eq(last).sum()});
  all_reduce(call, numbers);
  const auto left =
      static_cast<double>(count - numbers[0].item<std::int64_t>());
  const auto as_high = static_cast<double>(numbers[1].item<std::int64_t>());
  const at::Tensor is_last = all.eq(last);
  const at::Tensor weight = all.gt(last)
                                .to(at::kDouble)
                                .add(is_last.to(at::kDouble)
                                         .mul(left)
                                         .div(is_last.sum().clamp_min(1)));

  const double margin = is_hinge(options) ? options.margin() : 0;
  at::Tensor a = all.add(margin).neg(), b = p.neg();
  const at::Tensor center = last.add(margin).neg();
  a = a.sub(center);
  b = b.sub(center);
  const internal::PairSums pairs =
      is_hinge(options)
          ? internal::squared_hinge_pairs(a.cpu(), b.cpu(), weight.cpu())
          : internal::logistic_pairs(a, b, options.scale(), weight);
  at::Tensor sums = at::cat(
      {at::full({1}, pairs.value, a.options()), pairs.by_a.to(a.device())});
  all_reduce(call, sums);
  const double total =
      static_cast<double>(ranks.positives.total()) * static_cast<double>(count);
  sums = sums.div(total);

  at::Tensor gradient = at::zeros_like(plain);
  gradient.index_copy_(0, own.is, pairs.by_b.to(a.device()).div(-total));
  const at::Tensor by_all = sums.slice(0, 1).neg();
  gradient.index_copy_(
      0, own.isnt.index_select(0, which),
      by_all.narrow(0, rows.before(call.rank()), rows.of(call.rank())));
  // That of all that are as high as the last one, which a rank may have more of
  // than it has sent.
  gradient.index_copy_(
      0, own.isnt,
      at::where(n.eq(last), by_all.mul(is_last).sum().div(as_high),
                gradient.index_select(0, own.isnt)));
  return result(call, own, sums[0], gradient);
}

/// The surrogate of pairs of positives (rows) and this rank's negatives, and
/// its derivative by the negative's score.
std::pair<at::Tensor, at::Tensor> surrogate_of(
    const PartialAUCLossOptions& options, const at::Tensor& positives,
    const at::Tensor& negatives) {
  const at::Tensor x = negatives.unsqueeze(0).sub(positives.unsqueeze(1));
  if (is_hinge(options)) {
    const at::Tensor above = x.add(options.margin()).clamp_min(0);
    return {above.square(), above.mul(2)};
  }
  const at::Tensor scaled = x.mul(options.scale());
  return {scaled.clamp_min(0).add(scaled.abs().neg().exp().log1p()),
          scaled.sigmoid().mul(options.scale())};
}

at::Tensor log_sum_exp_loss(const Call& call,
                            const PartialAUCLossOptions& options,
                            const LabelAgreement& ranks,
                            const ScoredLabels& own) {
  const double lambda = options.lambda();
  const at::Tensor plain = own.scores.detach();
  const at::Tensor n = plain.index_select(0, own.isnt);
  const internal::RankRows& rows = ranks.positives;
  const at::Tensor positives =
      internal::all_rows(call, rows, plain.index_select(0, own.is));
  const std::int64_t at_once = std::max<std::int64_t>(
      1, (1 << 20) / std::max<std::int64_t>(1, n.numel()));
  const auto for_each_tile = [&](const auto& body) {
    if (n.numel() == 0) return;
    internal::for_each_range(
        rows.total(), at_once, [&](std::int64_t first, std::int64_t size) {
          const auto [cost, slope] =
              surrogate_of(options, positives.narrow(0, first, size), n);
          body(first, size, cost.div(lambda), slope);
        });
  };

  at::Tensor largest =
      at::full({rows.total()}, -tally::internal::kInfinity, plain.options());
  for_each_tile([&](std::int64_t first, std::int64_t size,
                    const at::Tensor& cost, const at::Tensor&) {
    largest.narrow(0, first, size).copy_(cost.amax(1));
  });
  all_reduce(call, largest, sync::ReduceOp::kMax);
  at::Tensor sums = at::zeros({2, rows.total()}, plain.options());
  const auto part_of = [&](std::int64_t first, std::int64_t size,
                           const at::Tensor& cost) {
    return cost.sub(largest.narrow(0, first, size).unsqueeze(1)).exp();
  };
  for_each_tile([&](std::int64_t first, std::int64_t size,
                    const at::Tensor& cost, const at::Tensor& slope) {
    const at::Tensor part = part_of(first, size, cost);
    sums[0].narrow(0, first, size).copy_(part.sum(1));
    sums[1].narrow(0, first, size).copy_(part.mul(slope).sum(1));
  });
  all_reduce(call, sums);

  const auto count = static_cast<double>(rows.total());
  const at::Tensor value =
      sums[0]
          .div(static_cast<double>(ranks.negatives.total()))
          .log()
          .add(largest)
          .sum()
          .mul(lambda / count);
  const at::Tensor by_positive = sums[1].div(sums[0]).div(-count);
  at::Tensor by_negative = at::zeros_like(n);
  for_each_tile([&](std::int64_t first, std::int64_t size,
                    const at::Tensor& cost, const at::Tensor& slope) {
    by_negative.add_(
        part_of(first, size, cost)
            .mul(slope)
            .div(sums[0].narrow(0, first, size).mul(count).unsqueeze(1))
            .sum(0));
  });
  at::Tensor gradient = at::zeros_like(plain);
  gradient.index_copy_(
      0, own.is,
      by_positive.narrow(0, rows.before(call.rank()), rows.of(call.rank())));
  gradient.index_copy_(0, own.isnt, by_negative);
  return result(call, own, value, gradient);
}

}  // namespace

namespace functional {

at::Tensor partial_auc_loss(const at::Tensor& preds, const at::Tensor& target,
                            const PartialAUCLossOptions& options) {
  const internal::AutocastOff as_written;
  const char* const name = PartialAUCLossImpl::kName;
  const Call call = internal::call_of(name, options);
  ScoredLabels own;
  const LabelAgreement ranks = internal::agree_on_labels(
      call,
      [&] {
        check_partial_auc(options);
        return internal::scored_labels(name, preds, target);
      },
      own);
  if (ranks.positives.total() == 0 || ranks.negatives.total() == 0) {
    return internal::loss_without_pairs(call, own);
  }
  return sync::or_give_up(*call.communicator, [&] {
    return options.form() == PartialAUCForm::kTop
               ? top_loss(call, options, ranks, own)
               : log_sum_exp_loss(call, options, ranks, own);
  });
}

}  // namespace functional

PartialAUCLossImpl::PartialAUCLossImpl(PartialAUCLossOptions options)
    : LossModule(std::move(options)) {
  check_partial_auc(this->options());
}

at::Tensor PartialAUCLossImpl::forward(const at::Tensor& preds,
                                       const at::Tensor& target) {
  return functional::partial_auc_loss(preds, target, options());
}

template class internal::LossModule<PartialAUCLossImpl, PartialAUCLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::PartialAUCLossImpl>;
