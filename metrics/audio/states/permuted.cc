#include "tally/metrics/audio/states/permuted.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "tally/metrics/common/best_permutation.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally::internal::audio {
namespace {

constexpr std::int64_t kMostSpeakers = 256;
constexpr std::int64_t kMostJointSpeakers = 8;

// Of all samples: one speaker of preds and one of target.
Signals pair_of(const Signals& plain, std::int64_t pred, std::int64_t target) {
  return plain
      .with(plain.preds.narrow(1, pred, 1), plain.target.narrow(1, target, 1))
      .plain();
}

// Each speaker is a sample.
Signals one_by_one(const Signals& signals) {
  const auto flat = [&](const at::Tensor& tensor) {
    return tensor.reshape({-1, 1, signals.time()});
  };
  return signals.with(flat(signals.preds), flat(signals.target));
}

}  // namespace

at::Tensor FunctionMeasure::scores_of(const Signals& signals) const {
  std::vector<std::int64_t> sizes = {signals.samples()};
  if (layout_ == Layout::kChannels) sizes.push_back(signals.channels());
  sizes.insert(sizes.end(), signals.sizes.begin(), signals.sizes.end());
  const at::Tensor scores =
      function_(signals.preds.reshape(sizes), signals.target.reshape(sizes));
  const bool fits = scores.defined() && scores.is_floating_point() &&
                    (scores.sizes() == signals.samples() ||
                     (layout_ == Layout::kChannels &&
                      scores.sizes() == at::IntArrayRef({signals.samples(),
                                                         signals.channels()})));
  TORCH_CHECK_VALUE(
      fits,
      "expected the function to return a floating-point score of each of ",
      signals.samples(), " samples, got ",
      !scores.defined() ? std::string("an undefined tensor")
                        : c10::str(scores.scalar_type(), " ", scores.sizes()));
  const at::Tensor wide = scores.to(at::kDouble);
  return wide.dim() == 2 ? wide.mean({1}) : wide;
}

void FunctionMeasure::score(const Signals& plain, double* scores) const {
  const at::NoGradGuard no_grad;
  const at::Tensor found = scores_of(plain).cpu().contiguous();
  std::copy_n(found.const_data_ptr<double>(), found.numel(), scores);
}

at::Tensor FunctionMeasure::differentiable(const Signals& signals) const {
  return scores_of(signals);
}

void Permuted::check(const Signals& signals) const {
  const std::int64_t most = is_joint() ? kMostJointSpeakers : kMostSpeakers;
  TORCH_CHECK_VALUE(signals.channels() <= most, "expected at most ", most,
                    " speakers", is_joint() ? " for a joint score" : "",
                    ", got ", signals.channels());
  measure_->check(is_joint() ? signals : one_by_one(signals));
}

void Permuted::score(const Signals& plain, double* scores) const {
  permutations(plain, scores);
}

at::Tensor Permuted::differentiable(const Signals& signals) const {
  std::vector<double> scores(static_cast<std::size_t>(signals.samples()));
  return record(signals, scores.data());
}

at::Tensor Permuted::record(const Signals& signals, double* scores) const {
  return along(signals, permutations(signals.plain(), scores));
}

std::int64_t Permuted::count_silent(const Signals& plain) const {
  return measure_->count_silent(is_joint() ? plain : one_by_one(plain));
}

at::Tensor Permuted::permutations(const Signals& plain, double* scores) const {
  return is_joint() ? score_orders(plain, scores) : score_pairs(plain, scores);
}

at::Tensor Permuted::score_pairs(const Signals& plain, double* scores) const {
  const std::int64_t samples = plain.samples(), speakers = plain.channels();
  const auto count = static_cast<std::size_t>(speakers * speakers);
  std::vector<double> column(static_cast<std::size_t>(samples));
  // [N, C of target, C of preds].
  std::vector<double> pairs(count * static_cast<std::size_t>(samples));
  for (std::int64_t t = 0; t < speakers; ++t) {
    for (std::int64_t p = 0; p < speakers; ++p) {
      measure_->score(pair_of(plain, p, t), column.data());
      for (std::int64_t n = 0; n < samples; ++n) {
        pairs[(n * speakers + t) * speakers + p] = column[n];
      }
    }
  }
  at::Tensor orders = at::empty({samples, speakers}, at::kLong);
  auto* const order = orders.mutable_data_ptr<std::int64_t>();
  for (std::int64_t n = 0; n < samples; ++n) {
    const auto begin = pairs.begin() + n * speakers * speakers;
    const std::vector<double> own(begin, begin + speakers * speakers);
    const std::vector<std::int64_t> best =
        best_permutation(own, speakers, maximize_);
    std::copy(best.begin(), best.end(), order + n * speakers);
    double sum = 0;
    for (std::int64_t t = 0; t < speakers; ++t) {
      sum += own[t * speakers + best[t]];
    }
    scores[n] = sum / static_cast<double>(speakers);
  }
  return orders;
}

at::Tensor Permuted::score_orders(const Signals& plain, double* scores) const {
  const std::int64_t samples = plain.samples(), speakers = plain.channels();
  std::vector<std::int64_t> order(static_cast<std::size_t>(speakers));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<std::int64_t>> all;
  std::vector<double> row(static_cast<std::size_t>(samples));
  // By sample.
  std::vector<std::vector<double>> found(static_cast<std::size_t>(samples));
  do {
    const at::Tensor places = internal::tensor_of(order);
    measure_->score(
        plain.with(plain.preds.index_select(1, places), plain.target),
        row.data());
    for (std::int64_t n = 0; n < samples; ++n) found[n].push_back(row[n]);
    all.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  at::Tensor orders = at::empty({samples, speakers}, at::kLong);
  for (std::int64_t n = 0; n < samples; ++n) {
    const std::int64_t best = best_place(found[n], maximize_);
    std::copy(all[best].begin(), all[best].end(),
              orders.mutable_data_ptr<std::int64_t>() + n * speakers);
    scores[n] = found[n][best];
  }
  return orders;
}

at::Tensor Permuted::along(const Signals& signals,
                           const at::Tensor& orders) const {
  const Signals best =
      signals.with(permuted(signals.preds, orders), signals.target);
  if (is_joint()) return measure_->differentiable(best);
  return measure_->differentiable(one_by_one(best))
      .reshape({signals.samples(), signals.channels()})
      .mean({1});
}

at::Tensor permuted(const at::Tensor& preds, const at::Tensor& orders) {
  const std::int64_t samples = preds.size(0), speakers = preds.size(1);
  const at::Tensor places = at::arange(samples, orders.options())
                                .mul(speakers)
                                .unsqueeze(1)
                                .add(orders);
  return preds.flatten(0, 1)
      .index_select(0, places.reshape({-1}).to(preds.device()))
      .reshape(preds.sizes());
}

}  // namespace tally::internal::audio
