#include "tally/metrics/classification/inputs/logit_tensors.h"

#include <vector>

#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {
namespace {

// float64, [...] in memory of its own order.
at::Tensor doubles_of(const at::Tensor& tensor) {
  return dense(tensor.detach().to(at::kDouble));
}

// exp_of() of logit_kernels.cc, step by step.
at::Tensor exp_of(const at::Tensor& x) {
  const at::Tensor sum = x.mul(ExpTerms::kInverseLog2).add(ExpTerms::kMagic);
  const at::Tensor n = sum.sub(ExpTerms::kMagic);
  const at::Tensor r = x.sub(n.mul(ExpTerms::kHigh)).sub(n.mul(ExpTerms::kLow));
  const at::Tensor r2 = r.mul(r);
  const at::Tensor r4 = r2.mul(r2);
  const auto pair = [&](int i) {
    return r.mul(ExpTerms::kSeries[i + 1]).add(ExpTerms::kSeries[i]);
  };
  const at::Tensor high = pair(4).add(r2.mul(pair(6))).add(r4.mul(pair(8)));
  const at::Tensor series = pair(0).add(r2.mul(pair(2))).add(r4.mul(high));
  const at::Tensor value = r.add(r2.mul(series)).add(1);
  const at::Tensor power =
      sum.view(at::kLong).bitwise_left_shift(at::Scalar(52));
  return value.view(at::kLong).add(power).view(at::kDouble);
}

}  // namespace

at::Tensor sigmoids_by_tensors(const at::Tensor& logits) {
  const at::Tensor x = doubles_of(logits);
  const at::Tensor exponent = x.neg();
  const double limit = ExpTerms::kLargestExponent;
  const at::Tensor odds = exp_of(exponent.clamp(-limit, limit));
  return odds.add(1)
      .reciprocal()
      .masked_fill_(exponent.gt(limit), 0)
      .where(x.isnan().logical_not(), x);
}

at::Tensor exps_by_tensors(const at::Tensor& logs) {
  const at::Tensor x = doubles_of(logs);
  const double limit = ExpTerms::kLargestExponent;
  return exp_of(x.clamp_min(-limit))
      .masked_fill_(x.lt(-limit), 0)
      .where(x.isnan().logical_not(), x);
}

at::Tensor sigmoids(const at::Tensor& logits) {
  if (!logits.is_cpu()) return sigmoids_by_tensors(logits);
  const at::Tensor x = doubles_of(logits);
  at::Tensor probabilities = fresh_tensor(x.sizes(), at::kDouble);
  sigmoids(x.const_data_ptr<double>(), x.numel(),
           probabilities.mutable_data_ptr<double>());
  return probabilities;
}

at::Tensor exps(const at::Tensor& logs) {
  if (!logs.is_cpu()) return exps_by_tensors(logs);
  const at::Tensor x = doubles_of(logs);
  at::Tensor probabilities = fresh_tensor(x.sizes(), at::kDouble);
  exps(x.const_data_ptr<double>(), x.numel(),
       probabilities.mutable_data_ptr<double>());
  return probabilities;
}

at::Tensor log_softmaxes(const at::Tensor& logits) {
  if (!logits.is_cpu()) return logits.detach().log_softmax(1, at::kDouble);
  const at::Tensor x = doubles_of(logits);
  const std::int64_t rows = x.size(0);
  const std::int64_t classes = x.size(1);
  const auto* const data = x.const_data_ptr<double>();
  std::vector<LogSoftmaxTerms> terms(rows);
  log_softmax_terms(data, rows, classes, terms.data());
  at::Tensor logs = fresh_tensor(x.sizes(), at::kDouble);
  auto* const out = logs.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < rows * classes; ++i) {
    out[i] = terms[i / classes](data[i]);
  }
  return logs;
}

at::Tensor softmaxes(const at::Tensor& logits) {
  return exps(log_softmaxes(logits));
}

}  // namespace tally::internal::classification
