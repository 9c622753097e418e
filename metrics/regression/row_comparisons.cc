#include <ATen/ops/logaddexp.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <string>
#include <utility>

#include "tally/metrics/regression/cosine_similarity.h"
#include "tally/metrics/regression/divergences.h"
#include "tally/metrics/regression/states/row_scores_impl.h"

namespace tally {

namespace regression = internal::regression;

namespace {

const double kLog2 = std::log(2.0);

// 0 log 0 = 0.
double entropy_term(double p, double ratio) {
  return p == 0 ? 0 : p * std::log(ratio);
}

// exp(log_p) (log_p - log_q)
double log_term(double log_p, double log_q) {
  const double p = std::exp(log_p);
  return p == 0 ? 0 : p * (log_p - log_q);
}

double log_mean(double a, double b) {
  const double high = std::max(a, b);
  if (std::isinf(high)) return high;
  return high + std::log1p(std::exp(-std::abs(a - b))) - kLog2;
}

at::Tensor log_terms(const at::Tensor& log_p, const at::Tensor& log_q) {
  const at::Tensor p = log_p.exp();
  // Not what follows from -inf times 0.
  const at::Tensor none = p.eq(0);
  return log_p.masked_fill(none, 0)
      .sub(log_q.masked_fill(none, 0))
      .mul(p.masked_fill(none, 0));
}

template <class T>
double sum_of(const T* row, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(row[i]);
  return sum;
}

at::Tensor normalized(const at::Tensor& rows) {
  return rows.div(rows.sum(1, /*keepdim=*/true));
}

at::Tensor entropy_terms(const at::Tensor& p, const at::Tensor& q) {
  return p.xlogy(p).sub(p.xlogy(q));
}

}  // namespace

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
  return regression::reduce_rows(state, options().reduction());
}

std::string DistributionRows::invalid(const at::Tensor& p,
                                      const at::Tensor& q) const {
  if (log_prob) return "";
  for (const auto& [rows, name] : {std::pair(&p, "p"), std::pair(&q, "q")}) {
    if (!regression::has_negative(*rows)) continue;
    const at::Tensor values = rows->detach().reshape(-1);
    const auto first = values.masked_select(values.lt(0))[0];
    return c10::str(first.item<double>(), " as ", name);
  }
  return "";
}

template <class T>
double KLOfRows::operator()(const T* p, const T* q, std::int64_t size) const {
  double score = 0;
  if (log_prob) {
    for (std::int64_t i = 0; i < size; ++i) {
      score += log_term(static_cast<double>(p[i]), static_cast<double>(q[i]));
    }
    return score;
  }
  const double p_sum = sum_of(p, size);
  const double q_sum = sum_of(q, size);
  for (std::int64_t i = 0; i < size; ++i) {
    const double share_p = static_cast<double>(p[i]) / p_sum;
    const double share_q = static_cast<double>(q[i]) / q_sum;
    score += entropy_term(share_p, share_p / share_q);
  }
  return score;
}

at::Tensor KLOfRows::operator()(const at::Tensor& p,
                                const at::Tensor& q) const {
  return (log_prob ? log_terms(p, q)
                   : entropy_terms(normalized(p), normalized(q)))
      .sum(1);
}

template <class T>
double JensenShannonOfRows::operator()(const T* p, const T* q,
                                       std::int64_t size) const {
  double score = 0;
  if (log_prob) {
    for (std::int64_t i = 0; i < size; ++i) {
      const auto log_p = static_cast<double>(p[i]);
      const auto log_q = static_cast<double>(q[i]);
      const double log_m = log_mean(log_p, log_q);
      score += log_term(log_p, log_m) + log_term(log_q, log_m);
    }
    return score / 2;
  }
  const double p_sum = sum_of(p, size);
  const double q_sum = sum_of(q, size);
  for (std::int64_t i = 0; i < size; ++i) {
    const double share_p = static_cast<double>(p[i]) / p_sum;
    const double share_q = static_cast<double>(q[i]) / q_sum;
    const double mean = (share_p + share_q) / 2;
    score += entropy_term(share_p, share_p / mean) +
             entropy_term(share_q, share_q / mean);
  }
  return score / 2;
}

at::Tensor JensenShannonOfRows::operator()(const at::Tensor& p,
                                           const at::Tensor& q) const {
  if (log_prob) {
    const at::Tensor m = at::logaddexp(p, q).sub(kLog2);
    return log_terms(p, m).add(log_terms(q, m)).sum(1).div(2);
  }
  const at::Tensor share_p = normalized(p);
  const at::Tensor share_q = normalized(q);
  const at::Tensor mean = share_p.add(share_q).div(2);
  return entropy_terms(share_p, mean)
      .add(entropy_terms(share_q, mean))
      .sum(1)
      .div(2);
}

template class RowScores<KLOfRows>;
template class RowScores<JensenShannonOfRows>;

at::Tensor KLDivergence::evaluate(const State& state) const {
  return regression::reduce_rows(state, options().reduction());
}

at::Tensor JensenShannonDivergence::evaluate(const State& state) const {
  return regression::reduce_rows(state, options().reduction());
}

template class MetricOf<CosineSimilarity, RowScores<CosineOfRows>, at::Tensor>;
template class MetricOf<KLDivergence, RowScores<KLOfRows>, at::Tensor>;
template class MetricOf<JensenShannonDivergence, RowScores<JensenShannonOfRows>,
                        at::Tensor>;

}  // namespace tally
