#include "tally/metrics/regression/cosine_similarity.h"

#include <cmath>

#include "tally/metrics/regression/states/row_scores_impl.h"

namespace tally {

template <class T>
double CosineOfRows::operator()(const T* preds, const T* target,
                                std::int64_t size) const {
  double pp = 0, tt = 0, pt = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto p = static_cast<double>(preds[i]);
    const auto t = static_cast<double>(target[i]);
    pp += p * p;
    tt += t * t;
    pt += p * t;
  }
  return pp == 0 || tt == 0 ? 0 : pt / (std::sqrt(pp) * std::sqrt(tt));
}

at::Tensor CosineOfRows::operator()(const at::Tensor& preds,
                                    const at::Tensor& target) const {
  // The norm's own gradient at 0 would be NaN.
  const at::Tensor pp = preds.square().sum(1);
  const at::Tensor tt = target.square().sum(1);
  const at::Tensor zero = pp.eq(0).logical_or(tt.eq(0));
  const auto norm = [&](const at::Tensor& squares) {
    return squares.masked_fill(zero, 1).sqrt();
  };
  return preds.mul(target)
      .sum(1)
      .div(norm(pp).mul(norm(tt)))
      .masked_fill(zero, 0);
}

template class RowScores<CosineOfRows>;

at::Tensor CosineSimilarity::evaluate(const State& state) const {
  return internal::regression::reduce_rows(state, options().reduction());
}

}  // namespace tally
