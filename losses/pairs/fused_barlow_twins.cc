#include "tally/losses/pairs/fused_barlow_twins.h"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/pairs/barlow_kernels.h"
#include "tally/metrics/common/fused.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/state/fresh_tensor.h"
#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

using tally::internal::fresh_tensor;
using tally::internal::tensor_of;
using Formula =
    std::function<at::Tensor(const at::Tensor& a, const at::Tensor& b)>;

/// Rows less their mean, and 1 over the root of each feature's variance.
template <class T>
struct CenteredRows {
  at::Tensor rows;
  std::vector<double> scale;

  CenteredRows(const at::Tensor& view, double eps)
      : rows(fresh_tensor(view.sizes(), view.scalar_type())),
        scale(static_cast<std::size_t>(view.size(1))) {
    center_rows(view.const_data_ptr<T>(), view.size(0), view.size(1), eps,
                rows.template mutable_data_ptr<T>(), scale.data());
  }
};

template <class T>
class FusedBarlowTwins final : public tally::internal::Fused {
 public:
  FusedBarlowTwins(const at::Tensor& a, const at::Tensor& b, double lambda,
                   double eps, Formula formula)
      : features_(a.size(1)),
        count_(static_cast<double>(a.size(0))),
        lambda_(lambda),
        a_(a, eps),
        b_(b, eps),
        products_(at::mm(a_.rows.t(), b_.rows)),
        correlations_{products_.template const_data_ptr<T>(), features_, count_,
                      a_.scale.data(), b_.scale.data()},
        formula_(std::move(formula)) {}

  at::Tensor value(at::TensorList) const override {
    std::vector<double> sums(a_.scale.size());
    for_each_block([&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double short_of_one = correlations_(i, i) - 1;
        sums[i] = short_of_one * short_of_one +
                  lambda_ * other_squares(correlations_, i);
      }
    });
    double loss = 0;
    for (const double sum : sums) loss += sum;
    at::Tensor result = fresh_tensor({}, products_.scalar_type());
    *result.mutable_data_ptr<T>() = static_cast<T>(loss);
    return result;
  }

  // With c the correlations, s the scales and g the derivatives by c: that of a
  // product of features is g s_i s_j / n, that of a variance -s_i^2 / 2 times
  // the sum of g c.
  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool> wanted) const override {
    const auto given =
        static_cast<double>(*gradient.const_data_ptr<T>()) / count_;
    const at::Tensor slopes =
        fresh_tensor(products_.sizes(), products_.scalar_type());
    T* const to = slopes.mutable_data_ptr<T>();
    std::vector<double> by_a(a_.scale.size()), by_b = by_a;
    // Of each block of rows, so that they do not depend on threads.
    std::vector<std::vector<double>> of_blocks((features_ + kBlock - 1) /
                                               kBlock);
    for_each_block([&](std::int64_t begin, std::int64_t end) {
      std::vector<double>& of_block = of_blocks[begin / kBlock];
      of_block.resize(by_b.size());
      for (std::int64_t i = begin; i < end; ++i) {
        by_a[i] = -correlation_slopes(correlations_, i, 2 * lambda_ * given,
                                      2 * (correlations_(i, i) - 1) * given,
                                      to + i * features_, of_block.data());
      }
    });
    for (const std::vector<double>& of_block : of_blocks) {
      for (std::int64_t j = 0; j < features_; ++j) by_b[j] += of_block[j];
    }
    std::vector<at::Tensor> result(inputs.size());
    if (wanted[0]) {
      result[0] = at::mm(b_.rows, slopes.t());
      add_scaled(a_, by_a, result[0]);
    }
    if (wanted[1]) {
      result[1] = at::mm(a_.rows, slopes);
      add_scaled(b_, by_b, result[1]);
    }
    return result;
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const AutocastOff as_written;
    return formula_(inputs[0], inputs[1]);
  }

 private:
  static constexpr std::int64_t kBlock = 64;

  /// Calls body(begin, end) for blocks of rows of products.
  template <class Body>
  void for_each_block(const Body& body) const {
    at::parallel_for(0, (features_ + kBlock - 1) / kBlock,
                     1 + 32768 / (kBlock * (features_ + 1)),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         body(i * kBlock,
                              std::min((i + 1) * kBlock, features_));
                       }
                     });
  }

  static void add_scaled(const CenteredRows<T>& view,
                         const std::vector<double>& by_variance,
                         at::Tensor& gradient) {
    std::vector<T> factors;
    for (std::size_t j = 0; j < by_variance.size(); ++j) {
      factors.push_back(
          static_cast<T>(by_variance[j] * view.scale[j] * view.scale[j]));
    }
    gradient.addcmul_(view.rows, tensor_of(factors));
  }

  std::int64_t features_;
  double count_, lambda_;
  CenteredRows<T> a_, b_;
  at::Tensor products_;
  Correlations<T> correlations_;
  Formula formula_;
};

template <class T>
at::Tensor fused_loss(const at::Tensor& a, const at::Tensor& b, double lambda,
                      double eps, Formula formula) {
  const auto function = c10::make_intrusive<FusedBarlowTwins<T>>(
      a.detach(), b.detach(), lambda, eps, std::move(formula));
  const bool has_graph = sync::has_graph(a) || sync::has_graph(b);
  return has_graph ? tally::internal::fused(function, {a, b})
                   : function->value({});
}

}  // namespace

at::Tensor fused_barlow_twins(const at::Tensor& a, const at::Tensor& b,
                              double lambda, double eps, Formula formula) {
  return a.scalar_type() == at::kFloat
             ? fused_loss<float>(a, b, lambda, eps, std::move(formula))
             : fused_loss<double>(a, b, lambda, eps, std::move(formula));
}

}  // namespace tally::losses::internal
